"""Private keys: PEM and PGP blocks however they are quoted, PuTTY files, base64 of a PEM file.

A block may be indented, quoted, escaped in JSON, concatenated in code, prefixed by a log, cut at
its head or at its tail. What lies between the first and the last line of key material goes as one.
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
_SEPARATOR = r"(?:\s|\\+[nr]|[\"'+>*#|\\])"
_BREAK = re.compile(r"\n|\\+[nr]")
_SHORT_ALONE = re.compile(r"(?:\s|\\+[nr]){1,8}([A-Za-z0-9+/]{1,15}={1,2})")
_SHORT_BEFORE = re.compile(rf"([A-Za-z0-9+/]{{1,15}}={{0,2}}){_SEPARATOR}{{0,40}}$")
_LEAST_RUN_CHARS = 16
_KEY_LINE = re.compile(r"^[\s>|*#\"'+]*([A-Za-z0-9+/]{16,}={0,2})[\s\"'+\\nr,]*$")
_MOST_GAP_CHARS = 120


def look_pem(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is the `PRIVATE KEY` of a marker line; the marker lines stay."""
    close = _CLOSE.match(text, end)
    if close is None:
        return
    window = max(0, start - 60)
    if _BEGIN.search(text, window, start):
        span = _after(text, close.end())
        if span is not None:
            yield Finding(_KIND, *span)
    elif marker := _END.search(text, window, start):
        span = _before(text, marker.start())
        if span is not None:
            yield Finding(_KIND, *span)


def _after(text: str, at: int) -> tuple[int, int] | None:
    """The key material that begins after `at`, or None when there is none."""
    headers = _HEADERS.match(text, at)
    at = headers.end() if headers else at
    first = last = -1
    while (run := _RUN.search(text, at, at + _MOST_GAP_CHARS + _LEAST_RUN_CHARS)) is not None:
        whole = _REST_OF_RUN.match(text, run.start())
        if (
            whole is None
            or "-----" in text[at : run.start()]
            or "[MASKED:" in text[at : run.start()]
        ):
            break
        if first < 0:
            if not _is_key_line(whole[0]):
                return None
            first = whole.start()
        at = last = whole.end()
    return (first, _short_last_line(text, last)) if first >= 0 else None


def _short_last_line(text: str, last: int) -> int:
    """Key material may end in a line that is too short to be taken for one by itself."""
    marker = text.find("-----", last, last + 2 * _MOST_GAP_CHARS)
    if marker < 0:
        alone = _SHORT_ALONE.match(text, last)
        return alone.end(1) if alone else last
    breaks = list(_BREAK.finditer(text, last, marker))
    short = _SHORT_BEFORE.search(text, last, breaks[-1].start() if breaks else marker)
    return short.end(1) if short else last


def _is_key_line(run: str) -> bool:
    return len(run) >= 40 or is_random(run, least_chars=_LEAST_RUN_CHARS)


def _before(text: str, marker: int) -> tuple[int, int] | None:
    """The head was cut off: lines of key material in front of an end marker."""
    stop = text.rfind("\n", max(0, marker - 60), marker)
    first = last = -1
    while stop > 0:
        newline = text.rfind("\n", max(0, stop - 400), stop)
        if newline < 0 and stop > 400:
            break
        line = _KEY_LINE.match(text[newline + 1 : stop])
        if line is None:
            break
        first, last = newline + 1 + line.start(1), max(last, newline + 1 + line.end(1))
        stop = newline
    return (first, last) if first >= 0 else None


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
