"""Whether a text repeats another one: as a whole, or as a part of what it says. Pure."""

import re
from collections.abc import Iterator

from memclaw_etl.memories.items import folded, text_hash

LEAST_WORDS = 4
"""A shorter text inside of a longer one is no quotation: "we use Redis" may be said by anyone."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_EDGES = ".,;:!?\"'()[] "


def quotes(text: str, wording: str) -> bool:
    """Whether a text is this wording, or holds it as a run of whole words; case does not matter."""
    said, wanted = folded(text), folded(wording)
    if said == wanted:
        return True
    core = wanted.strip(_EDGES)
    if len(core.split()) < LEAST_WORDS:
        return False
    return re.search(rf"(?<!\w){re.escape(core)}(?!\w)", said) is not None


def pieces_of(text: str) -> Iterator[str]:
    """Hashes (`text_hash`) of a text, of its lines and of its sentences.

    By them a text is known again where nobody may keep it.
    """
    yield text_hash(text)
    lines = text.splitlines()
    parts = [*lines, *(part for line in lines for part in _SENTENCE_END.split(line))]
    for part in dict.fromkeys(parts):
        if part.strip():
            yield text_hash(part)
