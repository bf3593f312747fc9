"""Patterns that users give, in linear time, whatever the pattern and the text."""

import re
from collections.abc import Sequence

import polars as pl

from memclaw_etl.masking import Finding

_OPEN, _CLOSE = "\ue000", "\ue001"
_FOUND = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_FREE = {ord(_OPEN): "\N{REPLACEMENT CHARACTER}", ord(_CLOSE): "\N{REPLACEMENT CHARACTER}"}
"""Characters that no language uses; one that stands in a text is looked at as another such."""


def find_pattern(pattern: str, texts: Sequence[str], *, kind: str) -> list[list[Finding]]:
    """Where a pattern matches in each text: leftmost, disjoint, none of them empty.

    Polars hands the pattern to Rust's `regex`, which runs in linear time; it gives no offsets, so
    that every match is put between two marks, and those are read.

    Args:
        pattern: a pattern that the settings have checked.
        texts: what is looked at.
        kind: what the findings are called.
    """
    plain = pl.Series([text.translate(_FREE) for text in texts], dtype=pl.String)
    marked = plain.str.replace_all(pattern, f"{_OPEN}${{0}}{_CLOSE}", literal=False)
    return [_findings(text, kind) for text in marked]


def _findings(marked: str, kind: str) -> list[Finding]:
    found = []
    for number, match in enumerate(_FOUND.finditer(marked)):
        start = match.start() - 2 * number
        if match[1]:
            found.append(Finding(kind, start, start + len(match[1])))
    return found
