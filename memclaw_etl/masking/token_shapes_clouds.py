"""Shapes of tokens of clouds, hosts and model providers."""

from memclaw_etl.masking.token_shape import HEX32, URLSAFE, UUID, Shape, prefixed

CLOUDS = (
    Shape(
        "aws-access-key-id",
        (
            "akia",
            "asia",
            "abia",
            "acca",
            *(f"a3t{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"),
        ),
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Z0-9])",
    ),
    prefixed("aws-bedrock-key", "ABSK", rest=r"[A-Za-z0-9+/]{60,400}={0,2}"),
    prefixed("aws-bedrock-key", "bedrock-api-key-", rest=r"[A-Za-z0-9+/=%_.\-]{40,}"),
    prefixed("aws-session-token", "IQoJb3JpZ2lu", "FwoGZXIvYXdz", rest=r"[A-Za-z0-9+/=%]{40,}"),
    prefixed("aws-mws-key", "amzn.mws.", rest=r"[0-9a-z\-]{30,40}"),
    prefixed("aws-appsync-key", "da2-", rest=r"[a-z0-9]{26}(?![a-z0-9])"),
    prefixed("google-api-key", "AIza", rest=rf"{URLSAFE}{{35}}"),
    prefixed("google-access-token", "ya29.", rest=r"[A-Za-z0-9_\-.]{20,}"),
    prefixed("google-client-secret", "GOCSPX-", rest=rf"{URLSAFE}{{20,40}}"),
    prefixed("google-refresh-token", "1//0", rest=rf"{URLSAFE}{{40,}}"),
    Shape(
        "azure-client-secret", ("q~",), r"[A-Za-z0-9_~.\-]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}", back=4
    ),
    prefixed("digitalocean-token", "dop_v1_", "doo_v1_", "dor_v1_", rest=r"[0-9a-f]{40,64}"),
    prefixed("cloudflare-token", "cfk_", "cfat_", "cfut_", rest=r"[A-Za-z0-9]{36,60}"),
    prefixed("cloudflare-origin-key", "v1.0-", rest=r"[0-9a-f]{20,28}-[0-9a-f]{100,160}"),
    prefixed("alibaba-key-id", "LTAI", rest=r"[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    prefixed("tencent-key-id", "AKID", rest=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    prefixed("yandex-token", "AQVN", rest=rf"{URLSAFE}{{35,38}}"),
    prefixed("yandex-token", "t1.", rest=r"[A-Z0-9a-z_\-]{1,200}\.[A-Z0-9a-z_\-]{50,100}={0,2}"),
    prefixed("yandex-token", "YC", rest=rf"(?=[^\s]{{0,12}}\d){URLSAFE}{{38}}(?!{URLSAFE})"),
    prefixed(
        "fly-token", "fo1_", "fm1a_", "fm1r_", "fm1_", "fm2_", rest=r"[A-Za-z0-9+/=_,\-]{20,}"
    ),
    prefixed("vercel-token", "vcp_", "vci_", "vca_", "vcr_", "vck_", rest=r"[A-Za-z0-9]{20,}"),
    prefixed("netlify-token", "nfp_", "nfc_", "nfo_", rest=r"[A-Za-z0-9]{32,}"),
    prefixed("fly-token", "FlyV1 ", rest=r"fm\d[a-z]?_[A-Za-z0-9+/=_,\-]{20,}"),
    prefixed("heroku-key", "HRKU-", rest=rf"{URLSAFE}{{30,}}"),
    prefixed("render-key", "rnd_", rest=r"[A-Za-z0-9]{28,}"),
    prefixed("scalingo-token", "tk-us-", rest=rf"{URLSAFE}{{40,}}"),
    prefixed("supabase-key", "sbp_", "sb_secret_", rest=rf"{URLSAFE}{{20,}}"),
    prefixed(
        "planetscale-token",
        "pscale_tkn_",
        "pscale_pw_",
        "pscale_oauth_",
        "pscale_api_",
        rest=r"[\w.=\-]{30,}",
    ),
    prefixed("neon-key", "napi_", rest=r"[a-z0-9]{40,}"),
    prefixed("databricks-token", "dapi", "dkea", rest=r"[0-9a-f]{32}(?:-\d{1,2})?"),
    prefixed("mongodb-key", "mdb_sa_sk_", rest=rf"{URLSAFE}{{20,}}"),
    prefixed("openshift-token", "sha256~", rest=rf"{URLSAFE}{{43}}"),
    prefixed("tailscale-key", "tskey-", rest=r"[a-z]{2,12}-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{10,})?"),
    prefixed("ngrok-key", "ak_2", rest=r"[A-Za-z0-9]{20,}"),
)

MODELS = (
    prefixed("anthropic-key", "sk-ant-", rest=rf"[a-z0-9]{{3,10}}-{URLSAFE}{{20,}}"),
    prefixed(
        "openai-key", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", rest=rf"{URLSAFE}{{20,}}"
    ),
    prefixed("openrouter-key", "sk-or-", rest=rf"{URLSAFE}{{24,}}"),
    prefixed("langfuse-key", "sk-lf-", rest=UUID),
    prefixed("model-key", "sk-", rest=r"(?=[A-Za-z0-9]{0,19}\d)[A-Za-z0-9]{20,}"),
    prefixed("elevenlabs-key", "sk_", rest=r"[0-9a-f]{40,64}"),
    prefixed("huggingface-token", "hf_", "api_org_", rest=r"[A-Za-z0-9]{30,}"),
    prefixed("groq-key", "gsk_", rest=r"[A-Za-z0-9]{40,}"),
    prefixed("replicate-token", "r8_", rest=r"[A-Za-z0-9]{30,}"),
    prefixed("xai-key", "xai-", rest=r"[A-Za-z0-9]{40,}"),
    prefixed("perplexity-key", "pplx-", rest=r"[A-Za-z0-9]{30,}"),
    prefixed("fireworks-key", "fw_", rest=r"[A-Za-z0-9]{22,}"),
    prefixed("together-key", "tgp_v1_", rest=rf"{URLSAFE}{{30,}}"),
    prefixed("nvidia-key", "nvapi-", rest=rf"{URLSAFE}{{40,}}"),
    prefixed("voyage-key", "pa-", rest=rf"(?={URLSAFE}{{0,12}}\d){URLSAFE}{{40,}}"),
    prefixed("jina-key", "jina_", rest=rf"{URLSAFE}{{40,}}"),
    prefixed("tavily-key", "tvly-", rest=rf"{URLSAFE}{{20,}}"),
    prefixed("firecrawl-key", "fc-", rest=HEX32),
    prefixed("pinecone-key", "pcsk_", rest=rf"{URLSAFE}{{40,}}"),
    prefixed("wandb-key", "wandb_v1_", rest=rf"{URLSAFE}{{40,}}"),
    prefixed("langsmith-key", "lsv2_", "ls__", rest=r"(?:pt_|sk_)?[0-9a-f]{32}(?:_[0-9a-f]{8,})?"),
    prefixed("dagster-token", "agent:", "user:", rest=r"(?:[\w\-]{1,40}:)?[0-9a-f]{32}"),
    prefixed("memory-key", "mca_", rest=r"[A-Za-z0-9]{24,}"),
)
