"""The shapes of tokens, issuer by issuer."""

from typing import NamedTuple


class Shape(NamedTuple):
    """One shape of token."""

    kind: str
    heads: tuple[str, ...]
    """Lower-case literals; one of them stands `back` characters after the token's first."""
    pattern: str
    least_entropy: float = 2.5
    """Of the part behind the head, in bits per character: rejects stand-ins."""
    back: int = 0
    anywhere: bool = False
    """May follow a letter or digit directly."""


def _prefixed(kind: str, *heads: str, rest: str = r"[A-Za-z0-9_\-]{16,}") -> Shape:
    pattern = "|".join(head.replace(".", r"\.").replace("$", r"\$") for head in heads)
    return Shape(kind, tuple(head.lower() for head in heads), f"(?:{pattern}){rest}")


_HEX32 = r"[0-9a-f]{32}"
_HEX40 = r"[0-9a-f]{40}"
_URLSAFE = r"[A-Za-z0-9_\-]"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

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
    _prefixed("aws-bedrock-key", "ABSK", rest=r"[A-Za-z0-9+/]{60,400}={0,2}"),
    _prefixed("aws-bedrock-key", "bedrock-api-key-", rest=r"[A-Za-z0-9+/=%_.\-]{40,}"),
    _prefixed("aws-session-token", "IQoJb3JpZ2lu", "FwoGZXIvYXdz", rest=r"[A-Za-z0-9+/=%]{40,}"),
    _prefixed("aws-mws-key", "amzn.mws.", rest=r"[0-9a-z\-]{30,40}"),
    _prefixed("aws-appsync-key", "da2-", rest=r"[a-z0-9]{26}(?![a-z0-9])"),
    _prefixed("google-api-key", "AIza", rest=rf"{_URLSAFE}{{35}}"),
    _prefixed("google-access-token", "ya29.", rest=r"[A-Za-z0-9_\-.]{20,}"),
    _prefixed("google-client-secret", "GOCSPX-", rest=rf"{_URLSAFE}{{20,40}}"),
    _prefixed("google-refresh-token", "1//0", rest=rf"{_URLSAFE}{{40,}}"),
    Shape(
        "azure-client-secret", ("q~",), r"[A-Za-z0-9_~.\-]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}", back=4
    ),
    _prefixed("digitalocean-token", "dop_v1_", "doo_v1_", "dor_v1_", rest=r"[0-9a-f]{40,64}"),
    _prefixed("cloudflare-token", "cfk_", "cfat_", "cfut_", rest=r"[A-Za-z0-9]{36,60}"),
    _prefixed("cloudflare-origin-key", "v1.0-", rest=r"[0-9a-f]{20,28}-[0-9a-f]{100,160}"),
    _prefixed("alibaba-key-id", "LTAI", rest=r"[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    _prefixed("tencent-key-id", "AKID", rest=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _prefixed("yandex-token", "AQVN", rest=rf"{_URLSAFE}{{35,38}}"),
    _prefixed("yandex-token", "t1.", rest=r"[A-Z0-9a-z_\-]{1,200}\.[A-Z0-9a-z_\-]{50,100}={0,2}"),
    _prefixed("yandex-token", "YC", rest=rf"(?=[^\s]{{0,12}}\d){_URLSAFE}{{38}}(?!{_URLSAFE})"),
    _prefixed(
        "fly-token", "fo1_", "fm1a_", "fm1r_", "fm1_", "fm2_", rest=r"[A-Za-z0-9+/=_,\-]{20,}"
    ),
    _prefixed("vercel-token", "vcp_", "vci_", "vca_", "vcr_", "vck_", rest=r"[A-Za-z0-9]{20,}"),
    _prefixed("netlify-token", "nfp_", "nfc_", "nfo_", rest=r"[A-Za-z0-9]{32,}"),
    _prefixed("fly-token", "FlyV1 ", rest=r"fm\d[a-z]?_[A-Za-z0-9+/=_,\-]{20,}"),
    _prefixed("heroku-key", "HRKU-", rest=rf"{_URLSAFE}{{30,}}"),
    _prefixed("render-key", "rnd_", rest=r"[A-Za-z0-9]{28,}"),
    _prefixed("scalingo-token", "tk-us-", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("supabase-key", "sbp_", "sb_secret_", rest=rf"{_URLSAFE}{{20,}}"),
    _prefixed(
        "planetscale-token",
        "pscale_tkn_",
        "pscale_pw_",
        "pscale_oauth_",
        "pscale_api_",
        rest=r"[\w.=\-]{30,}",
    ),
    _prefixed("neon-key", "napi_", rest=r"[a-z0-9]{40,}"),
    _prefixed("databricks-token", "dapi", "dkea", rest=r"[0-9a-f]{32}(?:-\d{1,2})?"),
    _prefixed("mongodb-key", "mdb_sa_sk_", rest=rf"{_URLSAFE}{{20,}}"),
    _prefixed("openshift-token", "sha256~", rest=rf"{_URLSAFE}{{43}}"),
    _prefixed("tailscale-key", "tskey-", rest=r"[a-z]{2,12}-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{10,})?"),
    _prefixed("ngrok-key", "ak_2", rest=r"[A-Za-z0-9]{20,}"),
)

MODELS = (
    _prefixed("anthropic-key", "sk-ant-", rest=rf"[a-z0-9]{{3,10}}-{_URLSAFE}{{20,}}"),
    _prefixed(
        "openai-key", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", rest=rf"{_URLSAFE}{{20,}}"
    ),
    _prefixed("openrouter-key", "sk-or-", rest=rf"{_URLSAFE}{{24,}}"),
    _prefixed("langfuse-key", "sk-lf-", rest=_UUID),
    _prefixed("model-key", "sk-", rest=r"(?=[A-Za-z0-9]{0,19}\d)[A-Za-z0-9]{20,}"),
    _prefixed("elevenlabs-key", "sk_", rest=r"[0-9a-f]{40,64}"),
    _prefixed("huggingface-token", "hf_", "api_org_", rest=r"[A-Za-z0-9]{30,}"),
    _prefixed("groq-key", "gsk_", rest=r"[A-Za-z0-9]{40,}"),
    _prefixed("replicate-token", "r8_", rest=r"[A-Za-z0-9]{30,}"),
    _prefixed("xai-key", "xai-", rest=r"[A-Za-z0-9]{40,}"),
    _prefixed("perplexity-key", "pplx-", rest=r"[A-Za-z0-9]{30,}"),
    _prefixed("fireworks-key", "fw_", rest=r"[A-Za-z0-9]{22,}"),
    _prefixed("together-key", "tgp_v1_", rest=rf"{_URLSAFE}{{30,}}"),
    _prefixed("nvidia-key", "nvapi-", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("voyage-key", "pa-", rest=rf"(?={_URLSAFE}{{0,12}}\d){_URLSAFE}{{40,}}"),
    _prefixed("jina-key", "jina_", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("tavily-key", "tvly-", rest=rf"{_URLSAFE}{{20,}}"),
    _prefixed("firecrawl-key", "fc-", rest=_HEX32),
    _prefixed("pinecone-key", "pcsk_", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("wandb-key", "wandb_v1_", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("langsmith-key", "lsv2_", "ls__", rest=r"(?:pt_|sk_)?[0-9a-f]{32}(?:_[0-9a-f]{8,})?"),
    _prefixed("dagster-token", "agent:", "user:", rest=r"(?:[\w\-]{1,40}:)?[0-9a-f]{32}"),
    _prefixed("memory-key", "mca_", rest=r"[A-Za-z0-9]{24,}"),
)

FORGES = (
    _prefixed("git-token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", rest=r"[A-Za-z0-9]{30,}"),
    _prefixed("git-token", "github_pat_", rest=r"[A-Za-z0-9_]{22,}"),
    _prefixed(
        "gitlab-token",
        "glpat-",
        "gldt-",
        "glrt-",
        "glrtr-",
        "glcbt-",
        "glptt-",
        "glft-",
        "glimt-",
        "glagent-",
        "gloas-",
        "glsoat-",
        "glffct-",
        "glwt-",
        rest=r"[A-Za-z0-9_.\-]{16,}(?<![.])",
    ),
    _prefixed("gitlab-token", "GR13", rest=rf"\d{{5}}{_URLSAFE}{{20,}}"),
    _prefixed("gitlab-session", "_gitlab_session=", rest=r"[0-9a-z]{32}"),
    _prefixed("bitbucket-token", "ATBB", rest=r"[A-Za-z0-9_=\-]{24,}"),
    _prefixed("atlassian-token", "ATATT3", "ATCTT3", "ATSTT3", rest=r"[A-Za-z0-9_=\-]{60,}"),
    _prefixed("npm-token", "npm_", rest=r"[A-Za-z0-9]{36}"),
    _prefixed("pypi-token", "pypi-AgEI", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("docker-token", "dckr_pat_", "dckr_oat_", rest=rf"{_URLSAFE}{{24,}}"),
    _prefixed("rubygems-key", "rubygems_", rest=r"[0-9a-f]{48}"),
    _prefixed("crates-token", "cio", rest=r"(?=[a-z]{0,12}[A-Z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _prefixed("clojars-token", "CLOJARS_", rest=r"[a-z0-9]{60}"),
    _prefixed("nuget-key", "oy2", rest=r"[a-z0-9]{43}(?![a-z0-9])"),
    _prefixed("artifactory-key", "AKCp", rest=r"[A-Za-z0-9]{64,76}"),
    _prefixed(
        "artifactory-token", "cmVmd", "cmVme", "cmVm", rest=r"[A-Za-z0-9]{58,62}(?![A-Za-z0-9])"
    ),
    Shape(
        "artifactory-key", ("akc",), r"(?:(?<=[\s=:+>\"])|^)AKC[a-zA-Z0-9]{10,}", least_entropy=1.5
    ),
    Shape(
        "artifactory-password",
        tuple(f"ap{c}" for c in "0123456789"),
        r"(?:(?<=[\s=:+>\"])|^)AP\d[a-zA-Z0-9]{8,}",
    ),
    _prefixed("circleci-token", "CCIPAT_", "CCIPRJ_", rest=r"[A-Za-z0-9]{10,30}_[0-9a-f]{40}"),
    _prefixed("buildkite-token", "bkua_", "bkat_", rest=r"[0-9a-f]{40}"),
    _prefixed("pulumi-token", "pul-", rest=_HEX40),
    Shape(
        "terraform-token",
        (".atlasv1.",),
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=\-]{60,70}",
        back=14,
    ),
    _prefixed("sonar-token", "squ_", "sqp_", "sqa_", rest=_HEX40),
    _prefixed("snyk-token", "snyk_uat.", rest=r"[\w.\-]{30,}"),
    _prefixed(
        "sourcegraph-token", "sgp_", "slk_", rest=r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40,64}"
    ),
    _prefixed("infracost-key", "ico-", rest=r"[A-Za-z0-9]{32}"),
    _prefixed("sentry-token", "sntrys_", "sntryu_", "sntrya_", rest=r"[A-Za-z0-9_+/=]{40,}"),
    _prefixed("grafana-token", "glc_", "glsa_", rest=r"[A-Za-z0-9+/_]{30,}={0,2}"),
    _prefixed(
        "newrelic-key",
        "NRAK-",
        "NRII-",
        "NRJS-",
        "NRBR-",
        "NRIQ-",
        "NRRA-",
        rest=r"[A-Za-z0-9_\-]{17,40}",
    ),
    _prefixed(
        "honeycomb-key",
        "hcaik_",
        "hcbik_",
        "hccik_",
        "hcxik_",
        "hcxmk_",
        "hcamk_",
        rest=r"[a-z0-9]{40,}",
    ),
    _prefixed(
        "dynatrace-token", "dt0c01.", "dt0s01.", "dt0s16.", rest=r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"
    ),
    _prefixed("prefect-key", "pnu_", "pnb_", rest=r"[a-zA-Z0-9]{36}"),
    _prefixed("postman-key", "PMAK-", rest=r"[0-9a-fA-F]{24}-[0-9a-fA-F]{34}"),
    _prefixed("readme-key", "rdme_", rest=r"[a-z0-9]{70}"),
    _prefixed("octopus-key", "API-", rest=r"[A-Z0-9]{26}(?![A-Z0-9])"),
    _prefixed("posthog-key", "phx_", "phs_", rest=r"[A-Za-z0-9]{40,}"),
    _prefixed("vault-token", "hvs.", "hvb.", "hvr.", rest=rf"{_URLSAFE}{{24,}}"),
    _prefixed(
        "doppler-token",
        "dp.pt.",
        "dp.st.",
        "dp.ct.",
        "dp.sa.",
        "dp.scim.",
        "dp.audit.",
        rest=r"(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    _prefixed("onepassword-token", "ops_eyJ", rest=r"[A-Za-z0-9+/_\-]{100,}={0,3}"),
    _prefixed(
        "onepassword-key",
        "A3-",
        rest=r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    _prefixed("age-secret-key", "AGE-SECRET-KEY-1", rest=r"[0-9A-Z]{58}"),
    _prefixed("settlemint-token", "sm_pat_", "sm_aat_", "sm_sat_", rest=r"[A-Za-z0-9]{16}"),
)

SERVICES = (
    _prefixed(
        "slack-token",
        "xoxb-",
        "xoxp-",
        "xoxa-",
        "xoxo-",
        "xoxr-",
        "xoxs-",
        "xoxc-",
        "xoxd-",
        "xoxe-",
        "xoxe.",
        "xapp-",
        rest=r"[A-Za-z0-9%.\-]{10,}",
    ),
    _prefixed(
        "stripe-key",
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "rk_test_",
        "sk_prod_",
        "rk_prod_",
        "whsec_",
        rest=r"[A-Za-z0-9+/=]{16,}",
    ),
    _prefixed(
        "resend-key", "re_", rest=r"(?=[A-Za-z0-9]{0,24}[0-9])[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"
    ),
    _prefixed("sendgrid-key", "SG.", rest=r"[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}"),
    _prefixed("mailgun-key", "key-", rest=rf"{_HEX32}(?![0-9a-f])"),
    _prefixed("brevo-key", "xkeysib-", "xsmtpsib-", rest=r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _prefixed("mailersend-key", "mlsn.", rest=r"[0-9a-f]{64}"),
    _prefixed("mandrill-key", "md-", rest=r"[A-Za-z0-9_\-]{22}(?![A-Za-z0-9_\-])"),
    Shape("twilio-key", tuple(f"sk{c}" for c in "0123456789abcdef"), rf"SK{_HEX32}(?![0-9a-f])"),
    _prefixed("shopify-token", "shpat_", "shpca_", "shppa_", "shpss_", rest=r"[0-9a-fA-F]{32}"),
    _prefixed("square-token", "sq0atp-", "sq0csp-", "sq0idp-", rest=rf"{_URLSAFE}{{22,}}"),
    _prefixed("square-token", "EAAA", rest=r"[A-Za-z0-9_\-]{56,}"),
    _prefixed("facebook-token", "EAAB", "EAAC", "EAAG", "EAAM", rest=r"[A-Za-z0-9]{80,}"),
    _prefixed(
        "paypal-token",
        "access_token$production$",
        "access_token$sandbox$",
        rest=r"[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    _prefixed("razorpay-key", "rzp_live_", "rzp_test_", rest=r"[A-Za-z0-9]{14,}"),
    _prefixed(
        "flutterwave-key",
        "FLWSECK_TEST-",
        "FLWSECK-",
        "FLWPUBK_TEST-",
        rest=r"[A-Za-z0-9]{12,40}(?:-X)?",
    ),
    _prefixed(
        "plaid-token", "access-sandbox-", "access-development-", "access-production-", rest=_UUID
    ),
    _prefixed("easypost-key", "EZAK", "EZTK", rest=r"[A-Za-z0-9]{54}"),
    _prefixed("shippo-token", "shippo_live_", "shippo_test_", rest=_HEX40),
    _prefixed("duffel-token", "duffel_live_", "duffel_test_", rest=r"[A-Za-z0-9_\-=]{40,}"),
    _prefixed("frameio-token", "fio-u-", rest=r"[A-Za-z0-9_\-=]{60,}"),
    _prefixed("typeform-token", "tfp_", rest=r"[A-Za-z0-9_.=\-]{40,}"),
    _prefixed("hubspot-token", "pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-", rest=_UUID),
    _prefixed("linear-key", "lin_api_", "lin_oauth_", rest=r"[A-Za-z0-9]{32,}"),
    _prefixed("notion-token", "ntn_", "secret_", rest=r"(?=[A-Za-z0-9]{0,20}\d)[A-Za-z0-9]{40,50}"),
    _prefixed("figma-token", "figd_", "figdr_", rest=rf"{_URLSAFE}{{36,}}"),
    Shape("asana-token", ("1/", "2/", "0/"), r"[012]/(?:\d{10,20}/)?\d{10,20}:[0-9a-f]{32}"),
    _prefixed("contentful-token", "CFPAT-", rest=rf"{_URLSAFE}{{40,}}"),
    _prefixed("adafruit-key", "aio_", rest=r"[A-Za-z0-9]{28}"),
    _prefixed(
        "mapbox-token",
        "sk.eyJ1Ijoi",
        "tk.eyJ1Ijoi",
        "pk.eyJ1Ijoi",
        rest=r"[A-Za-z0-9_\-]{20,}(?:\.[A-Za-z0-9_\-]{20,})?",
    ),
    _prefixed("typesense-key", "xyz_", rest=r"[A-Za-z0-9]{32,}"),
    _prefixed("algolia-key", "alg_", rest=r"[A-Za-z0-9]{30,}"),
    _prefixed("twitter-bearer", "AAAAAAAAAAAAAAAAAAAA", rest=r"[A-Za-z0-9%=_\-]{40,}"),
    _prefixed("dropbox-token", "sl.", rest=rf"(?:[A-Z]\.)?{_URLSAFE}{{120,}}"),
    _prefixed("instagram-token", "IGQV", rest=r"[A-Za-z0-9_\-]{80,}"),
    _prefixed(
        "jwt",
        "eyJ",
        rest=r"[A-Za-z0-9_\-]{12,}={0,2}\.[A-Za-z0-9_\-]{12,}={0,2}(?:\.[A-Za-z0-9_\-]{0,}={0,2}){0,3}",
    ),
    Shape(
        "hook-url",
        ("hooks.slack.com/",),
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_]{20,80}",
    ),
    Shape(
        "hook-url",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        r"discord(?:app)?\.com/api/webhooks/[0-9a-f]{15,22}/[\w\-]{50,90}",
    ),
    Shape(
        "hook-url",
        ("webhook.office.com/",),
        r"webhook\.office\.com/webhookb2/[\w\-]{36}@[\w\-]{36}/IncomingWebhook/[0-9a-zA-Z]{32}/[\w\-/]{36,90}",
        anywhere=True,
    ),
    Shape(
        "hook-url",
        (".logic.azure.com",),
        r"\.logic\.azure\.com(?::443)?/workflows/[0-9a-f]{32}/[^\s\"'<>]{20,400}sig=[\w\-%]{20,}",
        anywhere=True,
    ),
    Shape("hook-url", ("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/catch/\d+/[a-z0-9]{6,}"),
)

SHAPES: tuple[Shape, ...] = (*CLOUDS, *MODELS, *FORGES, *SERVICES)
