"""How statements of one scope stand to each other: the same, one replaces the other, or neither.

`relation` is pure and symmetric, reads words and no vectors, and names the rule that decided: any
order, any batching and any machine gives the same answer. Which of two statements replaces the
other is said by event time (see `resolve`).

- Another identifier (ticket, file, hash, release 17) keeps statements apart: no series collapses.
- The same words about a state (a decision, preference, fact or task) with another figure, date or
  value replace each other. Episodes and outcomes happen, and happen again: they stay side by side.
- The same words denied contradict each other.
- The same words, give or take synonyms and filler, are one statement. More words are a narrower
  statement, and another one.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from memclaw_etl.lake.ledger.identifiers import relation_id
from memclaw_etl.memories.statements import Statement, Words, statement_of

RELATION_VERSION = "1"
"""Raise it when any two texts may get another relation; `rebuild` then relates all anew."""
LEAST_OVERLAP = 0.3
"""Statements whose words overlap less (Jaccard) are not related: what `marks` relies on."""
CHANGED_OVERLAP = 0.6
_ALIKE_CHARS = 5
_ENDING_CHARS = 3
_STATES = frozenset({"decision", "preference", "fact", "task", "rule", "insight", "plan"})
_VALUE_WORDS = 2


class Kind(StrEnum):
    """How two statements stand to each other."""

    SAME = "same"
    UPDATE = "update"
    INVALIDATE = "invalidate"


@dataclass(frozen=True, slots=True)
class Relation:
    """A kind, and the rule that found it."""

    kind: Kind
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """A text with what it can be related within."""

    scope: str
    memory_type: str
    content: str


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """Two related groups, smaller key first."""

    left: str
    right: str
    kind: str
    reason: str

    @property
    def edge_id(self) -> str:
        """Names the pair in lists and decisions; the same for the same two texts for ever."""
        return relation_id(self.left, self.right)


def relation(left: Said, right: Said) -> Relation | None:
    """Relate two texts; None when both stand on their own."""
    if (left.scope, left.memory_type) != (right.scope, right.memory_type):
        return None
    one, other = statement_of(left.content), statement_of(right.content)
    if not (one.is_comparable and other.is_comparable) or one.identifiers != other.identifiers:
        return None
    if _overlap(one.words, other.words) < LEAST_OVERLAP:
        return None
    is_state = left.memory_type in _STATES
    return (_change(one, other) if is_state else None) or _sameness(one, other)


def _change(one: Statement, other: Statement) -> Relation | None:
    """Whether one state takes the place of the other."""
    if _puts_aside(one, other) or _puts_aside(other, one):
        return Relation(Kind.UPDATE, "replaces_by_name")
    overlap = _overlap(one.words, other.words)
    if one.is_denied != other.is_denied:
        is_about_it = overlap >= CHANGED_OVERLAP and one.figures == other.figures
        return Relation(Kind.INVALIDATE, "denied") if is_about_it else None
    if one.figures != other.figures:
        both = bool(one.figures and other.figures)
        is_about_it = both and overlap >= CHANGED_OVERLAP
        return Relation(Kind.UPDATE, "changed_figure") if is_about_it else None
    if _is_reversed(one, other):
        return Relation(Kind.UPDATE, "reversed")
    if _has_other_value(one, other):
        return Relation(Kind.UPDATE, "changed_value")
    return None


def _sameness(one: Statement, other: Statement) -> Relation | None:
    if one.is_denied != other.is_denied or one.figures != other.figures:
        return None
    if _is_reversed(one, other):
        return None
    mine, theirs = _differences(one.words, other.words)
    return None if mine or theirs else Relation(Kind.SAME, "same_words")


def _puts_aside(new: Statement, old: Statement) -> bool:
    """Whether `new` names what `old` says and says that it is replaced."""
    named = (new.aside & old.words) - old.aside
    rest = old.words - named
    return bool(named) and bool(rest) and len(rest - new.words) <= len(rest) // 3


def _is_reversed(one: Statement, other: Statement) -> bool:
    """Whether the same words stand the other way round: tabs over spaces, lint before tests."""
    if one.words != other.words:
        return False
    if one.aside and other.aside and one.aside != other.aside:
        return True
    is_other_order = one.order != other.order and sorted(one.order) == sorted(other.order)
    is_plain = not one.aside and not other.aside
    return is_plain and one.is_ordered and other.is_ordered and is_other_order


def _has_other_value(one: Statement, other: Statement) -> bool:
    """Whether they differ in nothing but what is used, chosen, or is so."""
    mine, theirs = _differences(one.words - one.aside, other.words - other.aside)
    is_value = mine <= one.value and theirs <= other.value
    is_short = 0 < len(mine) <= _VALUE_WORDS and 0 < len(theirs) <= _VALUE_WORDS
    return is_value and is_short and bool(one.words & other.words)


def _differences(mine: Words, theirs: Words) -> tuple[Words, Words]:
    """Words that the other lacks, even in another form."""
    only_mine, only_theirs = mine - theirs, theirs - mine
    return (
        frozenset(word for word in only_mine if not _has_form(word, only_theirs)),
        frozenset(word for word in only_theirs if not _has_form(word, only_mine)),
    )


def _has_form(word: str, words: Words) -> bool:
    head = word[:_ALIKE_CHARS]
    lengths = range(len(word) - _ENDING_CHARS, len(word) + _ENDING_CHARS + 1)
    return len(head) == _ALIKE_CHARS and any(
        one.startswith(head) and len(one) in lengths for one in words
    )


def _overlap(one: Words, other: Words) -> float:
    return len(one & other) / len(one | other)


def marks(content: str) -> tuple[str, ...]:
    """Words of which two related statements share at least one.

    The longest words (they are the rarest), as many as it takes: with a Jaccard overlap of t, sets
    of n words share one of the first n - ceil(t * n) + 1 in any common order (prefix filtering, as
    in AllPairs by Bayardo et al. 2007).
    """
    statement = statement_of(content)
    if not statement.is_comparable:
        return ()
    ordered = sorted(statement.words, key=lambda word: (-len(word), word))
    return tuple(ordered[: len(ordered) - math.ceil(LEAST_OVERLAP * len(ordered)) + 1])


def edges(said: Mapping[str, Said], *, new: Collection[str] | None = None) -> Iterator[Edge]:
    """Every related pair of groups; with `new`, only pairs that one of these is part of.

    Args:
        said: group key -> its text; groups of several scopes may be mixed.
        new: group keys.
    """
    sharing: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key in sorted(said):
        one = said[key]
        near: set[str] = set()
        for mark in marks(one.content):
            place = sharing[one.scope, one.memory_type, mark]
            near.update(place)
            place.append(key)
        for other in sorted(near):
            if new is not None and key not in new and other not in new:
                continue
            found = relation(said[other], one)
            if found is not None:
                yield Edge(other, key, str(found.kind), found.reason)
