"""Joins the mini-reports of a window into its report: a pure function."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from memclaw_etl.interview.report import MergedReport, MiniReport, ReportItem, Section, time_span

MAX_PER_SECTION: Final = 15
NEAR_OVERLAP: Final = 0.85
_WORD = re.compile(r"\w+")


def merge(
    reports: Sequence[MiniReport],
    *,
    max_per_section: int | None = MAX_PER_SECTION,
    near_overlap: float | None = NEAR_OVERLAP,
) -> MergedReport:
    """Join equal and nearly equal items of a section; keep at most `max_per_section` of each.

    Equal means: the same content but for case and whitespace. Nearly equal means: the words that
    two items share are at least `near_overlap` of the words of both together (None: only equal
    ones join). Joined items unite their evidence and time, and keep the fuller wording. Items that
    name different results never join. Where a section is too long, the items with the most evidence
    stay, then the earlier. Order: sections as in `Section`, in a section by first evidence.
    """
    items = [item for report in reports for item in report.items]
    kept: list[ReportItem] = []
    joined = capped = 0
    for section in Section:
        mine = [item for item in items if item.section is section]
        united = _unite(mine, near_overlap)
        best = _best(united, max_per_section)
        joined += len(mine) - len(united)
        capped += len(united) - len(best)
        kept += best
    return MergedReport(items=tuple(kept), joined=joined, capped=capped)


@dataclass(slots=True)
class _Group:
    """Items that say the same, with the words of the first of them."""

    words: frozenset[str]
    members: list[ReportItem] = field(default_factory=list)


def _unite(items: Iterable[ReportItem], near_overlap: float | None) -> list[ReportItem]:
    equal: dict[tuple[str, str | None], list[ReportItem]] = {}
    for item in sorted(items, key=_place):
        equal.setdefault((_identity(item), item.result), []).append(item)
    singles = [_join(group) for group in equal.values()]
    return singles if near_overlap is None else list(_join_near(singles, near_overlap))


def _join_near(items: Sequence[ReportItem], near_overlap: float) -> Iterator[ReportItem]:
    groups: list[_Group] = []
    for item in sorted(items, key=_place):
        words = frozenset(_WORD.findall(item.content.casefold()))
        for group in groups:
            first = group.members[0]
            if first.result == item.result and _overlap(group.words, words) >= near_overlap:
                group.members.append(item)
                break
        else:
            groups.append(_Group(words, [item]))
    return (_join(group.members) for group in groups)


def _join(items: Sequence[ReportItem]) -> ReportItem:
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
        }
    )


def _best(items: Sequence[ReportItem], max_per_section: int | None) -> list[ReportItem]:
    ordered = sorted(items, key=_place)
    if max_per_section is None or len(ordered) <= max_per_section:
        return ordered
    chosen = sorted(ordered, key=lambda item: (-len(item.evidence), *_place(item)))
    return sorted(chosen[:max_per_section], key=_place)


def _place(item: ReportItem) -> tuple[tuple[tuple[int, int], ...], str, str]:
    return (item.evidence, item.content, item.session_id or "")


def _identity(item: ReportItem) -> str:
    return " ".join(item.content.casefold().split())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
