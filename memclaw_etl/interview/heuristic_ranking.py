"""Which statements are worth a memory, in which section, and which of them fit together.

The weights come from a linear fit on labelled real sessions, rounded, and with everything left out
that a reader could not give a reason for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.heuristic_features import features
from memclaw_etl.interview.heuristic_language import content_words
from memclaw_etl.interview.heuristic_statements import Statement
from memclaw_etl.interview.report import Section

Weights = Mapping[str, float]

_WORTH: Final[Weights] = MappingProxyType(
    {
        "bias": -1.1,
        "short": -1.1,
        "between": -0.7,
        "closing": -0.4,
        "prompt:chars": -0.7,
        "closing:chars": 0.5,
        "between:chars": 0.4,
        "chars": 0.2,
        "names": 0.6,
        "words": 0.5,
        "opens": 0.6,
        "answers": 0.4,
        "leads": 0.3,
        "late": -0.4,
        "announces": -0.4,
        "questions": -0.3,
        "changed": 0.5,
        "between:changed": 0.4,
        "closing:changed": 0.2,
        "did": 0.4,
        "chosen": 0.3,
        "prompt:chosen": 0.5,
        "explained": 0.3,
        "failed": 0.2,
        "wished": 0.2,
        "prompt:denied": 0.4,
        "closing:remains": 0.3,
        "closing:over_changes": 0.3,
        "closing:over_choices": 0.2,
    }
)
_SECTIONS: Final[Mapping[Section, Weights]] = MappingProxyType(
    {
        Section.WORKED_ON: {"bias": -0.3, "opens": 1.6, "prompt:tasked": 1.4, "prompt:asked": 0.5},
        Section.DECISIONS: {
            "bias": 0.6,
            "opens": -0.5,
            "answers": 0.6,
            "chosen": 0.6,
            "closing:chosen": 0.2,
            "over_choices": 0.6,
            "prompt:chosen": 0.2,
            "prompt:tasked": -0.4,
            "over_causes": -0.3,
            "announces": -0.3,
            "remains": -0.3,
        },
        Section.OUTCOMES: {
            "leads": 0.4,
            "closing:chars": 0.4,
            "changed": 0.5,
            "between:changed": 0.3,
            "did": 0.3,
            "now": 0.3,
            "closing": 0.2,
            "explained": -0.4,
            "ought": -0.3,
            "late": -0.4,
            "prompt:wished": -0.4,
            "opens": -0.3,
            "prompt": -0.3,
        },
        Section.BLOCKERS: {
            "bias": -0.6,
            "remains": 0.9,
            "between:remains": 0.5,
            "over_tasks": 0.7,
            "failed": 0.2,
            "between:failed": 0.3,
            "leads": -0.3,
            "list": -0.2,
        },
        Section.OPEN_QUESTIONS: {
            "bias": 0.4,
            "between": 0.6,
            "between:explained": 0.6,
            "explained": 0.4,
            "chars": 0.4,
            "late": 0.4,
            "over_causes": 0.5,
            "announces": 0.5,
            "prompt": -0.5,
            "changed": -0.4,
            "over_changes": -0.3,
            "remains": -0.3,
            "failed": -0.2,
        },
        Section.PREFERENCES_LEARNED: {
            "bias": -0.8,
            "prompt": 0.5,
            "prompt:wished": 0.8,
            "prompt:denied": 0.2,
            "prompt:tasked": -0.4,
            "answers": -0.4,
            "opens": -0.5,
            "closing": -0.8,
            "between": -0.8,
        },
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a chunk its report may be, and how little two statements may share."""

    per_10k_chars: float = 13.5
    copied_share: float = 0.28
    redundancy: float = 2.5
    """What a full repeat of earlier statements costs a statement, in units of worth."""
    echo: float = 0.6
    """From this share of common words on, a statement counts as said by another one."""
    echo_events: int = 3
    """Most events that a statement gets as further evidence from those that repeat it."""
    least_worth: float = -0.9


@dataclass(frozen=True, slots=True)
class Chosen:
    """A statement that made it, with its section and all events that state it."""

    statement: Statement
    section: Section
    events: tuple[MaskedEvent, ...]


def worth(statement: Statement) -> float:
    """How likely a teammate misses the statement weeks later, as a log-odds."""
    return _sum(_WORTH, features(statement))


def section_of(statement: Statement) -> Section:
    """The section that the statement reads most like."""
    seen = features(statement)
    return max(_SECTIONS, key=lambda section: _sum(_SECTIONS[section], seen))


def choose(
    statements: Sequence[Statement], *, source_chars: int, limits: Limits | None = None
) -> list[Chosen]:
    """The statements of a report on `source_chars` characters of messages, in order.

    Greedy: the worthiest first, less for what repeats words of those already taken, until the
    number or the characters are spent. What a taken statement repeats becomes its evidence.
    """
    limits = limits or Limits()
    left = [_Rated(s, worth(s), content_words(s.text)) for s in statements]
    count = max(1, round(limits.per_10k_chars * source_chars / 10_000))
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


SMALL_CHUNK_CHARS: Final = 300
"""A chunk may always have one statement."""


@dataclass(slots=True, eq=False)
class _Rated:
    statement: Statement
    worth: float
    words: frozenset[str]
    repeats: float = 0.0


def _stated_by(
    taken: _Rated, rest: Sequence[_Rated], limits: Limits
) -> tuple[MaskedEvent, ...]:
    """The events of a statement and of those that say the same in other places."""
    events = list(taken.statement.events)
    most = len(events) + limits.echo_events
    echoes = [(_contained(r.words, taken.words), r) for r in rest]
    for share, rated in sorted(echoes, key=lambda pair: -pair[0]):
        if share < limits.echo or len(events) >= most:
            break
        events += [e for e in rated.statement.events if e not in events]
    return tuple(events[:most])


def _contained(words: frozenset[str], other: frozenset[str]) -> float:
    return len(words & other) / len(words) if words else 1.0


def _sum(weights: Weights, seen: Mapping[str, float]) -> float:
    return sum(weight * seen.get(name, 0.0) for name, weight in weights.items())
