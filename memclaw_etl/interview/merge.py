"""Joins the mini-reports of a window into its report: a pure function."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memclaw_etl.interview.alike import may_join
from memclaw_etl.interview.report import MergedReport, MiniReport, ReportItem, Section, time_span

MAX_PER_SECTION: Final = 15
NEAR_OVERLAP: Final = 0.85
NEAR_MEANING: Final = 0.87
"""Cosine of all-MiniLM-L6-v2 from which paraphrases of one statement join (tests/unit/test_alike):
statements about two things of one kind stand at 0.84."""
Vectors = NDArray[np.float32]
"""Shape (n, dimension), every row of length 1."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Meaning:
    """How alike in meaning two statements must be to be joined."""

    embed: Callable[[Sequence[str]], Vectors]
    near: float
    """Least cosine of their vectors."""


def merge(
    reports: Sequence[MiniReport],
    *,
    max_per_section: int | None = MAX_PER_SECTION,
    near_overlap: float | None = NEAR_OVERLAP,
    meaning: Meaning | None = None,
) -> MergedReport:
    """Join equal and nearly equal items of a section; keep at most `max_per_section` of each.

    Equal means: the same content but for case and whitespace. Nearly equal means: the words that
    two items share are at least `near_overlap` of the words of both together (None: only equal
    ones join), or they are as near in `meaning` as that asks for. Near items join only where
    nothing in their words speaks against it: other figures, a negation, an opposite, other names
    (`alike.may_join`). Joined items unite their evidence and time, and keep the fuller wording.
    Items that name different results never join. Where a section is too long, the items of high
    importance stay first, then those with the most evidence, then the earlier. Order: sections as
    in `Section`, in a section by first evidence.
    """
    items = [item for report in reports for item in report.items]
    kept: list[ReportItem] = []
    joined = capped = 0
    for section in Section:
        mine = [item for item in items if item.section is section]
        united = _unite(mine, near_overlap, meaning)
        best = _best(united, max_per_section)
        joined += len(mine) - len(united)
        capped += len(united) - len(best)
        kept += best
    return MergedReport(items=tuple(kept), joined=joined, capped=capped)


@dataclass(slots=True)
class _Group:
    """Items that say the same, with words and place of the first of them."""

    words: frozenset[str]
    place: int
    members: list[ReportItem] = field(default_factory=list)


def _unite(
    items: Iterable[ReportItem], near_overlap: float | None, meaning: Meaning | None
) -> list[ReportItem]:
    equal: dict[tuple[str, str | None], list[ReportItem]] = {}
    for item in sorted(items, key=_place):
        equal.setdefault((_identity(item), item.result), []).append(item)
    singles = sorted((join_items(group) for group in equal.values()), key=_place)
    if near_overlap is None:
        return singles
    return list(_join_near(singles, near_overlap, _cosines(singles, meaning)))


def _cosines(items: Sequence[ReportItem], meaning: Meaning | None) -> NDArray[np.bool_]:
    """Which items are near in meaning, shape (n, n)."""
    if meaning is None or len(items) < 2:  # noqa: PLR2004 - a pair
        return np.zeros((len(items), len(items)), dtype=bool)
    vectors = meaning.embed([item.content for item in items])
    near: NDArray[np.bool_] = (vectors @ vectors.T) >= meaning.near
    return near


def _join_near(
    items: Sequence[ReportItem], near_overlap: float, near: NDArray[np.bool_]
) -> Iterator[ReportItem]:
    groups: list[_Group] = []
    for place, item in enumerate(items):
        words = frozenset(_WORD.findall(item.content.casefold()))
        for group in groups:
            sounds_alike = near[group.place, place] or _overlap(group.words, words) >= near_overlap
            if sounds_alike and _says_the_same(item, group.members):
                group.members.append(item)
                break
        else:
            groups.append(_Group(words, place, [item]))
    return (join_items(group.members) for group in groups)


def _says_the_same(item: ReportItem, members: Sequence[ReportItem]) -> bool:
    return all(
        item.result == member.result and may_join(item.content, member.content)
        for member in members
    )


def join_items(items: Sequence[ReportItem]) -> ReportItem:
    """One item for several that say the same: fullest wording, all evidence, whole time."""
    if len(items) == 1:
        return items[0]
    fullest = max(items, key=lambda item: (len(item.content), item.content))
    first, last = time_span([t for item in items for t in (item.ts_start, item.ts_end) if t])
    sessions = {item.session_id for item in items}
    return fullest.model_copy(
        update={
            "evidence": tuple(sorted({ref for item in items for ref in item.evidence})),
            "ts_start": first,
            "ts_end": last,
            "session_id": fullest.session_id if len(sessions) > 1 else sessions.pop(),
            "importance": max(item.importance for item in items),
        }
    )


def _best(items: Sequence[ReportItem], max_per_section: int | None) -> list[ReportItem]:
    ordered = sorted(items, key=_place)
    if max_per_section is None or len(ordered) <= max_per_section:
        return ordered
    chosen = sorted(
        ordered, key=lambda item: (-item.importance, -len(item.evidence), *_place(item))
    )
    return sorted(chosen[:max_per_section], key=_place)


def _place(item: ReportItem) -> tuple[tuple[tuple[int, int], ...], str, str]:
    return (item.evidence, item.content, item.session_id or "")


def _identity(item: ReportItem) -> str:
    return " ".join(item.content.casefold().split())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
