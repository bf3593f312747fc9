"""Whether a text repeats another one: as a whole, or as a part of what it says. Pure."""

import re
from collections.abc import Iterator

from memclaw_etl.memories.items import folded, text_hash

LEAST_WORDS = 4
"""A shorter text inside of a longer one is no quotation: "we use Redis" may be said by anyone."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_COLON = re.compile(r":\s+")
_MARK = re.compile(r"^\[(?:success|failure|partial)\] ")
_EDGES = ".,;:!?\"'()[] "


def quotes(text: str, wording: str) -> bool:
    """Whether a text is this wording, or holds it as a run of whole words; case does not matter."""
    said, wanted = folded(text), folded(wording)
    if said == wanted:
        return True
    core = core_of(wanted)
    if len(core.split()) < LEAST_WORDS:
        return False
    return re.search(rf"(?<!\w){re.escape(core)}(?!\w)", said) is not None


def core_of(text: str) -> str:
    """A text without what stands around its words: an outcome's mark, quotes, its full stop."""
    return _MARK.sub("", text.strip()).strip(_EDGES)


def names_of(text: str) -> set[str]:
    """Hashes (`text_hash`) by which a text is known again where nobody may keep it."""
    return {text_hash(text), text_hash(core_of(text))}


def pieces_of(text: str) -> Iterator[str]:
    """The names of a text, and of its parts that are no short phrases.

    Parts are lines, sentences, and what stands behind a colon.
    """
    yield from names_of(text)
    lines = text.splitlines()
    said = [*lines, *(part for line in lines for part in _SENTENCE_END.split(line))]
    behind = [part[colon.end() :] for part in said for colon in _COLON.finditer(part)]
    for part in dict.fromkeys([*said, *behind]):
        if len(part.split()) >= LEAST_WORDS:
            yield from names_of(part)
