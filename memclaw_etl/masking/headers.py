"""Credentials in HTTP headers: Authorization schemes and cookies."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_name, is_placeholder, is_random, is_wordy

_SEPARATOR = r"(?:\s|%20|\+|\\+[tn]|:\s?){1,3}"
_VALUE = re.compile(rf"{_SEPARATOR}(?P<value>[A-Za-z0-9_\-.~+/%=]{{8,8192}})")
_AUTHORIZATION = re.compile(
    r"(?i)(?:\\*[\"'])?\s{0,3}[:=,]\s{0,3}(?:\\*[\"'])?(?:(?P<scheme>token|bearer|basic|apikey|digest|ntlm|negotiate|key|ssws|bot|aws4\S+)\s+)?"
    r"(?P<value>[^\s\"'`<>]{8,8192})"
)
_COOKIE = re.compile(
    r"(?i)(?:\\*[\"'])?\s{0,2}[:=]\s{0,2}(?:\\*[\"'])?(?P<pairs>[^\n\"'`]{8,1024})"
)
_PAIR = re.compile(r"(?P<name>[\w.\-]{1,60})=(?P<value>[^;\s\"']{8,4096})")
_COOKIE_ATTRIBUTE = re.compile(
    r"(?i)^(?:expires|path|domain|max-age|samesite|lang\w*|theme|_ga\w*)$"
)


def look_scheme(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is `Bearer` or another scheme; its credential follows."""
    found = _VALUE.match(text, end)
    if found is None or text[start - 1 : start].isalnum():
        return
    value = found["value"].rstrip(".,")
    if is_placeholder(value) or is_wordy(value) or is_name(value):
        return
    if is_random(value, least_chars=12) or (len(value) >= 16 and any(map(str.isdigit, value))):
        kind = "basic-auth" if text[start:end].lower() == "basic" else "bearer-token"
        yield Finding(kind, found.start("value"), found.start("value") + len(value))


def look_authorization(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is `authorization`; the scheme may be any or none."""
    del start
    found = _AUTHORIZATION.match(text, end)
    if found is None:
        return
    value = found["value"].rstrip(".,;)]}\\")
    if is_placeholder(value) or is_name(value):
        return
    if is_random(value, least_chars=12 if found["scheme"] else 20):
        yield Finding("authorization", found.start("value"), found.start("value") + len(value))


def look_cookie(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is `cookie`; values that look random go."""
    del start
    found = _COOKIE.match(text, end)
    if found is None:
        return
    for pair in _PAIR.finditer(text, *found.span("pairs")):
        if not _COOKIE_ATTRIBUTE.match(pair["name"]) and is_random(pair["value"], least_chars=12):
            yield Finding("cookie", *pair.span("value"))


RULES = (
    Rule(("bearer", "basic", "ssws"), look_scheme),
    Rule(("authorization",), look_authorization),
    Rule(("cookie",), look_cookie),
)
