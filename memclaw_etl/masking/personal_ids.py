"""National ids: US SSN and ITIN, UK National Insurance numbers, Spanish DNI and NIE."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding

_SSN = re.compile(
    r"(?<![\w.\-/+])(?P<area>[0-9]{3})(?P<dash>[- ]?)(?P<group>[0-9]{2})"
    r"(?P=dash)(?P<serial>[0-9]{4})"
    r"(?![\w\-]|\.[0-9])",
)
_SSN_WORD = re.compile(
    r"\b(?:ssn|social security|itin|tax(?:payer)?[ _\-]?(?:id|identification))\b[^\n0-9]{0,24}$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 60
_NINO = re.compile(
    r"(?<![A-Za-z0-9_\-])(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"(?P<gap> ?)[0-9][0-9](?P=gap)[0-9][0-9](?P=gap)[0-9][0-9](?P=gap)[A-D](?![A-Za-z0-9_\-])",
)
"""Prefixes as in HMRC's National Insurance Manual, NIM39110."""
_SPANISH = re.compile(
    r"(?<![A-Za-z0-9_\-.])(?P<head>[XYZ]-?[0-9]{7}|[0-9]{8}|[0-9]{2}\.[0-9]{3}\.[0-9]{3})-?(?P<letter>[A-Z])"
    r"(?![A-Za-z0-9_\-])",
)
_SPANISH_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
"""Check letter by number mod 23 (Spanish Ministry of the Interior)."""


def look_national_ids(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find national ids; bare digits without dashes only behind a word that names them."""
    yield from _look_us(text, start, end)
    for found in _NINO.finditer(text, start, end):
        yield Finding("uk-nino", *found.span())
    for found in _SPANISH.finditer(text, start, end):
        number = re.sub(r"[^0-9]", "", found["head"].translate(str.maketrans("XYZ", "012")))
        if _SPANISH_LETTERS[int(number) % 23] == found["letter"]:
            yield Finding("es-nie" if found["head"][0] in "XYZ" else "es-dni", *found.span())


def _look_us(text: str, start: int, end: int) -> Iterator[Finding]:
    for found in _SSN.finditer(text, start, end):
        kind = _us_kind(int(found["area"]), int(found["group"]), int(found["serial"]))
        if kind is None:
            continue
        before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()]
        if found["dash"] == "-" or _SSN_WORD.search(before):
            yield Finding(kind, *found.span())


def _us_kind(area: int, group: int, serial: int) -> str | None:
    """Which number it can be (Social Security Administration; IRS for 9xx)."""
    if area >= 900:
        is_itin = 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or group >= 94
        return "us-itin" if is_itin else None
    return "us-ssn" if area not in {0, 666} and group and serial else None
