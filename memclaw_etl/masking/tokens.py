"""Tokens that show by their own shape who issued them, from the issuers' public documentation.

Each shape is a fixed head and what follows it. Heads are looked up in any case, shapes are matched
as written; the character before a head must not continue a word.
"""

import re
from collections.abc import Iterator
from functools import cache

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.token_shape import Shape
from memclaw_etl.masking.token_shapes_clouds import CLOUDS, MODELS
from memclaw_etl.masking.token_shapes_services import FORGES, SERVICES
from memclaw_etl.masking.values import entropy, is_placeholder, is_random

_SCHEME = re.compile(r"https?://[\w.\-]{0,70}$")
_ESCAPED_LETTER = re.compile(r"\\[nrt]$|%[0-9A-Fa-f]{2}$")
_WRAPPED = re.compile(r"\\?\r?\n[ \t>|+#*]{0,8}(?P<rest>[A-Za-z0-9_\-.]{20,600})(?=\s|$)")


@cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    return re.compile(shape.pattern)


def _rule(shape: Shape) -> Rule:
    def look(text: str, start: int, end: int) -> Iterator[Finding]:
        del end
        begin = start - shape.back
        if begin < 0 or (_continues_word(text, begin) and not shape.anywhere):
            return
        found = _compiled(shape).match(text, begin)
        if found is None or not _is_secret(found[0], shape):
            return
        yield Finding(shape.kind, begin - _scheme_chars(text, begin, shape), found.end())
        rest = _WRAPPED.match(text, found.end())
        if rest is not None and len(found[0]) >= 24 and is_random(rest["rest"], least_chars=20):
            yield Finding(shape.kind, *rest.span("rest"))

    return Rule(shape.heads, look)


def _scheme_chars(text: str, start: int, shape: Shape) -> int:
    """How many characters of a webhook's URL stand in front of what we matched."""
    if shape.kind != "hook-url":
        return 0
    scheme = _SCHEME.search(text, max(0, start - 80), start)
    return start - scheme.start() if scheme else 0


def _continues_word(text: str, start: int) -> bool:
    if start == 0:
        return False
    before = text[start - 1]
    if not before.isascii() or not before.isalnum():
        return False
    return _ESCAPED_LETTER.search(text, max(0, start - 3), start) is None


def _is_secret(token: str, shape: Shape) -> bool:
    tail = token[len(shape.heads[0]) :] or token
    return (
        not is_placeholder(tail) and entropy(tail) >= shape.least_entropy and "EXAMPLE" not in token
    )


RULES = tuple(_rule(shape) for shape in (*CLOUDS, *MODELS, *FORGES, *SERVICES))
