r"""`<private>` blocks: what people marked as not for us is removed before anything else looks.

A tag is `<private>` in any case, with white space and attributes (a `>` inside a quoted attribute
does not end it), also as JSON writes it (`<\/private>`, `\u003cprivate\u003e`). Everything from an
opening tag to its matching close goes, nesting counted; an unclosed one reaches to the end of the
message. A stray close and a self-closing tag are removed alone. Code fences give no shelter.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memclaw_etl.masking.anchors import folded

_ATTRIBUTES = r"(?:\"[^\"<]{0,500}\"|'[^'<]{0,500}'|[^<>\"'\\]|\\(?!u003[ce])){0,500}?"
_TAG = re.compile(
    r"(?:<|\\+u003c)\s{0,20}(?P<close>\\{0,8}/)?\s{0,20}private(?=[\s/>\\])"
    rf"(?P<rest>{_ATTRIBUTES})(?:>|\\+u003e)",
    re.IGNORECASE,
)
_BEFORE_NAME = re.compile(r"(?:<|\\+u003c)\s{0,20}(?:\\{0,8}/)?\s{0,20}$", re.IGNORECASE)
_MOST_BEFORE_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class Stripped:
    """A text without its private parts."""

    text: str
    spans: int
    """How many stretches were removed."""
    all_private: bool
    """Something was removed and nothing but white space is left."""


def strip_private(text: str) -> Stripped:
    """Remove private blocks of one message.

    Args:
        text: The whole message, before any cut.
    """
    removed, _ = private_spans(text)
    kept = without(text, removed)
    return Stripped(kept, len(removed), bool(removed) and not kept.strip())


def strip_private_blocks(blocks: Sequence[str]) -> tuple[str, ...]:
    """Remove private parts of a message that comes in blocks; an open tag reaches over the rest."""
    depth = 0
    kept: list[str] = []
    for block in blocks:
        removed, depth = private_spans(block, depth=depth)
        kept.append(without(block, removed))
    return tuple(kept)


def private_spans(text: str, *, depth: int = 0) -> tuple[list[tuple[int, int]], int]:
    """Find what to remove.

    Args:
        text: One block of a message.
        depth: How many tags are still open from the blocks before.

    Returns:
        Sorted spans (start, end) in characters, and how many tags are open at the end.
    """
    spans: list[tuple[int, int]] = []
    opened_at = 0
    for start, end, step in _tags(text):
        if depth == 0:
            opened_at = start
        if depth + step <= 0:
            _add(spans, opened_at, end)
        depth = max(0, depth + step)
    if depth and len(text) > opened_at:
        _add(spans, opened_at, len(text))
    return spans, depth


def _add(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span behind the others; one that begins where the last ended continues it."""
    if spans and spans[-1][1] == start:
        start = spans.pop()[0]
    spans.append((start, end))


def _tags(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, step): step 1 opens, -1 closes, 0 is self-closing."""
    plain = folded(text)
    done = 0
    at = plain.find(b"private")
    while at >= 0:
        tag = _tag_around(text, at, done)
        if tag is not None:
            done = tag.end()
            yield *tag.span(), _step(tag)
        at = plain.find(b"private", at + 1)


def _tag_around(text: str, at: int, done: int) -> re.Match[str] | None:
    if at < done:
        return None
    head = _BEFORE_NAME.search(text, max(done, at - _MOST_BEFORE_NAME_CHARS), at)
    return _TAG.match(text, head.start()) if head else None


def _step(tag: re.Match[str]) -> int:
    if tag["close"]:
        return -1
    return 0 if tag["rest"].rstrip().endswith("/") else 1


def without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Cut sorted, disjoint spans out of a text."""
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    parts.append(text[at:])
    return "".join(parts)
