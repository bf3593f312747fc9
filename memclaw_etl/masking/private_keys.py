"""Private keys: PEM and PGP blocks however they are quoted, PuTTY files, base64 of a PEM file.

A block may be indented, quoted, escaped in JSON, concatenated in code, prefixed by a log, cut at its
head or at its tail. What lies between the first and the last line of key material goes as one.
"""

import base64
import binascii
import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_random

_KIND = "private-key"
_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}$")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}$")
_CLOSE = re.compile(r"(?: BLOCK)? ?-{4,5}")
_HEADERS = re.compile(
    r"(?:(?:\s|\\[nr]|[>*#|])*[A-Za-z][A-Za-z\-]{2,20}: [^\n\\]{0,120}(?:\n|(?:\\+[nr])+))+"
)
_RUN = re.compile(r"[A-Za-z0-9+/]{16}")
_REST_OF_RUN = re.compile(r"[A-Za-z0-9+/=]*")
_SEPARATOR = r"(?:\s|\\+[nr]|[\"'+>*#|])"
_LAST_LINE = re.compile(
    rf"{_SEPARATOR}{{1,40}}([A-Za-z0-9+/=]{{1,15}}(?={_SEPARATOR}{{0,40}}-----)|-----[A-Z][A-Z ]{{2,40}}KEY-----)"
)
_LEAST_RUN_CHARS = 16
_KEY_LINE = re.compile(r"^[\s>|*#\"'+]*([A-Za-z0-9+/]{16,}={0,2})[\s\"'+\\nr,]*$")
_MOST_GAP_CHARS = 120


def look_pem(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is the `PRIVATE KEY` of a marker line; the marker lines go with the key."""
    close = _CLOSE.match(text, end)
    if close is None:
        return
    window = max(0, start - 60)
    if begin := _BEGIN.search(text, window, start):
        last = _end_of_key(text, close.end())
        if last is not None:
            yield Finding(_KIND, begin.start(), last)
    elif marker := _END.search(text, window, start):
        first = _start_of_key(text, marker.start())
        if first is not None:
            yield Finding(_KIND, first, close.end())


def _end_of_key(text: str, at: int) -> int | None:
    """Where the key material that begins after `at` ends, or None when there is none."""
    headers = _HEADERS.match(text, at)
    at = headers.end() if headers else at
    last = None
    while (run := _RUN.search(text, at, at + _MOST_GAP_CHARS + _LEAST_RUN_CHARS)) is not None:
        if text.find("-----", at, run.start()) >= 0:
            break
        whole = _REST_OF_RUN.match(text, run.start())
        if whole is None or (last is None and not _is_key_line(whole[0])):
            return None
        at = last = whole.end()
    if last is None:
        return None
    short = _LAST_LINE.match(text, last)
    return short.end(1) if short else last


def _is_key_line(run: str) -> bool:
    return len(run) >= 40 or is_random(run, least_chars=_LEAST_RUN_CHARS)


def _start_of_key(text: str, marker: int) -> int | None:
    """The head was cut off: where the lines of key material in front of an end marker start."""
    stop = text.rfind("\n", 0, marker)
    first = None
    while stop > 0:
        newline = text.rfind("\n", max(0, stop - 400), stop)
        if newline < 0 and stop > 400:
            break
        begin = newline + 1
        line = _KEY_LINE.match(text[begin:stop])
        if line is None:
            break
        first = begin + line.start(1)
        stop = begin - 1
    return first


def look_encoded(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is the base64 of `-----BEGIN`."""
    del end
    run = _REST_OF_RUN.match(text, start)
    if run is None or not _is_private(run[0]):
        return
    last = run.end()
    following = re.compile(r"(?:\s|\\+[nr]|[>|]){1,12}([A-Za-z0-9+/]{8,}={0,2})(?=\s|\\|$|[\"'])")
    while (more := following.match(text, last)) is not None and last - run.start() >= 60:
        last = more.end()
    yield Finding(_KIND, start, last)


def _is_private(encoded: str) -> bool:
    head = encoded[: min(len(encoded), 80) // 4 * 4]
    try:
        return b"PRIVATE" in base64.b64decode(head)
    except (binascii.Error, ValueError):
        return False


_PUTTY = re.compile(
    r"(?i)private-lines: ?\d{1,3}((?:(?:\n|\\+n)[> ]{0,4}[A-Za-z0-9+/]{16,}={0,2})+)"
)
_PUTTY_MAC = re.compile(r"(?i)private-mac: ?([0-9a-f]{40,64})")


def look_putty(text: str, start: int, end: int) -> Iterator[Finding]:
    """The private part of a PuTTY key file, and the hash over it."""
    del end
    lines = _PUTTY.match(text, start)
    if lines is not None:
        lead = len(lines[1]) - len(lines[1].lstrip("\\\n> "))
        yield Finding(_KIND, lines.start(1) + lead, lines.end(1))
    mac = _PUTTY_MAC.match(text, start)
    if mac is not None:
        yield Finding(_KIND, *mac.span(1))


RULES = (
    Rule(("private key",), look_pem),
    Rule(("ls0tls1crudjti",), look_encoded),
    Rule(("private-lines:", "private-mac:"), look_putty),
)
