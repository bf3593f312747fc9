"""What must hold after a stage: nothing leaks, everything is grounded, watermarks fit commits.

The same functions serve the asset checks (over a run's windows) and `audit` (over everything).
Findings name rows and numbers, never text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from memclaw_etl.lake.ledger import (
    Stage,
    StageFile,
    Window,
    commit,
    results,
    windows,
)
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.texts import TEXT_COLUMNS


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be. `check` names the promise that is broken."""

    check: str
    where: str
    message: str


CHECK_OF_STAGE = {
    Stage.MASKED_CHUNKS: "no_leak",
    Stage.MINI_REPORTS: "no_leak",
    Stage.MERGED_REPORT: "evidence_grounded",
    Stage.WATERMARK: "watermark_matches_commits",
}
"""The asset check that belongs to a stage."""


def after_stage(bench: Bench, stage: Stage, chosen: Sequence[Window]) -> list[Finding]:
    """Run the check of a stage over these windows."""
    if stage in {Stage.MASKED_CHUNKS, Stage.MINI_REPORTS}:
        return leaks(bench, stage, chosen)
    if stage is Stage.MERGED_REPORT:
        return leaks(bench, stage, chosen) + ungrounded(bench, chosen)
    if stage is Stage.WATERMARK:
        return wrong_watermarks(bench, {(one.tenant_id, one.node_id, one.epoch) for one in chosen})
    return []


def leaks(bench: Bench, stage: Stage, chosen: Sequence[Window]) -> list[Finding]:
    """Credentials or private text in the stored files of a stage, by the current masker."""
    with bench.ledger.read() as tx:
        files = results.current(tx, [window.window_id for window in chosen], stage)
    return [
        finding
        for window in chosen
        if (file := files.get(window.window_id)) is not None
        for finding in _leaks_of(bench, window, stage, file)
    ]


def _leaks_of(bench: Bench, window: Window, stage: Stage, file: StageFile) -> Iterable[Finding]:
    session = bench.mask_session(window.tenant_id)
    frame = bench.files.read(file.path)
    for column in TEXT_COLUMNS[stage]:
        texts = frame[column]
        for row in texts.is_not_null().arg_true():
            text = str(texts[row])
            masked = session.mask(text)
            if masked.text != text:
                yield Finding(
                    "no_leak",
                    window.partition_key,
                    f"{stage}.{column} row {row} holds a {masked.findings[0].kind}"
                    f" at {masked.findings[0].start}-{masked.findings[0].end} (file {file.path})",
                )


def ungrounded(bench: Bench, chosen: Sequence[Window]) -> list[Finding]:
    """Items that cite events which their window's chunks do not hold as their own."""
    ids = [window.window_id for window in chosen]
    with bench.ledger.read() as tx:
        chunks = results.current(tx, ids, Stage.MASKED_CHUNKS)
        items = results.current(tx, ids, Stage.MERGED_REPORT)
    found: list[Finding] = []
    for window in chosen:
        if window.window_id in items and window.window_id in chunks:
            own = bench.files.read(chunks[window.window_id].path).filter(~pl.col("context"))
            events = set(own.select("seq", "part").iter_rows())
            found += _ungrounded_of(bench, window, items[window.window_id], events)
    return found


def _ungrounded_of(
    bench: Bench, window: Window, file: StageFile, events: set[tuple[int, int]]
) -> Iterable[Finding]:
    frame = bench.files.read(file.path)
    for item_id, evidence in frame.select("item_id", "evidence").iter_rows():
        cited = {(ref["seq"], ref["part"]) for ref in evidence}
        if not cited or not cited <= events:
            yield Finding(
                "evidence_grounded",
                window.partition_key,
                f"item {item_id} cites {len(cited - events)} events that the window does not own"
                if cited
                else f"item {item_id} cites no event",
            )


def wrong_watermarks(bench: Bench, epochs: Iterable[tuple[str, str, int]]) -> list[Finding]:
    """Watermarks that are not the end of the contiguous run of finished windows; overlaps, too."""
    found: list[Finding] = []
    with bench.ledger.read() as tx:
        for tenant_id, node_id, epoch in sorted(epochs):
            ordered = windows.of_node(tx, tenant_id, node_id, epoch)
            frontier = commit.frontier_of(ordered)
            stored = commit.watermark(tx, tenant_id, node_id, epoch)
            last_seq = stored.last_seq if stored else None
            if last_seq != frontier.last_seq:
                found.append(
                    Finding(
                        "watermark_matches_commits",
                        f"{node_id}~{epoch}",
                        f"the watermark says {last_seq}, the windows say {frontier.last_seq}",
                    )
                )
            found += _untiled(ordered)
    return found


def _untiled(ordered: Sequence[Window]) -> Iterable[Finding]:
    for before, window in pairwise(ordered):
        follows = window.cursor_from == before.cursor_to + 1
        continues = (
            before.ends_open
            and window.cursor_from == before.cursor_to
            and window.from_part == before.end_part
        )
        if not follows and not continues:
            kind = "gap" if window.cursor_from > before.cursor_to else "overlap"
            yield Finding(
                "windows_tile",
                window.partition_key,
                f"{kind} between {before.cursor_to} and {window.cursor_from}",
            )
