"""Personal data: a policy of its own, since a name in a trail is no accident as a password is.

Families: e-mail addresses, phone numbers, payment cards, IBANs, and national ids (US SSN and ITIN,
UK National Insurance, Spanish DNI and NIE). Whatever has a check digit is checked.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.personal_accounts import look_cards, look_ibans
from memclaw_etl.masking.personal_contacts import look_emails, look_phones
from memclaw_etl.masking.personal_ids import look_national_ids


class PersonalData(StrEnum):
    """What becomes of personal data."""

    OFF = "off"
    """It is not looked for."""
    FLAG = "flag"
    """It is counted by kind and left in the text."""
    MASK = "mask"
    """It is masked as credentials are."""


_NUMBER = re.compile(r"[0-9][0-9 \-./()\u00a0]{4,}[0-9]")
_BEFORE_CHARS, _AFTER_CHARS = 80, 48
"""Around a number: room for the word that names it, and for the letters of an IBAN."""
_LOOKS = (look_phones, look_cards, look_ibans, look_national_ids)


def look_personal(text: str) -> Iterator[Finding]:
    """Find personal data; findings may overlap."""
    yield from look_emails(text)
    for start, end in _around_numbers(text):
        for look in _LOOKS:
            yield from look(text, start, end)


def _around_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Give stretches that hold six digits with little between them, joined where they meet."""
    start = end = 0
    for number in _NUMBER.finditer(text):
        begin = max(0, number.start() - _BEFORE_CHARS)
        if begin > end:
            yield start, end
            start = begin
        end = min(len(text), number.end() + _AFTER_CHARS)
    if end:
        yield start, end
