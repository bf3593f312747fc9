"""Names of settings, and how strongly they announce a credential."""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from memclaw_etl.masking.words import (
    CREDENTIAL_WORDS,
    KEY_QUALIFIERS,
    NOT_KEYS,
    NOT_LAST,
    PASSWORD_WORDS,
)


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
    r"(?i)\b(?:secret|access|api|auth\w*|private|activation|license|product|signing|shared)"
    r"[ ,-]{1,2}$"
)

_PASSWORD_INSIDE = re.compile(
    r"(?i)password|passwd|passphrase|passwort|_pass\b|pwd$|^pwd|psw(?:or)?d$|passw|pasw"
)
_CREDENTIAL_INSIDE = re.compile(
    r"(?i)secret|token|credential|private_key_id$|api[-_.]?key|authkey|accesskey|appkey"
)
_NOT_INSIDE = re.compile(
    r"(?i)public[-_.]?key|keyof|keyword|monkey|turkey|keyboard|hockey|tokeni[sz]|bypass|compass"
    r"|passenger|passport|secretar|secrets?manager|page[-_]?token|continuation|next[-_]?token"
    r"|cursor|checkpoint|author(?!iz)|max[-_]?tokens|client[-_]?(?:request[-_]?)?token"
    r"|idempotency|authenticated|authentication"
)
_KEYS = frozenset({"key", "keys"})
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
    if name.lower().endswith("signature") and not in_url:
        return Strength.NONE
    if name.lower() == "key" and _WIFI.search(before):
        return Strength.PASSWORD
    if in_url or (name.lower() in {"key", "keys", "code"} and _SPOKEN_KEY.search(before)):
        return Strength.TOKEN
    return Strength.WEAK


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Judge a name by its words, in whatever case they are joined."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or _is_harmless(name, words):
        return Strength.NONE
    if not PASSWORD_WORDS.isdisjoint(words) or _PASSWORD_INSIDE.search(name):
        return Strength.PASSWORD
    is_key = words[-1] in _KEYS and not KEY_QUALIFIERS.isdisjoint(words)
    if is_key or not CREDENTIAL_WORDS.isdisjoint(words) or _CREDENTIAL_INSIDE.search(name):
        return Strength.TOKEN
    return Strength.WEAK


def _is_harmless(name: str, words: list[str]) -> bool:
    if name.lower().endswith("private_key_id"):
        return False
    if _NOT_INSIDE.search(name) or _NOT_PASS.match(name):
        return True
    if len(words) == 1:
        return False
    return words[-1] in NOT_LAST or (words[-1] in _KEYS and words[-2] in NOT_KEYS)


def kind_of(name: str) -> str:
    """Say what kind of credential a name means."""
    for kind, pattern in _KINDS:
        if pattern.search(name):
            return kind
    return "key"
