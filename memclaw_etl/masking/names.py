"""Names of settings, and how strongly they announce a credential."""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache


class Strength(IntEnum):
    """How much the name alone says."""

    NONE = 0
    WEAK = 1
    """May be a credential: `key`, `api`, `session`. The value must look random."""
    TOKEN = 2
    """A token, key or secret: the value must not look like a word or code."""
    PASSWORD = 3
    """A password: people choose words, so nearly any value counts."""


@dataclass(frozen=True, slots=True)
class Name:
    """The identifier in front of an operator."""

    text: str
    strength: Strength
    kind: str
    in_url: bool
    """It stands in the query or fragment of a URL."""


_HEAD_BACKWARDS = re.compile(r"[\w.\-]*")
_ENCODED_SEPARATOR = re.compile(r"(?i).*%(?:26|3f)|^(?:26|3f)(?=[a-z])")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WIFI = re.compile(r"(?i)\b(?:wi-?fi|wlan|ssid)\b[^\n]*$")
_SPOKEN_KEY = re.compile(
    r"(?i)\b(?:secret|access|api|auth\w*|private|activation|license|product|signing|shared)[ ,-]{1,2}$"
)

_PASSWORD_WORDS = frozenset(
    "password passwd passwort pass passphrase passcode pwd pw pswd psw pswrd psword psswd psswrd pssword pasword paswd"
    " paswrd passwrd passworsd kennwort".split()
)
_PASSWORD_INSIDE = re.compile(
    r"(?i)password|passwd|passphrase|passwort|_pass\b|pwd$|^pwd|psw(?:or)?d$|passw|pasw"
)
_CREDENTIAL_WORDS = frozenset(
    "secret secrets token tokens credential credentials cred creds authorization apikey pat sig webhook salt"
    " cookie auth authtoken preshared psk otp totp jwt bearer dsn srt".split()
)
_CREDENTIAL_INSIDE = re.compile(
    r"(?i)secret|token|credential|api[-_.]?key|authkey|accesskey|appkey"
)
_KEY_QUALIFIERS = frozenset(
    "api access private auth account shared preshared encryption signing secret deploy master license app ssh aes rsa"
    " hmac jwt gpg client service admin user db database storage insert ingest write read consumer subscription"
    " activation root server sharedaccess live test prod function host crypto encrypt decrypt webhook bot sl ansi"
    " softlayer openai anthropic azure aws gcp google stripe twilio sendgrid mailgun datadog dd newrelic sentry"
    " algolia pinecone cohere mistral groq openrouter huggingface hf replicate wandb langsmith langfuse cloudflare"
    " cf cloudant heroku vercel netlify supabase planetscale mongodb redis elastic github gitlab bitbucket npm pypi"
    " slack discord telegram twitter facebook linkedin mapbox shopify square paypal plaid coinbase binance kraken"
    " okta auth0 firebase segment mixpanel amplitude posthog linear jira notion airtable figma zendesk intercom"
    " hubspot typeform contentful fastly akamai digitalocean linode vultr pulumi terraform vault consul snyk sonar".split()
)
_NOT_LAST = frozenset(
    "count counts counter limit limits usage used max min total num budget size length len type types name names id"
    " ids field fields file files path paths dir url urls uri endpoint host user username class hash policy expiry"
    " expires expiration ttl error errors regex pattern format index idx map list set ref label arn version provider"
    " manager store service handler kind column prefix suffix method mode enabled required algorithm alg status state"
    " at date time timestamp board frame stroke press down up pool group page fingerprint checksum digest in out"
    " input output prompt cached per rate window budget_tokens reset hint strength validator rule rules encoder"
    " manifest location exists test tests".split()
)
_NOT_KEYS = frozenset(
    "primary foreign partition sort cache public map dict group index unique composite object row s3 idempotency hot"
    " short translation i18n locale query session order lookup hash join range registry pub dedup message sha cert"
    " event".split()
)
_NOT_INSIDE = re.compile(
    r"(?i)public[-_.]?key|keyof|keyword|monkey|turkey|keyboard|hockey|tokeni[sz]|bypass|compass|passenger|passport"
    r"|secretar|page[-_]?token|continuation|next[-_]?token|cursor|checkpoint|author(?!iz)|max[-_]?tokens"
)
_NOT_PASS = re.compile(r"(?i)^pass(?:ed|es|ing|through|ive|ively|thru)$")
_KINDS = (
    ("password", re.compile(r"(?i)pass|pwd|pw\b|psw|kennwort")),
    ("secret", re.compile(r"(?i)secret|cred|salt")),
    ("token", re.compile(r"(?i)token|auth|pat$|session|cookie|code")),
)


def name_at(text: str, start: int, end: int) -> Name:
    """Read the name whose anchor begins at `start` and which ends before `end`."""
    head = _HEAD_BACKWARDS.match(text[max(0, start - 60) : start][::-1])
    begin = start - (head.end() if head else 0)
    raw = text[begin:end]
    encoded = _ENCODED_SEPARATOR.match(raw) if begin and text[begin - 1] in "%?&" else None
    name = (raw[encoded.end() :] if encoded else raw).strip("_.-")
    in_url = encoded is not None or (begin > 0 and text[begin - 1] in "?&#")
    strength = strength_of(name)
    if strength is Strength.WEAK:
        strength = _spoken_strength(name, text[max(0, begin - 40) : begin], in_url=in_url)
    return Name(name, strength, kind_of(name), in_url)


def _spoken_strength(name: str, before: str, *, in_url: bool) -> Strength:
    """Names of two words (`secret key`), and names that say more inside a URL."""
    if name.lower() == "key" and _WIFI.search(before):
        return Strength.PASSWORD
    if in_url or (name.lower() in {"key", "keys", "code"} and _SPOKEN_KEY.search(before)):
        return Strength.TOKEN
    return Strength.WEAK


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Judge a name by its words, in whatever case they are joined."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or _NOT_INSIDE.search(name) or _NOT_PASS.match(name):
        return Strength.NONE
    if name.lower().endswith("private_key_id"):
        return Strength.TOKEN
    if words[-1] in _NOT_LAST and len(words) > 1:
        return Strength.NONE
    if words[-1] in {"key", "keys"} and len(words) > 1 and words[-2] in _NOT_KEYS:
        return Strength.NONE
    if not _PASSWORD_WORDS.isdisjoint(words) or _PASSWORD_INSIDE.search(name):
        return Strength.PASSWORD
    if not _CREDENTIAL_WORDS.isdisjoint(words) or _CREDENTIAL_INSIDE.search(name):
        return Strength.TOKEN
    if words[-1] in {"key", "keys"} and not _KEY_QUALIFIERS.isdisjoint(words):
        return Strength.TOKEN
    return Strength.WEAK


def kind_of(name: str) -> str:
    """Say what kind of credential a name means."""
    for kind, pattern in _KINDS:
        if pattern.search(name):
            return kind
    return "key"
