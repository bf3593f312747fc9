"""What a rule is: literals that announce it, and a look at the text around them.

A text is searched once for the literals (anchors) of all rules; only where one stands does its rule
look. A look must be bounded: it may read a fixed stretch around the anchor, or forward over what it
then reports, so that masking stays linear in the length of the text.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memclaw_etl.masking.findings import Finding

Look = Callable[[str, int, int], Iterable[Finding]]
"""(text, start of the anchor, end of the anchor) -> findings in that text."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A look, and the literals that call it."""

    anchors: tuple[str, ...]
    """ASCII, lower case, at least two characters; they are found in any case."""
    look: Look
