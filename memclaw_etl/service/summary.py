"""What one `run` did, from the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memclaw_etl.lake.ledger import Stage, Window, WindowState, batches, results, windows
from memclaw_etl.service.status import status
from memclaw_etl.stages.bench import Bench
from memclaw_etl.windows.scan import Problem, Scan


@dataclass(slots=True)
class RunSummary:
    """The figures of one `run`; the names are those of its `--json`.

    `events`, `chunks`, `masked_spans` and `llm_*` are of the windows that were committed in this
    run; `noise_lines` and `quarantined_lines` of the lines that were pinned in it.
    """

    nodes: int = 0
    windows_planned: int = 0
    windows_committed: int = 0
    windows_failed: int = 0
    windows_held: int = 0
    events: int = 0
    noise_lines: int = 0
    quarantined_lines: int = 0
    masked_spans: int = 0
    chunks: int = 0
    memories_added: int = 0
    memories_updated: int = 0
    memories_noop: int = 0
    llm_calls: int = 0
    llm_cache_hits: int = 0
    llm_tokens: int = 0
    llm_cost: float = 0.0
    """In the currency of the settings' prices; 0 without prices."""
    trail_problems: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)
    next_try_at: datetime | None = None
    """When the next waiting window is owed again; None when none waits."""
    seconds: float = 0.0


def summarise(
    bench: Bench, scans: Sequence[Scan], batch_ids: Sequence[str], *, seconds: float
) -> RunSummary:
    """Add up what the scans and batches of one `run` did."""
    summary = RunSummary(seconds=round(seconds, 3))
    for scan in scans:
        summary.windows_planned += scan.windows
        summary.noise_lines += scan.noise_lines
        summary.quarantined_lines += scan.quarantined_lines
    _add_problems(summary, [problem for scan in scans for problem in scan.problems])
    nodes = status(bench)
    summary.nodes = len(nodes)
    summary.windows_held = sum(node.held for node in nodes)
    _add_batches(bench, summary, batch_ids)
    return summary


def _add_problems(summary: RunSummary, problems: Sequence[Problem]) -> None:
    unique = {(problem.where, problem.code): problem for problem in problems}
    summary.trail_problems = len(unique)
    summary.problems = [
        {"node": problem.where, "code": problem.code, "message": problem.message}
        for problem in unique.values()
    ]


def _add_batches(bench: Bench, summary: RunSummary, batch_ids: Sequence[str]) -> None:
    with bench.ledger.read() as tx:
        ids = {one for batch in batch_ids for one in batches.window_ids_of(tx, batch)}
        worked = windows.by_ids(tx, sorted(ids))
        done = [window for window in worked if window.state is WindowState.COMMITTED]
        masked = results.current(tx, [one.window_id for one in done], Stage.MASKED_CHUNKS)
        ids_done = [one.window_id for one in done]
        reports = list(results.current(tx, ids_done, Stage.MINI_REPORTS).values())
        reports += results.current(tx, ids_done, Stage.MERGED_REPORT).values()
        summary.next_try_at = windows.next_due(tx, now=bench.ledger.now())
        for batch in batch_ids:
            counts = batches.counts_of(tx, batch)
            summary.memories_added += counts.get("added", 0)
            summary.memories_updated += counts.get("updated", 0)
            summary.memories_noop += counts.get("unchanged", 0)
    failed = [window for window in worked if _has_failed(window)]
    summary.windows_committed = len(done)
    summary.windows_failed = len(failed)
    for window in failed:
        summary.problems.append(
            {
                "node": window.node_id,
                "code": window.error_code or "",
                "message": f"{window.partition_key}: {window.error}",
            }
        )
    for file in masked.values():
        summary.events += int(file.counts["events"])
        summary.chunks += int(file.counts["chunks"])
        summary.masked_spans += int(file.counts["masked_spans"])
    for file in reports:
        summary.llm_calls += int(file.counts.get("llm_calls", 0))
        summary.llm_cache_hits += int(file.counts.get("llm_cache_hits", 0))
        summary.llm_tokens += int(file.counts.get("llm_tokens", 0))
        summary.llm_cost += float(file.counts.get("llm_cost", 0))


def _has_failed(window: Window) -> bool:
    return window.state is not WindowState.COMMITTED and window.error_code is not None
