"""Passwords told in languages whose word for it is not ASCII."""

import re
from collections.abc import Iterator
from functools import cache

import ahocorasick_rs

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.values import is_path, is_placeholder, is_random, is_wordy

_LISTED = """
    ароль ароля пароли ontraseñ hasło hasła lösenord jelszó şifre mật_khẩu clé_secrète
    密码 密碼 口令 パスワード 비밀번호 비번 كلمة_المرور كلمة_السر סיסמ ωδικός ωδικό รหัสผ่าน
"""
_WORDS = tuple(word.replace("_", " ") for word in _LISTED.split())
_BLOCK_BYTES = 64 * 1024
_LONGEST_BYTES = max(len(word.encode()) for word in _WORDS)
_TOLD = re.compile(
    r"""(?x)
    [^\W\d_]{0,4}
    (?: \s{0,2}[:=\uff1a\u2013\u2014-]\s{0,2}
      | \s{1,2}(?:es|is|ist|est|é|e|to|je|это|от|на|для)(?:\s\S{1,30})?\s{1,2}
      | [是为為はがは는은이가]{1,2}\s{0,2}
      | \s{1,2}
    )
    ["'`«“「]?(?P<value>[!-~]{6,200})
    """
)
_TRAIL = ".,;:)]}\"'`"
_LETTER_DIGIT = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])")


@cache
def _automaton() -> ahocorasick_rs.BytesAhoCorasick:
    return ahocorasick_rs.BytesAhoCorasick(
        [word.encode() for word in _WORDS], implementation=ahocorasick_rs.Implementation.DFA
    )


def _has_word(data: bytes) -> bool:
    """Whether any of the words stands in the text; block by block, up to the first."""
    return any(
        _automaton().find_matches_as_indexes(data[at : at + _BLOCK_BYTES + _LONGEST_BYTES])
        for at in range(0, len(data), _BLOCK_BYTES)
    )


def look_foreign(text: str) -> Iterator[Finding]:
    """Find what is told after such a word. ASCII texts have none."""
    if not _has_word(text.encode("utf-8", "replace")):
        return
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            found = _TOLD.match(text, at + len(word))
            if found is not None:
                value = found["value"].rstrip(_TRAIL)
                if _is_told(value):
                    yield Finding(
                        "told-secret", found.start("value"), found.start("value") + len(value)
                    )
            at = text.find(word, at + len(word))


def _is_told(value: str) -> bool:
    if len(value) < 6 or is_placeholder(value) or is_path(value) or is_wordy(value):
        return False
    return bool(_LETTER_DIGIT.match(value)) or is_random(value, least_chars=12)
