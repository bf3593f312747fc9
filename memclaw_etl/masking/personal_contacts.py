"""E-mail addresses and phone numbers."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding

_AT = re.compile(r"@|%40")
_LOCAL = re.compile(r"[^\W_][\w.+\-]{0,63}$")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,8}(?P<top>[^\W\d_]{2,24})(?![\w\-])")
_LOCAL_CHARS = 64
_BEFORE_CHARS = 24
_LOGIN = re.compile(r"(?:://|\b(?:ssh|scp|sftp|rsync|mosh)\s+(?:-\w+\s+)*)$")
_REMOTE_PATH = re.compile(r":[^\s:@]{0,200}/|:[\w.\-]{1,100}\.git\b|\(")
_NOBODY = frozenset({"git", "hg", "svn", "noreply", "no-reply", "donotreply", "do-not-reply"})
_NO_TOP_LEVEL = frozenset(
    {
        "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "scss", "less", "js", "mjs",
        "cjs", "jsx", "ts", "tsx", "map", "json", "html", "vue", "service", "socket", "timer",
        "target", "mount", "shape", "dtype", "transpose", "astype", "reshape", "ravel",
    }
)  # fmt: skip
"""Ends of file names, of systemd units and of attributes; none is a top-level domain."""


def look_emails(text: str) -> Iterator[Finding]:
    """Find addresses of people (RFC 5321 without quoted local parts), also with `%40`.

    Remote logins and paths (`git@host:path`, `ssh me@host`, `https://user@host`), packages
    (`@scope/name@1.2`) and senders that nobody reads (`noreply@`) are no addresses of people.
    """
    done = 0
    for at in _AT.finditer(text):
        local = _LOCAL.search(text, max(done, at.start() - _LOCAL_CHARS), at.start())
        domain = _DOMAIN.match(text, at.end()) if local else None
        if local is None or domain is None:
            continue
        if not _is_of_nobody(text, local, domain):
            yield Finding("email", local.start(), domain.end())
            done = domain.end()


def _is_of_nobody(text: str, local: re.Match[str], domain: re.Match[str]) -> bool:
    before = text[max(0, local.start() - _BEFORE_CHARS) : local.start()]
    return (
        local[0].lower() in _NOBODY
        or domain["top"].lower() in _NO_TOP_LEVEL
        or "noreply" in domain[0].lower()
        or before[-1:] == "@"
        or bool(_LOGIN.search(before))
        or bool(_REMOTE_PATH.match(text, domain.end()))
    )


_COUNTRY_CODE = (
    r"(?:1|7|2(?:0|7|1[1-368]|[2-6][0-9]|9[0179])|3(?:[0-469]|[57][0-9]|8[0-79])"
    r"|4(?:[013-9]|2[0139])|5(?:[1-8]|[09][0-9])|6(?:[0-6]|7[02-9]|8[0-9]|9[0-2])"
    r"|8(?:[1246]|0[08]|5[02356]|7[08]|8[0368])|9(?:[0-58]|6[0-8]|7[0-79]|9[2-689]))"
)
"""Country calling codes (ITU-T E.164, annex of assigned codes)."""
_SEPARATOR = r"(?:[ .\-/\u00a0]|\)[ \-]?|[ \-]?\()"
_INTERNATIONAL = re.compile(
    rf"\+{_COUNTRY_CODE}(?:{_SEPARATOR}?[0-9]){{6,14}}(?!\w|[.,:][0-9]|%)", re.ASCII
)
_NANP = re.compile(r"(?<![\w.+\-])\([0-9]{3}\)[ \-]?[0-9]{3}[ .\-][0-9]{4}(?![\w\-])")
_NAMED = re.compile(
    r"\b(?P<name>phone|tel|telephone|mobile|cell|cellphone|fax|whatsapp|sms|handy|telefon\w{0,3}"
    r"|tel[ée]fono|m[óo]vil|call)\b(?:[ _\-]?(?:number|no|nr|num)\b)?"
    r"(?P<between>[^\w\n+(]{0,6}(?:\b(?:is|me|him|her|us|at|on|under|ist|es)\b[^\w\n+(]{1,3}){0,3})"
    r"(?P<number>\(?[0-9](?:[ .\-/]?\(?[0-9]\)?){7,13})(?![\w\-]|[.:][0-9])",
    re.IGNORECASE,
)


def look_phones(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find phone numbers: by `+` and country code, as `(212) 555-0100`, or behind a word for them.

    A bare run of digits is a build, a time or an id; `+` before a number at the start of a line is
    an added line of a diff.
    """
    if text.find("+", start, end) >= 0:
        for found in _INTERNATIONAL.finditer(text, start, end):
            if _is_dialled(text, found):
                yield Finding("phone", *found.span())
    if text.find("(", start, end) >= 0:
        for found in _NANP.finditer(text, start, end):
            yield Finding("phone", *found.span())
    for found in _NAMED.finditer(text, start, end):
        number = found["number"]
        is_loose = found["name"].lower() == "call" or not found["between"]
        if not is_loose or any(char in number for char in " .-/("):
            yield Finding("phone", *found.span("number"))


def _is_dialled(text: str, found: re.Match[str]) -> bool:
    before = text[found.start() - 1 : found.start()]
    if before.isalnum() or (before and before in "+.)]_"):
        return False
    number = found[0]
    if re.fullmatch(r"\+[0-9]+\.[0-9]+", number):
        return False  # a decimal
    is_separated = not number[1:].isdecimal()
    return is_separated or before not in {"", "\n"}
