"""Credentials inside URLs: `scheme://user:password@host`, and paths that are keys."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_hex, is_placeholder, is_random

_USERINFO = re.compile(
    r"(?P<user>[^\s:/?#\"'<>@`\\]{0,80}):(?P<password>[^\s\"'<>`]{1,200}?)@"
    r"(?=(?:[A-Za-z0-9_\-]+\.)*[A-Za-z0-9_\-]+(?:[:/?\s\"'#,;)\]}`\\<]|\.?$|\.\s)|\[[0-9a-fA-F:]+\])"
)
_TOKEN_ONLY = re.compile(r"(?P<token>[A-Za-z0-9_\-]{16,200})(?::x-oauth-basic|:)?@")
_EXAMPLE = re.compile(
    r"(?i)^(?:pass(?:word|wd|phrase)?|pw|pwd|secret|token|key|user(?:name)?|changeme|admin|root|guest|test|your.*|my.*"
    r"|x-oauth-basic|postgres|[A-Z_]*(?:PASSWORD|PASS|TOKEN|SECRET|PWD|PW))$"
)
_SOFTLAYER = re.compile(r"softlayer\.com/(?:soap|rest|xmlrpc)/v3(?:\.1)?/([0-9a-f]{64})")


def look_userinfo(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is `://`."""
    del start
    found = _USERINFO.match(text, end)
    if found is not None:
        if _is_password(found["password"], user=found["user"]):
            keyed = len(found["user"]) >= 8 and is_hex(found["user"])
            yield Finding(
                "url-password", found.start("user" if keyed else "password"), found.end("password")
            )
        return
    token = _TOKEN_ONLY.match(text, end)
    if token is not None and is_random(token["token"], least_chars=16):
        yield Finding("url-token", *token.span("token"))


def _is_password(value: str, *, user: str) -> bool:
    if is_placeholder(value) or _EXAMPLE.match(value):
        return False
    if value[0] in "${<%" or (value.isdigit() and len(value) < 6):
        return False
    return not (user.startswith(("$", "{", "<")) and not is_random(value, least_chars=6))


def look_softlayer(text: str, start: int, end: int) -> Iterator[Finding]:
    """A key as part of a path."""
    del end
    found = _SOFTLAYER.match(text, start)
    if found is not None:
        yield Finding("softlayer-key", *found.span(1))


_LINK = re.compile(r"(?P<value>[A-Za-z0-9_\-.~%]{20,400})")
_LINK_WORD = re.compile(
    r"(?i)login|sign-?in|invite|reset|verify|confirm|magic|activate|auth|accept|join|session"
)


def look_link(text: str, start: int, end: int) -> Iterator[Finding]:
    """A link that signs in whoever has it: the anchor is its short parameter."""
    found = _LINK.match(text, end)
    if found is None or not is_random(found["value"], least_chars=20):
        return
    address = text[max(0, start - 320) : start].split()[-1:]
    if address and "://" in address[0] and _LINK_WORD.search(address[0]):
        yield Finding("sign-in-link", *found.span("value"))


RULES = (
    Rule(("://",), look_userinfo),
    Rule(("?t=", "?c=", "?k=", "?code=", "?otp=", "?ticket=", "?hash="), look_link),
    Rule(("softlayer.com/",), look_softlayer),
)
