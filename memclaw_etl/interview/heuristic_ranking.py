"""Which statements are worth a memory, in which section, and which of them fit together.

Both are weighted sums of features (`heuristic_weights`); the choice is greedy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.heuristic_features import features
from memclaw_etl.interview.heuristic_language import content_words
from memclaw_etl.interview.heuristic_statements import Statement
from memclaw_etl.interview.heuristic_weights import SECTIONS, WORTH, Weights
from memclaw_etl.interview.report import Section

SMALL_CHUNK_STATEMENTS: Final = 2
"""A chunk may always have two statements: what was asked and what came of it."""
SMALL_CHUNK_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a chunk its report may be, and how little two statements may share."""

    per_10k_chars: float = 14.5
    copied_share: float = 0.29
    redundancy: float = 1.5
    """What a full repeat of earlier statements costs a statement, in units of worth."""
    echo: float = 0.6
    """From this share of common words on, a statement counts as said by another one."""
    echo_words: int = 4
    """A statement of fewer words echoes nothing."""
    echo_events: int = 3
    """Most events that a statement gets as further evidence from those that repeat it."""
    least_worth: float = -1.5


@dataclass(frozen=True, slots=True)
class Chosen:
    """A statement that made it, with its section and all events that state it."""

    statement: Statement
    section: Section
    events: tuple[MaskedEvent, ...]


def worth(statement: Statement) -> float:
    """How likely a teammate misses the statement weeks later, as a log-odds."""
    return _sum(WORTH, features(statement))


def section_of(statement: Statement) -> Section:
    """The section that the statement reads most like."""
    seen = features(statement)
    return max(SECTIONS, key=lambda section: _sum(SECTIONS[section], seen))


def choose(
    statements: Sequence[Statement], *, source_chars: int, limits: Limits | None = None
) -> list[Chosen]:
    """The statements of a report on `source_chars` characters of messages, in order.

    Greedy: the worthiest first, less for what repeats words of those already taken, until the
    number or the characters are spent. What a taken statement repeats becomes its evidence.
    """
    limits = limits or Limits()
    left = [_Rated(s, worth(s), content_words(s.text)) for s in statements]
    count = max(SMALL_CHUNK_STATEMENTS, round(limits.per_10k_chars * source_chars / 10_000))
    room = max(limits.copied_share * source_chars, float(SMALL_CHUNK_CHARS))
    taken: list[_Rated] = []
    while left and len(taken) < count:
        best = max(left, key=lambda r: r.worth - limits.redundancy * r.repeats)
        left.remove(best)
        if best.worth - limits.redundancy * best.repeats < limits.least_worth and taken:
            break
        if len(best.statement.text) > room:
            continue
        room -= len(best.statement.text)
        taken.append(best)
        for rated in left:
            rated.repeats = max(rated.repeats, _contained(rated.words, best.words))
    order = {id(s): number for number, s in enumerate(statements)}
    taken.sort(key=lambda rated: order[id(rated.statement)])
    return [
        Chosen(r.statement, section_of(r.statement), _stated_by(r, left, limits)) for r in taken
    ]


@dataclass(slots=True, eq=False)
class _Rated:
    statement: Statement
    worth: float
    words: frozenset[str]
    repeats: float = 0.0


def _stated_by(taken: _Rated, rest: Sequence[_Rated], limits: Limits) -> tuple[MaskedEvent, ...]:
    """The events of a statement and of those that say the same in other places."""
    events = list(taken.statement.events)
    most = len(events) + limits.echo_events
    echoes = [
        (_contained(r.words, taken.words), r) for r in rest if len(r.words) >= limits.echo_words
    ]
    for share, rated in sorted(echoes, key=lambda pair: -pair[0]):
        if share < limits.echo or len(events) >= most:
            break
        events += [e for e in rated.statement.events if e not in events]
    return tuple(events[:most])


def _contained(words: frozenset[str], other: frozenset[str]) -> float:
    return len(words & other) / len(words) if words else 1.0


def _sum(weights: Weights, seen: Mapping[str, float]) -> float:
    return sum(weight * seen.get(name, 0.0) for name, weight in weights.items())
