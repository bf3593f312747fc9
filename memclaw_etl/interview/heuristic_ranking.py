"""Which statements are worth a memory, in which section, and which of them fit together.

Both are weighted sums of features (`heuristic_weights`); the choice is greedy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.heuristic_features import features
from memclaw_etl.interview.heuristic_language import content_words
from memclaw_etl.interview.heuristic_statements import Statement
from memclaw_etl.interview.heuristic_weights import SECTIONS, WORTH, Weights
from memclaw_etl.interview.report import Section


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a chunk its report may be, and how little two statements may share."""

    base_statements: float = 3.0
    per_10k_chars: float = 12.5
    """Most statements: the base and this many for each 10,000 characters of messages."""
    base_chars: float = 600.0
    copied_share: float = 0.24
    """Most characters: the base and this share of the messages' characters."""
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
    left = [_Rated(number, s, worth(s)) for number, s in enumerate(statements)]
    taken = _worthiest(left, source_chars, limits)
    rest = [rated for rated in left if rated not in taken]
    taken.sort(key=lambda rated: rated.number)
    return [
        Chosen(r.statement, section_of(r.statement), _stated_by(r, rest, limits)) for r in taken
    ]


@dataclass(slots=True, eq=False)
class _Rated:
    """A statement in the running; `repeats` is the most that it shares with one that was taken."""

    number: int
    statement: Statement
    worth: float
    repeats: float = 0.0
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.words = content_words(self.statement.text)

    def gain(self, limits: Limits) -> float:
        return self.worth - limits.redundancy * self.repeats


def _worthiest(statements: Sequence[_Rated], source_chars: int, limits: Limits) -> list[_Rated]:
    most = round(limits.base_statements + limits.per_10k_chars * source_chars / 10_000)
    room = limits.base_chars + limits.copied_share * source_chars
    left, taken = list(statements), list[_Rated]()
    while left and len(taken) < most:
        best = max(left, key=lambda rated: rated.gain(limits))
        left.remove(best)
        if taken and best.gain(limits) < limits.least_worth:
            break
        if len(best.statement.text) > room:
            continue
        room -= len(best.statement.text)
        taken.append(best)
        for rated in left:
            rated.repeats = max(rated.repeats, _contained(rated.words, best.words))
    return taken


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
