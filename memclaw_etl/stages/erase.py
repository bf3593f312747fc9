"""Erasing events from one window's files: what they said, and what rests on them, goes."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from memclaw_etl.errors import LeaseLostError
from memclaw_etl.lake.frames import ITEMS, MASKED_CHUNKS, MINI_REPORTS
from memclaw_etl.lake.ledger import Stage, StageFile, Window, leases, pins, results
from memclaw_etl.memories.items import Item, text_hash
from memclaw_etl.stages import merge
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import write
from memclaw_etl.stages.governing import choose_items, keep_items
from memclaw_etl.stages.input_hashes import with_hashes
from memclaw_etl.stages.remask import files_of
from memclaw_etl.stages.surroundings import with_surroundings
from memclaw_etl.stages.texts import TEXT_COLUMNS

_SCHEMAS = {Stage.MASKED_CHUNKS: MASKED_CHUNKS, Stage.MINI_REPORTS: MINI_REPORTS}
_Ref = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Erasure:
    """What one window's files would hold without what is to be erased. Nothing is written yet."""

    owned: tuple[_Ref, ...]
    """The events that the window owns."""
    before: Mapping[Stage, StageFile]
    changed: Mapping[Stage, pl.DataFrame]
    """Frames of the files that would be others."""
    items: list[Item] | None
    """Its items afterwards; None when there is no such file."""


def plan_erasure(
    bench: Bench, window: Window, *, identities: Collection[str], texts: Collection[str]
) -> Erasure:
    """Look what of a window's files has to go.

    Statements that rest on one of the events, or that say one of the texts, go as well; the words
    around other items are taken anew from what is left.

    Args:
        bench: the stores.
        window: a window that owns some of the events, or said one of the texts.
        identities: identities of the events.
        texts: `text_hash` of statements.
    """
    with bench.ledger.read() as tx:
        before = files_of(tx, window)
        owned = pins.owned_events(tx, window.window_id)
    refs = {ref for ref, identity in owned.items() if identity in identities}
    frames = {stage: bench.files.read(file.path) for stage, file in before.items()}
    left = {stage: _without(frames[stage], refs, texts) for stage in _SCHEMAS if stage in frames}
    items = _items_left(frames.get(Stage.MERGED_REPORT), left, refs, texts)
    if items is not None:
        left[Stage.MERGED_REPORT] = merge.frame_of(items, window)
    changed = {stage: frame for stage, frame in left.items() if not frame.equals(frames[stage])}
    return Erasure(tuple(sorted(owned)), before, changed, items)


def erase_from_window(bench: Bench, window: Window, erasure: Erasure, *, run_id: str) -> int:
    """Write a window's files without what is erased, and point the ledger at them.

    The caller has held the window's lease since before the erasure was planned. Input hashes that
    were right stay right, so that no stage is done again because of this.

    Returns:
        How many files were rewritten.

    Raises:
        LeaseLostError: the lease is no longer this run's; nothing was changed.
    """
    if not erasure.changed:
        return 0
    after = dict(erasure.before)
    for stage, frame in erasure.changed.items():
        after[stage] = _written(bench, window, stage, frame, erasure.before[stage])
    hashed = with_hashes(bench, window, erasure.owned, erasure.before, after)
    with bench.ledger.write() as tx:
        lease = leases.window_lease(window.window_id)
        if not leases.held(tx, [lease], run_id=run_id):
            raise LeaseLostError(f"window {window.partition_key} went to a run", resource="lease")
        for file in hashed.values():
            results.set_current(tx, file)
        if erasure.items is not None:
            keep_items(tx, window, choose_items(bench, window, erasure.items))
    return len(erasure.changed)


def events_that_say(
    bench: Bench, window: Window, files: Mapping[Stage, StageFile], says: Callable[[str], bool]
) -> set[str]:
    """Identities of a window's events that say something, or that a statement rests on that does.

    Args:
        bench: the stores.
        window: whose files these are.
        files: where to look.
        says: whether a text says it.
    """
    refs: set[_Ref] = set()
    for stage, file in files.items():
        columns = TEXT_COLUMNS[stage]
        for row in bench.files.read(file.path).iter_rows(named=True):
            if any(row[name] is not None and says(row[name]) for name in columns):
                refs |= _refs_of(row)
    if not refs:
        return set()
    with bench.ledger.read() as tx:
        owned = pins.owned_events(tx, window.window_id)
    return {owned[ref] for ref in refs if ref in owned}


def _written(
    bench: Bench, window: Window, stage: Stage, frame: pl.DataFrame, before: StageFile
) -> StageFile:
    schema = _SCHEMAS.get(stage, ITEMS)
    file = write(
        bench, window, stage, frame, schema, input_hash=before.input_hash, counts=before.counts
    )
    return replace(file, counts=before.counts)


def _without(frame: pl.DataFrame, refs: set[_Ref], texts: Collection[str]) -> pl.DataFrame:
    """Rows of a file without those that are, rest on, or say what is to be erased."""
    rows = [row for row in frame.iter_rows(named=True) if not _is_hit(row, refs, texts)]
    return frame if len(rows) == frame.height else pl.DataFrame(rows, frame.schema, orient="row")


def _is_hit(row: dict[str, Any], refs: set[_Ref], texts: Collection[str]) -> bool:
    if not refs.isdisjoint(_refs_of(row)):
        return True
    said = row.get("summary") or row.get("content")
    return "evidence" in row and text_hash(str(said)) in texts


def _refs_of(row: Mapping[str, Any]) -> set[_Ref]:
    """The events that a row is, or rests on."""
    if "evidence" not in row:
        return {(row["seq"], row["part"])}
    return {(ref["seq"], ref["part"]) for ref in row["evidence"]}


def _items_left(
    frame: pl.DataFrame | None,
    left: dict[Stage, pl.DataFrame],
    refs: set[_Ref],
    texts: Collection[str],
) -> list[Item] | None:
    if frame is None:
        return None
    items = merge.items_in(_without(frame, refs, texts))
    events = left.get(Stage.MASKED_CHUNKS)
    return items if events is None else with_surroundings(items, events)
