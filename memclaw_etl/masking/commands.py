"""Credentials on command lines: flags, and programs whose short options take them."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.names import Strength, strength_of
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_code, is_path, is_placeholder, is_random, is_wordy

_ARGUMENT = (
    r"(?:'(?P<single>[^'\n]{4,300})'|\"(?P<double>[^\"\n]{4,300})\""
    r"|(?P<bare>[^\s\"'`|;&<>]{4,300}))"
)
_USER_COLON_ARGUMENT = (
    r"(?:'[^:'\n]{0,80}:(?P<single>[^'\n]{3,300})'|\"[^:\"\n]{0,80}:(?P<double>[^\"\n]{3,300})\""
    r"|[^\s:'\"]{1,80}:(?P<bare>[^\s\"'`|;&<>]{3,300}))"
)
_FLAG = re.compile(rf"(?<![\w-])--?(?P<name>[A-Za-z][\w\-]{{1,40}})[ \t]{{1,3}}(?!-){_ARGUMENT}")
_SHORT = {
    "sshpass": re.compile(rf"[^\n|;]{{0,60}}? -p ?{_ARGUMENT}"),
    "curl": re.compile(
        rf"[^\n]{{0,400}}? (?:-u|--user|--proxy-user)[ =]?{_USER_COLON_ARGUMENT}"
    ),
    "mysql": re.compile(rf"[^\n|;]{{0,200}}? -p{_ARGUMENT}"),
    "redis-cli": re.compile(rf"[^\n|;]{{0,200}}? -a {_ARGUMENT}"),
    "docker login": re.compile(rf"[^\n|;]{{0,200}}? -p {_ARGUMENT}"),
    "ldapsearch": re.compile(rf"[^\n|;]{{0,200}}? -w {_ARGUMENT}"),
    "mongosh": re.compile(rf"[^\n|;]{{0,200}}? -p {_ARGUMENT}"),
    "wget": re.compile(rf"[^\n|;]{{0,200}}? --(?:http-|ftp-)?password[ =]{_ARGUMENT}"),
}  # fmt: skip
_REFERENCE_HEADS = "$<{@%"
_SLASH = re.compile(rf"(?:word)?:{_ARGUMENT}")
_PASS_SOURCE = re.compile(rf"(?:in|out)? pass:{_ARGUMENT}")


def look_flag(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is a credential word; it must be part of a flag."""
    begin = text.rfind("-", max(0, start - 30), start)
    if begin < 0:
        return
    while begin > 0 and (text[begin - 1] == "-" or text[begin - 1].isalnum()):
        begin -= 1
    found = _FLAG.match(text, begin)
    if found is None or found.end("name") < end:
        return
    span = _argument(found)
    strength = strength_of(found["name"])
    if span is None or strength < Strength.TOKEN:
        return
    value = text[slice(*span)]
    if _is_stand_in(value):
        return
    if is_random(value, least_chars=10) or (
        strength is Strength.PASSWORD and any(not c.isalpha() for c in value)
    ):
        yield Finding("cli-secret", *span)


def _short_option(program: str, text: str, end: int) -> Iterator[Finding]:
    found = _SHORT[program].match(text, end)
    span = _argument(found) if found else None
    if span is None:
        return
    value = text[slice(*span)]
    if is_placeholder(value) or value[0] in _REFERENCE_HEADS:
        return
    if program == "sshpass" or not _is_stand_in(value):
        yield Finding("cli-password", *span)


def look_program(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is a program whose short option takes a password."""
    if start and (text[start - 1].isalnum() or text[start - 1] in "-_."):
        return
    yield from _short_option(text[start:end].lower(), text, end)


def look_slash(text: str, start: int, end: int) -> Iterator[Finding]:
    """Options of Windows programs: `/pass:secret`."""
    del start
    found = _SLASH.match(text, end)
    span = _argument(found) if found else None
    if span is not None and not _is_stand_in(text[slice(*span)]):
        yield Finding("cli-password", *span)


def look_pass_source(text: str, start: int, end: int) -> Iterator[Finding]:
    """OpenSSL's `-passin pass:secret`."""
    del start
    found = _PASS_SOURCE.match(text, end)
    span = _argument(found) if found else None
    if span is not None and not _is_stand_in(text[slice(*span)]):
        yield Finding("cli-password", *span)


def _argument(found: re.Match[str]) -> tuple[int, int] | None:
    for group in ("single", "double", "bare"):
        if found[group] is not None:
            return found.span(group)
    return None


def _is_stand_in(value: str) -> bool:
    return (
        is_placeholder(value)
        or is_path(value)
        or value[0] in _REFERENCE_HEADS
        or (is_code(value) and not is_random(value, least_chars=8))
        or is_wordy(value)
    )


RULES = (
    Rule(
        ("password", "passwd", "pass", "pwd", "token", "secret", "key", "auth", "credential"),
        look_flag,
    ),
    Rule(tuple(_SHORT), look_program),
    Rule(("/pass",), look_slash),
    Rule(("-pass",), look_pass_source),
)
