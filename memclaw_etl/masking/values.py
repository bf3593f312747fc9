"""Does a value look like a credential, or like a placeholder, a reference, code, or a word?"""

import math
import re
from collections import Counter
from itertools import pairwise

_PLACEHOLDER = re.compile(
    r"""(?ix)
    ^(?:
        [x*.\-_#•?=/\\0]+                                  # xxxx ****
      | (.)\1{5,}                                          # one character over and over
      | [<\[{(%].*[>\]})%]                                 # <token>, [REDACTED], {pw}, %TOKEN%
      | (?:none|null|nil|true|false|undefined|empty|string|str|text|bytes|any|unknown|n/a)[?;,)]*
      | (?:todo|tbd|fixme|secret|password|passwd|token|key|api_?key|foo|bar|baz|foobar|pass|pw|pwd)
      | (?:x{3,}|\*{3,}|\.{3}|…)[\w.*…-]{0,20}
      | [\w.-]{0,20}(?:x{4,}|\*{3,}|\.{3}|…)
    )$
    | \[masked: | redacted | \bmasked\b | placeholder | change[-_ ]?(?:me|it|this)\b
    | \b(?:your|my|the|some|enter|insert|replace|put|paste|add)[-_ ]
      (?:\w{1,20}[-_ ]){0,3}(?:token|key|secret|password|pass|id|here|value|credential)s?\b
    | _here$ | \bhere$ | example(?:key|token|secret)?$ | ^examples?\b | ^dummy | ^sample | ^fake[-_]
    | \$\{ | \$\( | \{\{ | \}\} | <%= | %\(\w+\) | ^\$[\w{(] | ^%[sdv]$ | ^\\\(
    | process\.env | os\.(?:environ|getenv) | getenv | secrets\. | \benv\. | ^import\b | ^vault: |^op://
    | ^(?:https?|s3|file|postgres\w*|mysql)://[^\s:@]*$
    """
)
_CALL = re.compile(r"^[\w.$:\[\]'\"!&*?-]{0,80}\(")
_TYPE = re.compile(r"^[A-Za-z_][\w.]*\[[\w., |\[\]]*\](?:=.*)?$")
_PATTERN = re.compile(r"\[\^?[a-z]-[a-z]|\\[dws][+*{]|\(\?[:=!<P]")
_TIME = re.compile(r"^\d{4}-\d\d-\d\d(?:[T ]|$)")
_IDENTIFIER = re.compile(
    r"^[*&!]?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*[;?!\])}]*$"
)
_WORDS = re.compile(r"^[A-Za-z]+(?:[-_. /:][A-Za-z]+)*[.!?:;,]?$")
_HEX = re.compile(r"^[0-9a-fA-F]+$")
_UUID = re.compile(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_PATH = re.compile(r"^(?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.@ -]*(?:[/\\][\w.@ -]*)*$")
_STEPS = re.compile(r"^[\w.()\[\]:-]+(?:/[\w.()\[\]:-]+)+$")
_FILE_NAME = re.compile(
    r"(?i)\.(?:py|js|ts|tsx|go|rs|java|md|json|ya?ml|toml|txt|pem|env|sh|html?|cs|rb|php|c|h|lock|cfg)$"
)
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_CAMEL_TAIL = re.compile(r"^[A-Za-z]+\d{0,3}$")


_SAMPLE_CHARS = 256


def is_placeholder(value: str) -> bool:
    """A stand-in, a reference to where the value is kept, or our own mask."""
    sample = value[:_SAMPLE_CHARS].strip()
    return "EXAMPLE" in sample or "..." in sample or bool(_PLACEHOLDER.search(sample))


def is_code(value: str) -> bool:
    """A call, or a name of a variable or attribute."""
    return is_expression(value) or is_name(value)


def is_expression(value: str) -> bool:
    """A call, a type with parameters, or a regular expression."""
    return bool(_CALL.match(value) or _TYPE.match(value) or _PATTERN.search(value))


def is_name(value: str) -> bool:
    """An identifier, dotted or not, that shows no sign of randomness."""
    return bool(_IDENTIFIER.match(value)) and not is_random(value, least_chars=8)


def is_wordy(value: str) -> bool:
    """Only words: letters with single separators between them."""
    return bool(_WORDS.match(value)) and not _scrambled(value)


def is_hex(value: str) -> bool:
    """Nothing but hexadecimal digits."""
    return bool(_HEX.match(value))


def is_uuid(value: str) -> bool:
    """The 8-4-4-4-12 form."""
    return bool(_UUID.match(value))


def is_path(value: str) -> bool:
    """A path in a file system, or the name of a source file."""
    if _PATH.match(value) or _STEPS.match(value):
        return not any(is_random(step, least_chars=8) for step in re.split(r"[/\\]", value))
    return bool(_FILE_NAME.search(value))


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_random(value: str, *, least_chars: int) -> bool:
    """Enough characters, of mixed classes, in no order that words or numbers have.

    Judged by the first 256 characters.
    """
    value = value[:_SAMPLE_CHARS]
    if len(value) < least_chars or entropy(value) < _least_entropy(len(value)):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    if not letters or _TIME.match(value):
        return False
    if not digits:
        return _scrambled(value)
    if _CAMEL_TAIL.match(value):
        return _scrambled(value)
    if _IDENTIFIER.match(value) and _digit_runs(value) < (3 if "." in value else 2):
        return digits * 4 >= len(value) or _scrambled(value)
    return _switches(value) >= 2 or _scrambled(value)


def _digit_runs(value: str) -> int:
    return len(re.findall(r"\d+", value))


def is_varied(value: str) -> bool:
    """Lower case, upper case and digits, two of each at least, and little else."""
    return (
        sum(map(str.islower, value)) >= 2
        and sum(map(str.isupper, value)) >= 2
        and sum(map(str.isdigit, value)) >= 2
        and sum(not char.isalnum() for char in value) * 5 <= len(value)
    )


def _least_entropy(length: int) -> float:
    return 2.2 if length < 12 else 2.7 if length < 24 else 3.0


def _switches(value: str) -> int:
    """How often a digit stands beside a letter."""
    return sum(
        a.isdigit() != b.isdigit() and (a.isalnum() and b.isalnum()) for a, b in pairwise(value)
    )


def _scrambled(value: str) -> bool:
    """Letters whose case changes too often, or with too few vowels, for words in any casing."""
    letters = [char for char in value if char.isalpha()]
    if len(letters) < 12:
        return False
    if _CONSONANTS.search(value):
        return True
    pieces = _PIECE.findall(value)
    if any(map(str.islower, letters)) and any(map(str.isupper, letters)):
        return len(letters) / len(pieces) < 3.1
    vowels = sum(char in "aeiouyAEIOUY" for char in letters)
    return len(letters) >= 20 and vowels / len(letters) < 0.24 and "_" not in value
