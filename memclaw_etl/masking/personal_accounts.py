"""Numbers of payment cards and bank accounts; both carry check digits."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding

_CARD = re.compile(
    r"(?<![\w.+\-/%#])"
    r"(?:(?:[0-9]{4}[ \-]?){3}[0-9]{1,7}|[0-9]{4}[ \-]?[0-9]{6}[ \-]?[0-9]{4,5})"
    r"(?![\w\-]|\.[0-9])",
)
_ISSUERS = (
    (re.compile(r"4"), {13, 16, 19}),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"6011|65|64[4-9]"), {16, 19}),
    (re.compile(r"30[0-5]|36|38|39"), {14}),
    (re.compile(r"352[89]|35[3-8]"), {16}),
    (re.compile(r"62"), {16, 17, 18, 19}),
)
"""First digits and lengths by issuer (ISO/IEC 7812 ranges as the card networks publish them)."""
_ID_BEFORE = re.compile(
    r"(?:\b|_)(?:id|ids|trace|tracking|span|seq|build|job|run|order|ts|time|timestamp|offset|bytes"
    r"|size|count|nonce|serial|version|port|pid|inode|mtime)s?[\"'`]?\s{0,2}[:=#]?\s{0,2}[\"'`]?$",
    re.IGNORECASE,
)
_BEFORE_CHARS = 24


def look_cards(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find card numbers: an issuer's first digits and length, and Luhn's check digit.

    One in ten numbers passes Luhn: those that are named as ids, sizes or times stay.
    """
    for found in _CARD.finditer(text, start, end):
        digits = re.sub(r"[^0-9]", "", found[0])
        if _is_issued(digits) and _luhn(digits):
            before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()]
            if not _ID_BEFORE.search(before):
                yield Finding("card", *found.span())


def _is_issued(digits: str) -> bool:
    return any(head.match(digits) and len(digits) in lengths for head, lengths in _ISSUERS)


def _luhn(digits: str) -> bool:
    """The check of ISO/IEC 7812-1, annex B."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        digit = int(char) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


_IBAN_CHARS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30,
    "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
"""Length of an IBAN by country (SWIFT's IBAN registry)."""
_IBAN = re.compile(
    r"(?<![A-Za-z0-9_\-/+=])(?P<country>[A-Z]{2})(?!00|01|99)[0-9][0-9]"
    r"(?:[ \-]?[A-Z0-9]{4}){2,7}(?:[ \-]?[A-Z0-9]{1,3})?",
)
_LEAST_IBAN_CHARS = 15


def look_ibans(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find IBANs: a country of the registry, its length, and the check of ISO 13616 (mod 97)."""
    for found in _IBAN.finditer(text, start, end):
        last = _iban_end(text, found.start(), _IBAN_CHARS.get(found["country"], 0))
        if last is not None and _mod_97(re.sub(r"[ \-]", "", text[found.start() : last])):
            yield Finding("iban", found.start(), last)


def _iban_end(text: str, start: int, chars: int) -> int | None:
    """Where `chars` letters and digits from `start` on end, single separators between them."""
    at, left = start, chars
    while left and at < len(text):
        if text[at].isascii() and text[at].isalnum():
            left -= 1
        elif text[at] not in " -":
            return None
        at += 1
    is_whole = not (text[at : at + 1].isalnum() or text[at : at + 1] == "_")
    return at if chars >= _LEAST_IBAN_CHARS and not left and is_whole else None


def _mod_97(iban: str) -> bool:
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1
