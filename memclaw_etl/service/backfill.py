"""Interviewing windows again whose report was made by an older prompt, model or interviewer.

A window keeps its report until the new one is there; then its items are replaced as a whole, and
the memories that they touch are resolved again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memclaw_etl.interview.model_purse import estimate_tokens
from memclaw_etl.interview.protocols import ManyAtOnce
from memclaw_etl.lake.ledger import (
    Stage,
    StageFile,
    Window,
    WindowState,
    leases,
    model_jobs,
    pins,
    reinterviews,
    results,
    windows,
)
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.sitting import FALLBACK, Stamp, stamp_of

Order = Literal["oldest", "valuable"]
PROMPT_CHARS: Final = 6_000
"""What the prompt itself has beside the events, its form included."""
_RANK: Final = {"verbatim": 0, "heuristic": 1, FALLBACK: 1, "openai": 2}
"""No backfill replaces a report by one of a lesser interviewer."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """A window whose report could be newer."""

    window: Window
    tokens: int
    """What its interview is reckoned with; 0 for rules."""
    items: int
    """Live items that it makes: what a better report would improve."""


def outdated(bench: Bench, interviewer: str) -> list[Outdated]:
    """Committed windows whose report is older than what `interviewer` would make now.

    So are those that hold events of a window which was given up while a run worked on this one:
    whoever works on them again takes these events.

    Not among them: windows that somebody works on, that a job of the Batch API is about, or whose
    new interview has failed `max_attempts` times.
    """
    target = bench.interviewer(interviewer)
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
        every = [one for one in windows.all_windows(tx) if one.state is WindowState.COMMITTED]
        ids = [window.window_id for window in every]
        reports = results.current(tx, ids, Stage.MINI_REPORTS)
        chunks = results.current(tx, ids, Stage.MASKED_CHUNKS)
        items = results.current(tx, ids, Stage.MERGED_REPORT)
        busy = _busy(bench, every, leases.held(tx, [leases.window_lease(one) for one in ids]))
        busy |= model_jobs.windows_under_way(tx)
        lacking = pins.events_without_owner(tx)
    asks_a_model = isinstance(target, ManyAtOnce)
    found = []
    for window in every:
        known = window.window_id in reports and window.window_id in chunks
        stamp = stamp_of(bench, window, target)
        if not known or window.window_id in busy:
            continue
        made = reports[window.window_id].counts
        if _is_by(made, stamp) and window.window_id not in lacking:
            continue
        if _RANK.get(str(made["interviewer"]), 0) > _RANK[interviewer]:
            continue
        tokens = _tokens(chunks[window.window_id]) if asks_a_model else 0
        live = items[window.window_id].row_count if window.window_id in items else 0
        found.append(Outdated(window, tokens, live))
    return _without_hopeless(bench, found, interviewer)


def _is_by(made: Mapping[str, object], stamp: Stamp) -> bool:
    """Whether a report with these counts was made by that interviewer, prompt and model."""
    by = (made["interviewer"], made["prompt_version"], made["model"])
    return by == (stamp.interviewer, stamp.prompt_version, stamp.model)


def up_to_date(bench: Bench, chosen: Sequence[Window], interviewer: str) -> list[Window]:
    """Which of these windows have the report that `interviewer` would make now."""
    target = bench.interviewer(interviewer)
    with bench.ledger.read() as tx:
        reports = results.current(tx, [one.window_id for one in chosen], Stage.MINI_REPORTS)
    return [
        window
        for window in chosen
        if window.window_id in reports
        and _is_by(reports[window.window_id].counts, stamp_of(bench, window, target))
    ]


def _busy(bench: Bench, every: Sequence[Window], held: Collection[str]) -> set[str]:
    now = bench.ledger.now()
    return {
        window.window_id
        for window in every
        if leases.window_lease(window.window_id) in held
        or (window.asked_until is not None and window.asked_until > now)
    }


def _without_hopeless(bench: Bench, found: Sequence[Outdated], interviewer: str) -> list[Outdated]:
    target = bench.interviewer(interviewer)
    stamps = {one.window.window_id: stamp_of(bench, one.window, target).target for one in found}
    with bench.ledger.read() as tx:
        attempts = {name: reinterviews.attempts_of(tx, name) for name in set(stamps.values())}
    limit = bench.settings.limits.max_attempts
    return [
        one
        for one in found
        if attempts[stamps[one.window.window_id]].get(one.window.window_id, 0) < limit
    ]


def _tokens(chunks: StageFile) -> int:
    counts: Mapping[str, int] = chunks.counts
    prompts = int(counts["chunks"])
    each = PROMPT_CHARS + int(counts["chars"]) // max(prompts, 1)
    return prompts * estimate_tokens(each)


def choose(
    found: Sequence[Outdated],
    *,
    order: Order,
    limit: int | None = None,
    tokens: int | None = None,
) -> list[Outdated]:
    """What to do now (pure): first come, as long as number and tokens last.

    `oldest`: by the time of their events. `valuable`: those with the most live items first.
    """

    def oldest(one: Outdated) -> tuple[str, str]:
        at = one.window.ts_first or one.window.pinned_at
        return (at.isoformat(), one.window.partition_key)

    ordered = sorted(found, key=oldest)
    if order == "valuable":
        ordered.sort(key=lambda one: -one.items)
    chosen: list[Outdated] = []
    left = tokens
    for one in ordered:
        if limit is not None and len(chosen) >= limit:
            break
        if left is not None:
            if one.tokens > left:
                continue
            left -= one.tokens
        chosen.append(one)
    return chosen


def unfinished(bench: Bench) -> list[tuple[str, Window]]:
    """Committed windows whose new report waits to be resolved, with who made it.

    A run over them was killed between their new items and the index: they are to be finished.
    """
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        found = windows.by_ids(tx, results.windows_touched(tx))
        held = leases.held(tx, [leases.window_lease(one.window_id) for one in found])
        reports = results.current(tx, [one.window_id for one in found], Stage.MINI_REPORTS)
    busy = _busy(bench, found, held)
    default = bench.settings.interviewer
    return [
        (_known(reports.get(window.window_id), default), window)
        for window in found
        if window.state is WindowState.COMMITTED and window.window_id not in busy
    ]


def _known(report: StageFile | None, default: str) -> str:
    name = str(report.counts["interviewer"]) if report is not None else default
    return name if name in _RANK and name != FALLBACK else default
