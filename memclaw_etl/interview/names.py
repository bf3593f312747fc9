"""Figures and names in a text: what a statement must share with what it rests on."""

import re
from typing import Final

_FIGURE: Final = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NAME: Final = re.compile(
    r"`([^`\n]{2,80})`"  # what is marked as code
    r"|\b([A-Za-z]\w*(?:[./_:-]\w+)+\b(?:\(\))?)"  # paths, dotted, snake_case, kebab-case
    r"|\b([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}\d*)\b"  # camelCase, CamelCase, ACRONYM
)
_PLAIN_WORDS: Final = re.compile(r"[a-z]+(?:[-/][a-z]+)+")
"""Hyphenated and slashed words of plain language are no names: read-only, and/or."""


def plain(text: str) -> str:
    """A text for comparisons: lower case, single spaces, no code marks."""
    return " ".join(text.replace("`", "").casefold().split())


def figures_in(text: str) -> frozenset[str]:
    """Numbers of a text, without separators of thousands."""
    found = _FIGURE.findall(text)
    return frozenset(_THOUSANDS.sub("", figure).rstrip(".,:") for figure in found)


def names_in(text: str) -> set[str]:
    """Identifiers, paths, code and acronyms of a text, in lower case."""
    found = {next(filter(None, groups)) for groups in _NAME.findall(text)}
    return {plain(name) for name in found if not _PLAIN_WORDS.fullmatch(name)}
