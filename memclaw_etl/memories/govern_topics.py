"""Non-business content, sentence by sentence: small talk, private life, health, politics.

Rules and word lists (`govern_words`), no model: the same text always gets the same answer, and the
answer names the list that gave it. They are careful: a sentence counts only if it has a phrase of
a topic and no sign of work (code, files, commands, a word of business).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from memclaw_etl.masking import Finding
from memclaw_etl.memories import enrich
from memclaw_etl.memories.govern_words import (
    BUSINESS,
    HEALTH,
    NO_KIN,
    POLITICS,
    PRIVATE_LIFE,
    SMALL_TALK,
    SMALL_TALK_FILLER,
)
from memclaw_etl.memories.wording import terms

SMALL_TALK_TOPIC = "small_talk"
_TOPICS = {"private_life": PRIVATE_LIFE, "health": HEALTH, "politics": POLITICS}
TOPICS = (SMALL_TALK_TOPIC, *_TOPICS)
SMALL_TALK_WORDS, SMALL_TALK_CHARS = 12, 120
"""A longer sentence says something."""
_SUBSTANCE_TERMS = 3
"""So many words that carry a subject make a sentence that must not be lost with others."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+(?=\s|$)|(?=\n)|$)", re.DOTALL)
_PIECE = re.compile(r"\S[^\n]*")
_LABEL = re.compile(r"^(?:\[(?:success|failure|partial)\] |\(instead of: |Why: )")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NO_TEXT = re.compile(r"`|://|[{}<>=;]|\w\(|\[MASKED:")


def _compiled(phrases: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases.values())})(?!\w)", re.IGNORECASE)


_PHRASES = {topic: _compiled(phrases) for topic, phrases in _TOPICS.items()}
_SMALL_TALK = _compiled(SMALL_TALK)
_ALL_PHRASES = "|".join(
    phrase.replace(NO_KIN, "")
    for phrases in (SMALL_TALK, *_TOPICS.values())
    for phrase in phrases.values()
)
_ANY_PHRASE = rf"(?i)\b(?:{_ALL_PHRASES})\b"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text, what it is about, and whether it says something of its own."""

    start: int
    end: int
    topics: frozenset[str]
    """Those of `TOPICS`; empty when it is about work, or about nothing that we know."""
    has_substance: bool


def about(text: str, topics: frozenset[str], *, kind: str) -> tuple[tuple[Finding, ...], bool]:
    """The sentences about some topics (findings of that kind), and whether nothing else is said.

    A sentence about another topic says something else.
    """
    read = read_sentences(text)
    chosen = tuple(Finding(kind, one.start, one.end) for one in read if one.topics & topics)
    return chosen, not any(one.has_substance for one in read if not one.topics & topics)


def may_have_topics(texts: Sequence[str]) -> list[bool]:
    """A quick look at many texts, by Polars' linear regex engine.

    It knows no look-around: it finds more than `read_sentences`, and nothing less.
    """
    plain = pl.Series([_straight(text) for text in texts], dtype=pl.String)
    return plain.str.contains(_ANY_PHRASE, literal=False).to_list()


@lru_cache(maxsize=1_024)
def read_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text; none when no sentence has a topic."""
    plain = _straight(text)
    spans = list(sentences(plain))
    topics = [topics_of(plain[start:end]) for start, end in spans]
    if not any(topics):
        return ()
    return tuple(
        Sentence(start, end, some, bool(some) or _has_substance(plain[start:end]))
        for (start, end), some in zip(spans, topics, strict=True)
    )


def _straight(text: str) -> str:
    return text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _has_substance(sentence: str) -> bool:
    return len(terms(sentence)) >= _SUBSTANCE_TERMS


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text are, without the space between them and without labels."""
    for piece in _PIECE.finditer(text):
        for found in _SENTENCE.finditer(piece[0]):
            label = _LABEL.match(found[0])
            start = piece.start() + found.start() + (label.end() if label else 0)
            end = piece.start() + found.end()
            if start < end:
                yield start, end


def topics_of(sentence: str) -> frozenset[str]:
    """The topics of one sentence; none when it is about work, or about nothing that we know."""
    if _is_small_talk(sentence):
        return frozenset({SMALL_TALK_TOPIC})
    found = frozenset(topic for topic, phrases in _PHRASES.items() if phrases.search(sentence))
    return frozenset() if not found or _is_business(sentence) else found


def _is_small_talk(sentence: str) -> bool:
    """Whether a sentence is nothing but small talk, filler and perhaps a name."""
    if (
        len(sentence) > SMALL_TALK_CHARS
        or _NO_TEXT.search(sentence)
        or not _SMALL_TALK.search(sentence)
    ):
        return False
    words = _WORD.findall(_SMALL_TALK.sub(" ", sentence))
    left = [word for word in words if word.casefold() not in SMALL_TALK_FILLER]
    is_name = len(left) == 1 and left[0][0].isupper() and left[0][1:].islower()
    return len(words) <= SMALL_TALK_WORDS and (not left or is_name)


def _is_business(sentence: str) -> bool:
    if _NO_TEXT.search(sentence) or enrich.entities(sentence):
        return True
    return any(word.casefold() in BUSINESS for word in _WORD.findall(sentence))
