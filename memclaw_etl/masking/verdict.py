"""The decision about a value that stands behind the name of a credential."""

import re

from memclaw_etl.masking.names import Name, Strength
from memclaw_etl.masking.values import (
    is_code,
    is_expression,
    is_hex,
    is_path,
    is_placeholder,
    is_random,
    is_uuid,
    is_varied,
    is_wordy,
)

_PROSE_OPERATORS = frozenset({"is", "to", "was", "set to", "are"})
_LOOSE_OPERATORS = frozenset({"|", ",", "==", "===", "!=", "!==", "||", "??", "or", "(", ""})
_MOST_PASSWORD_CHARS = 300
_LETTER_AND_MORE = re.compile(r"(?=.*[A-Za-z])(?=.*[\d!@#$%^&*+=~?_.\-])")
_MIXED_INSIDE = re.compile(
    r"[A-Za-z]\d+[A-Za-z]|[A-Za-z\d][!@#$%^&*+=~?]|[!@#$%^&*]\w|[A-Za-z]{3,}[._\-]?\d{3,}"
)
_WORDS_AND_NUMBER = re.compile(r"[A-Za-z]{3,}(?:[._\-][A-Za-z]{3,}){0,4}[._\-]?\d{3,6}\W?_?")
_LICENSE = re.compile(r"[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7}")


def is_credential(value: str, *, name: Name, operator: str, is_quoted: bool) -> bool:
    """Decide by the strength of the name, by how it is assigned, and by the value itself."""
    if len(value) < 4 or is_placeholder(value) or is_path(value):
        return False
    operator = operator.strip().lower()
    if operator in _PROSE_OPERATORS:
        return _spoken(value, name)
    if operator in _LOOSE_OPERATORS:
        return _compared(value, name, is_quoted=is_quoted or operator == "|")
    return _assigned(value, name, is_quoted=is_quoted)


def _assigned(value: str, name: Name, *, is_quoted: bool) -> bool:
    if name.strength is Strength.PASSWORD:
        return _password(value, is_quoted=is_quoted)
    if name.strength is Strength.TOKEN:
        return _token(value, is_quoted=is_quoted, in_url=name.in_url)
    return name.strength is Strength.WEAK and _weak(value, is_quoted=is_quoted)


def _spoken(value: str, name: Name) -> bool:
    if name.strength is Strength.PASSWORD:
        return len(value) >= 6 and bool(_MIXED_INSIDE.search(value))
    return name.strength is Strength.TOKEN and is_random(value, least_chars=10)


def _compared(value: str, name: Name, *, is_quoted: bool) -> bool:
    if not is_quoted or is_wordy(value) or " " in value:
        return False
    if name.strength is Strength.PASSWORD:
        return len(value) >= 8 and (
            is_random(value, least_chars=8) or bool(_MIXED_INSIDE.search(value))
        )
    if name.strength is Strength.TOKEN:
        return (
            is_uuid(value)
            or (is_hex(value) and len(value) >= 16)
            or is_random(value, least_chars=10)
        )
    is_identity = name.strength is Strength.NONE or is_hex(value) or is_uuid(value)
    return not is_identity and is_random(value, least_chars=20)


def _password(value: str, *, is_quoted: bool) -> bool:
    if _WORDS_AND_NUMBER.fullmatch(value):
        return True
    if is_quoted:
        return _quoted_password(value)
    if is_code(value):
        return bool(re.fullmatch(r"[\w!?]{8,}", value)) and bool(
            re.search(r"[A-Za-z]\d+[A-Za-z]", value)
        )
    return bool(_LETTER_AND_MORE.match(value)) and not is_wordy(value)


def _quoted_password(value: str) -> bool:
    if len(value) > _MOST_PASSWORD_CHARS or " " in value.strip():
        return False
    if is_wordy(value) or is_expression(value):
        return False
    return (
        not value.isidentifier()
        or (len(value) >= 6 and bool(re.search(r"[a-z]\d|\d[a-z]|[A-Z]\d", value)))
        or is_random(value, least_chars=8)
    )


def _token(value: str, *, is_quoted: bool, in_url: bool) -> bool:
    if is_uuid(value) or (is_hex(value) and len(value) >= 16) or _LICENSE.fullmatch(value):
        return True
    if is_quoted and " " in value.strip():
        return False
    if is_quoted and len(value) >= 10 and _WORDS_AND_NUMBER.fullmatch(value):
        return True
    if is_code(value):
        return False
    return is_random(value, least_chars=10 if in_url or is_quoted else 12)


def _weak(value: str, *, is_quoted: bool) -> bool:
    if is_uuid(value) or is_hex(value) or is_code(value) or " " in value:
        return False
    return is_random(value, least_chars=16) and (is_quoted or is_varied(value))
