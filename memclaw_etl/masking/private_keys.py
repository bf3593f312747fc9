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

_KIND = "private-key"
_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}$")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}$")
_CLOSE = re.compile(r"(?: BLOCK)? ?-{4,5}")
_HEADERS = re.compile(
    r"(?:(?:\s|\\[nr]|[>*#|])*[A-Za-z][A-Za-z\-]{2,20}: [^\n\\]{0,120}(?:\n|(?:\\+[nr])+))+"
)
_RUN = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_SHORT_RUN = re.compile(r"[A-Za-z0-9+/=]{2,23}(?=[^A-Za-z0-9+/=])")
_LINE_START = re.compile(r"\n|\\+[nr]")
_KEY_LINE = re.compile(r"^[\s>|*#\"'+]*([A-Za-z0-9+/]{16,}={0,2})[\s\"'+\\nr,]*$")
_MOST_GAP_CHARS = 120


def look_pem(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is the `PRIVATE KEY` of a marker line."""
    close = _CLOSE.match(text, end)
    if close is None:
        return
    before = text[max(0, start - 60) : start]
    if _BEGIN.search(before):
        yield from _after(text, close.end())
    elif _END.search(before):
        yield from _before(text, text.rindex("END", 0, start))


def _after(text: str, at: int) -> Iterator[Finding]:
    headers = _HEADERS.match(text, at)
    run = _RUN.search(
        text,
        headers.end() if headers else at,
        at + _MOST_GAP_CHARS + (headers.end() - at if headers else 0) + 65536,
    )
    if run is None or run.start() - (headers.end() if headers else at) > _MOST_GAP_CHARS:
        return
    first, last = run.start(), run.end()
    marker = text.find("-----", last, last + _MOST_GAP_CHARS)
    while marker < 0:
        run = _RUN.search(text, last, min(len(text), last + _MOST_GAP_CHARS + 64))
        if run is None:
            break
        last = _RUN.match(text, run.start()).end()  # type: ignore[union-attr]
        marker = text.find("-----", last, last + _MOST_GAP_CHARS)
    yield Finding(_KIND, first, _with_short_last_line(text, last, marker))


def _with_short_last_line(text: str, last: int, marker: int) -> int:
    """Key material ends in a line that may be short: the last one in front of the end marker."""
    limit = marker if marker >= 0 else min(len(text), last + 60)
    breaks = list(_LINE_START.finditer(text, last, limit))
    if len(breaks) < 2 - (marker < 0):
        return last
    stop = breaks[-1].start() if marker >= 0 else limit
    runs = list(_SHORT_RUN.finditer(text, breaks[0].end(), stop + 1))
    return runs[-1].end() if runs and marker >= 0 else last


def _before(text: str, marker: int) -> Iterator[Finding]:
    """The head was cut off: lines of key material in front of an end marker."""
    stop = text.rfind("\n", 0, marker)
    first = last = -1
    while stop > 0:
        begin = text.rfind("\n", max(0, stop - 400), stop) + 1
        line = _KEY_LINE.match(text[begin:stop])
        if line is None:
            break
        first, last = begin + line.start(1), max(last, begin + line.end(1))
        stop = begin - 1
    if first >= 0:
        yield Finding(_KIND, first, last)


def look_encoded(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is the base64 of `-----BEGIN`."""
    del end
    run = _RUN.match(text, start)
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
