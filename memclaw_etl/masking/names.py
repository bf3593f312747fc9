"""Names of settings, and how strongly they announce a credential."""

import re
from dataclasses import dataclass
from enum import IntEnum


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


_HEAD = re.compile(r"[\w.\-]{0,60}$")
_PASSWORD = re.compile(
    r"(?i)(?:pass(?:w(?:or)?d|phrase|wort|code)?|pa?s?s?wo?r?d|pswr?d|pwd|passwd|pw)(?:$|[^a-z]|[A-Z])"
    r"|password|passwd|passphrase|pasword|(?:^|[_.\-])pass(?:$|[_.\-])"
)
_NOT_CREDENTIAL = re.compile(
    r"""(?ix)
    (?:count|counts|counter|limit|limits|usage|used|max\w*|min\w*|total\w*|num\w*|budget|size|length|len|type|types
      |name|names|id|ids|field|fields|file|files|path|paths|dir|url|uri|endpoint|host|user|username|class|hash
      |policy|expiry|expires\w*|expiration|ttl|error|errors|regex|pattern|format|index|idx|map|list|set|ref|label|policy
      |arn|version|provider|manager|store|service|handler|kind|column|prefix|suffix|method|mode|enabled|required
      |algorithm|alg|status|state|at|date|time|timestamp|code_challenge|board|frame|stroke|press|down|up
      |pool|group|page|page_?token|next_?page_?token|continuation|cursor|fingerprint|checksum|digest)$
    | ^(?:primary|foreign|partition|sort|cache|public|map|dict|group|index|unique|composite|object|row|s3|idempotency
      |keyboard|hot|short|translation|i18n|locale|storage|query|session|order|lookup|hash|join|range|registry)[-_.]?keys?$
    | public[-_.]?key | ^keyof | keyword | monkey | turkey | keyboard | tokeni[sz] | author(?!iz) | authent\w*$
    | ^pass(?:ed|es|ing|thr\w*|ive\w*)?$(?<!pass) | bypass | compass | passenger | passport | secretary
    | ^(?:commit|git|tree|blob|build|trace|span|request|run|session|job|event|message|msg|file|content)[-_.]?(?:id|sha|key|hash)$
    | checkpoint
    """
)
_TOKEN = re.compile(
    r"""(?ix)
    secret | token | api[-_. ]?key | access[-_. ]?key | private[-_. ]?key | auth[-_. ]?key | account[-_. ]?key
    | shared\w*key | encryption[-_. ]?key | signing[-_. ]?key | secret[-_. ]?key | deploy[-_. ]?key | master[-_. ]?key
    | license[-_. ]?key | credential | preshared | authorization | api[-_. ]?secret | _pat$ | -pat$ | ^pat$ | webhook
    | (?:app|ssh|aes|rsa|hmac|jwt|gpg|client|service|admin|user|db|storage|account|openai|stripe|insert|ingest|write|read)[-_. ]?key
    | [-_. ]salt$ | signature | x-amz | ^sig$ | ^code$ | cookie | _?auth$ | ^cred
    """
)
_KINDS = (
    ("password", _PASSWORD),
    ("secret", re.compile(r"(?i)secret|credential|cred|salt")),
    ("token", re.compile(r"(?i)token|auth|pat$|session|cookie|code")),
)


def name_at(text: str, start: int, end: int) -> Name:
    """Read the name whose anchor begins at `start` and which ends before `end`."""
    head = _HEAD.search(text, max(0, start - 60), start)
    begin = head.start() if head else start
    name = text[begin:end].strip("_.-")
    before = text[begin - 1 : begin] if begin else ""
    return Name(
        name,
        strength_of(name, spoken=text[max(0, begin - 24) : begin]),
        kind_of(name),
        before in ("?", "&", "#"),
    )


def strength_of(name: str, *, spoken: str = "") -> Strength:
    """Judge a name.

    Args:
        name: The identifier, as written.
        spoken: What stands in front of it, for names of two words (`secret key`).
    """
    if _NOT_CREDENTIAL.search(name):
        return Strength.NONE
    if _PASSWORD.search(name):
        return Strength.PASSWORD
    if _TOKEN.search(name) or (
        name.lower() == "key"
        and re.search(
            r"(?i)(?:secret|access|api|auth\w*|private|activation|license|wifi\b.*)[ ,-]{1,2}$",
            spoken,
        )
    ):
        return Strength.TOKEN
    return Strength.WEAK


def kind_of(name: str) -> str:
    """Say what kind of credential a name means."""
    for kind, pattern in _KINDS:
        if pattern.search(name):
            return kind
    return "key"
