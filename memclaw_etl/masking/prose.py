"""Credentials that people tell in words, in SQL statements, and in dialogs."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_hex, is_path, is_placeholder, is_random, is_wordy

_QUOTE = r"(?P<quote>\\*[\"'`*]{1,2}|)"
_TOLD = re.compile(
    rf"""(?xi)
    [\w.\-]{{0,30}}+(?:'s)?+
    (?:\s(?:key|access\ key|password|code|phrase|for\ \S{{1,40}}(?:\s\w{{1,20}})?
       |\w{{1,15}}\ password))?
    (?:,?\s+(?:type|enter|use|try|just|now|again|still|currently|should\ be|will\ be|has\ been
       |changed|set|reset))?
    (?:\s*(?:->|=>|[:=\u2013\u2014-])\s+|\s+(?:is|was|to|are|=)(?::|\s+now)?\s+|\s+)
    (?:(?:still|now|just|probably)\s+)?
    {_QUOTE}(?P<value>[^\s"'`<>|,\\&]{{6,300}})
    """
)
_ASKED = re.compile(
    r"[^\n?]{0,120}+\?[ \t]{0,4}\n(?:\s{0,4}(?:\[?\w{2,12}\]?:?|>)\s{1,3})?"
    r"(?P<value>[^\s\"'`<>]{8,200})[ \t]{0,4}(?=\n|$)"
)
_HERE = re.compile(
    r"[^\n:]{0,60}+:[ \t]{0,4}\n{1,2}[ \t>`]{0,6}(?P<value>[^\s\"'`<>]{10,400})[ \t`]{0,4}(?=\n|$)"
)
_APP_PASSWORD = re.compile(
    r"(?:\s+(?:is|=|:))?:?\s{1,3}(?P<value>[a-z]{4}(?:[ -][a-z]{4}){3})(?![a-z])"
)
_OTP = re.compile(
    r"(?i)[^\n:=]{0,30}?(?::|=|\bis|\bkey|\bsecret|\bseed)\s{1,3}"
    r"(?P<value>[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){3,7}|[A-Z2-7]{16,64})(?![A-Za-z0-9])"
)
_SQL = re.compile(
    r"(?i)\s{1,4}(?:with\s{1,2}\S{1,40}\s{1,2}(?:by|as)\s{1,4}|by\s{1,4}(?:password\s{1,2})?)?"
    r"(?P<quote>\\*[\"']|)(?P<value>[^\s\"'`]{4,200})"
)
_SQL_VERB = re.compile(
    r"(?i)\b(?:(?:create|alter)\s{1,3}(?:user|role|login|database|subscription)|grant|set\s+password)\s"
)
_NETRC = re.compile(r"(?:machine|login|account)\s{1,4}\S{1,100}\s{1,6}$")
_SPACED = re.compile(r"\s{1,4}(?P<value>[^\s\"'`<>]{4,200})")
_MOST_STATEMENT_CHARS = 240
_LEAST_STRONG_CHARS = 8
_TRAIL = ".,;:!?)]}*\\"
_LETTER_DIGIT = re.compile(r"(?=[^\s]*[A-Za-z])(?=[^\s]*\d)")


def look_told(text: str, start: int, end: int) -> Iterator[Finding]:
    """`the password is ...`, `secret ...`: the value must look like nothing else."""
    del start
    found = _TOLD.match(text, end)
    if found is None:
        return
    value = found["value"].rstrip(".,;:)]}*\\")
    if _is_told(value, quoted=bool(found["quote"])):
        begin = found.start("value")
        yield Finding("told-secret", begin, begin + len(value))


def _is_told(value: str, *, quoted: bool) -> bool:
    if is_placeholder(value) or is_path(value) or is_wordy(value) or "(" in value or "://" in value:
        return False
    if is_hex(value) and not quoted:
        return False
    if re.fullmatch(r"[A-Za-z_][\w.]*", value) and not is_random(value, least_chars=10):
        return False
    if not _LETTER_DIGIT.match(value):
        return False
    return is_random(value, least_chars=8) or _is_strong_word(value)


def _is_strong_word(value: str) -> bool:
    """What policies make people choose: a word, digits behind it, and a capital or a sign."""
    return (
        len(value) >= _LEAST_STRONG_CHARS
        and bool(re.search(r"[A-Za-z]{3,}\d{2,}", value))
        and bool(re.search(r"[A-Z!@#$%^&*~?=+]", value))
        and bool(re.search(r"[!@#$%^&*+=~?_.\-]", value))
    )


def look_asked(text: str, start: int, end: int) -> Iterator[Finding]:
    """A question for a password, and the answer on the next line; or a value that stands alone."""
    del start
    for shape in (_ASKED, _HERE):
        found = shape.match(text, end)
        if (
            found is not None
            and not is_placeholder(found["value"])
            and not is_path(found["value"])
            and is_random(found["value"], least_chars=10)
        ):
            yield Finding("told-secret", *found.span("value"))


def look_app_password(text: str, start: int, end: int) -> Iterator[Finding]:
    """Mail providers' app passwords: four groups of four letters."""
    del start
    found = _APP_PASSWORD.match(text, end)
    if found is not None:
        yield Finding("app-password", *found.span("value"))


def look_otp(text: str, start: int, end: int) -> Iterator[Finding]:
    """Seeds of one-time passwords: base32, often in groups of four."""
    del start
    found = _OTP.match(text, end)
    if (
        found is not None
        and not is_wordy(found["value"].replace(" ", ""))
        and any(c.isdigit() or c.isupper() for c in found["value"])
    ):
        yield Finding("otp-seed", *found.span("value"))


def look_sql(text: str, start: int, end: int) -> Iterator[Finding]:
    """`IDENTIFIED BY '...'` and `... PASSWORD '...'` in statements about users."""
    found = _SQL.match(text, end)
    if found is None or not _SQL_VERB.search(text, _line_start(text, start), start):
        return
    value = found["value"].rstrip(";,)") if not found["quote"] else found["value"]
    if (
        len(value) < 4
        or is_placeholder(value)
        or (not found["quote"] and is_wordy(value))
        or value[0] in "$:?@%{<("
    ):
        return
    yield Finding("sql-password", found.start("value"), found.start("value") + len(value))


def _line_start(text: str, at: int) -> int:
    return max(
        text.rfind("\n", max(0, at - _MOST_STATEMENT_CHARS), at) + 1, at - _MOST_STATEMENT_CHARS, 0
    )


def look_netrc(text: str, start: int, end: int) -> Iterator[Finding]:
    """`login NAME password VALUE`, as in a netrc file."""
    found = _SPACED.match(text, end)
    if found is None or not _NETRC.search(text, max(0, start - 120), start):
        return
    if not is_placeholder(found["value"]) and not re.fullmatch(r"[a-z]+\W?", found["value"]):
        yield Finding("password", *found.span("value"))


_WIFI = re.compile(
    r"(?i)[^\n]{0,40}?\b(?:key|password|passphrase|pass|pw|psk|code)(?:\s+is)?\s{0,2}[:=]?\s{1,3}"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>,]{8,63})"
)


def look_wifi(text: str, start: int, end: int) -> Iterator[Finding]:
    """The password of a wireless network, which people choose of words."""
    del start
    found = _WIFI.match(text, end)
    if found is None:
        return
    value = found["value"].rstrip(".,;:)")
    if not is_placeholder(value) and not is_wordy(value) and _LETTER_DIGIT.match(value):
        yield Finding("wifi-password", found.start("value"), found.start("value") + len(value))


RULES = (
    Rule(("wifi", "wi-fi", "wlan", "ssid"), look_wifi),
    Rule(
        (
            "password",
            "passwd",
            "passphrase",
            "passwort",
            "kennwort",
            "secret",
            "token",
            "credential",
            "access key",
            "api key",
            "pass ",
            "pwd ",
            "wachtwoord",
            "senha",
            "mot de passe",
            "parola",
            "heslo",
        ),
        look_told,
    ),
    Rule(
        ("password", "passphrase", "secret", "token", "api key", "key you", "credential"),
        look_asked,
    ),
    Rule(
        ("app password", "app-password", "app-specific password", "application password"),
        look_app_password,
    ),
    Rule(("totp", "2fa", "mfa", "otp", "authenticator"), look_otp),
    Rule(("password", "identified"), look_sql),
    Rule(("password",), look_netrc),
)
