"""From turns to candidate statements: what each message says, in pieces that can stand alone."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memclaw_etl.interview import heuristic_language as language
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.heuristic_passages import (
    HEADING_CHARS,
    STATEMENT_CHARS,
    Passage,
    Shape,
    cut,
    packed,
    plain,
    read_passages,
    sentences,
)

_BARE_HEADING = re.compile(
    r"^(?:\W|\d)*(?:(?:the|key|main|final|code|all|my|your|detailed|overall|quick|review|change|"
    r"solution|implementation|findings?)\s+)*(?:summary|changes?(?: made)?|overview|analysis|result"
    r"s?|details?|benefits|notes?|findings|what (?:changed|i did|happened)|complete[d]?|done|"
    r"steps?|"
    r"example|usage|output|files?(?: changed| modified)?|(?:the )?(?:fix|problem|solution|"
    r"issue))\W*$",
    re.IGNORECASE,
)
_PASTED = re.compile(
    r"^\s*(?:[➜$>#%─-╿⠀-⣿✔✗✘●{<]|'/\S.*'$|\[\w+\]|at \S+ ?\(|\+|\d+\s{2,}|Error:)"
    # a line of code: it opens or closes something, or ends as no sentence does
    r"|^\s*[\])}]+[;,)]*\s*$|[{;]\s*$|=>|^\s*[\w\"'.]+\s*[:=]\s*.*[,{\[(]\s*$"
)
_MARKER = re.compile(r"^\s*[-*•]\s+")
ANSWER_CHARS: Final = 160
OFFER_CHARS: Final = 170
SHORTEST_WORDS: Final = 3
LEAD_WORDS: Final = 8


class Place(StrEnum):
    """Where a message stands in its turn (a prompt and the replies to it)."""

    PROMPT = "prompt"
    BETWEEN = "between"
    CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class Statement:
    """A candidate: one text, the events that it was taken from, and how it stood there."""

    text: str
    events: tuple[MaskedEvent, ...]
    place: Place
    shape: Shape
    heading: str
    rank: int
    """Position among the statements of its message."""
    answers: bool = False
    """A prompt together with the offer that it answers."""
    opens: bool = False
    """The first prompt of its session."""


def read_statements(
    events: Sequence[MaskedEvent], context: Sequence[MaskedEvent]
) -> list[Statement]:
    """The candidates of a chunk, in order; `context` only tells how the first turn began."""
    found: list[Statement] = []
    before = context[-1] if context else None
    for event, after in zip(events, [*events[1:], None], strict=True):
        if event.role == "user":
            found += _from_prompt(event, before, citable=bool(before and before in events))
        else:
            place = Place.CLOSING if after is None or after.role == "user" else Place.BETWEEN
            found += _from_reply(event, place)
        before = event
    return found


def _from_prompt(
    event: MaskedEvent, before: MaskedEvent | None, *, citable: bool
) -> Iterator[Statement]:
    lines = _own_words(event.content)
    text = plain(" ".join(lines))
    if not text and not language.INJECTED.search(event.content):
        text = plain(event.content)
    offer = _offer(before) if before is not None and citable else ""
    answers = bool(offer) and 0 < len(text) <= ANSWER_CHARS
    if not answers and (language.ERRAND.match(text) or len(text.split()) < SHORTEST_WORDS):
        return
    opens = before is None
    if answers and before is not None:
        said = f"{cut(offer, OFFER_CHARS)} User: {cut(text, STATEMENT_CHARS - OFFER_CHARS - 8)}"
        yield Statement(said, (event, before), Place.PROMPT, Shape.PROSE, "", 0, answers=True)
        return
    pieces = [text] if len(text) <= STATEMENT_CHARS else list(sentences("\n".join(lines)))
    for rank, piece in enumerate(packed(pieces, joint=" ", room=STATEMENT_CHARS)):
        yield Statement(piece, (event,), Place.PROMPT, Shape.PROSE, "", rank, opens=opens)


def _own_words(content: str) -> list[str]:
    """The lines that a person wrote.

    No pasted code or console output, no line twice, none that talks to whoever reads along.
    """
    lines = dict.fromkeys(content.split("\n"))
    own = (_MARKER.sub("", line) for line in lines if not _PASTED.search(line))
    return [line for line in own if not language.INJECTED.search(line)]


def _offer(reply: MaskedEvent) -> str:
    """What a reply offered at its end, or an empty text."""
    if reply.role == "user":
        return ""
    tail = [s for p in read_passages(reply.content)[-3:] for s in p.pieces][-4:]
    at = next((i for i, s in enumerate(tail) if s.endswith("?") or language.OFFER.search(s)), None)
    if at is None:
        return ""
    return " ".join(tail[max(0, at - 1) : at + 1])


def _from_reply(event: MaskedEvent, place: Place) -> Iterator[Statement]:
    rank = 0
    for passage in read_passages(event.content):
        for text in _texts(passage):
            yield Statement(text, (event,), place, passage.shape, passage.heading, rank)
            rank += 1


def _texts(passage: Passage) -> Iterator[str]:
    label = _label(passage)
    room = STATEMENT_CHARS - len(label)
    if passage.shape is Shape.LIST:
        items = [p.rstrip(" .;,") for p in passage.pieces if not language.INJECTED.search(p)]
        texts = packed(items, joint="; ", room=room)
    else:
        said = [s for s in map(language.without_praise, passage.pieces) if _tells(s)]
        texts = packed(said, joint=" ", room=room)
    return (f"{label}{text}" for text in texts)


def _tells(sentence: str) -> bool:
    """The sentence says something that outlives its turn."""
    if language.PLAN.match(sentence) or len(sentence.split()) < SHORTEST_WORDS:
        return False
    if language.SIGN_OFF.match(sentence) or language.INJECTED.search(sentence):
        return False
    if sentence.endswith(":") and len(sentence.split()) < LEAD_WORDS:
        return False  # it only leads to a block of code that is not there
    return not (sentence.endswith("?") and language.OFFER.search(sentence))


def _label(passage: Passage) -> str:
    """What stands over a passage, as the opening of its statements."""
    if passage.lead and not language.PLAN.match(passage.lead):
        lead = passage.lead
    else:
        lead = "" if _BARE_HEADING.match(passage.heading) else passage.heading
    lead = language.without_praise(lead).strip(" :")
    return f"{cut(lead, HEADING_CHARS)}: " if lead else ""
