"""Keeping a stage's result: a new immutable file first, then the ledger's pointer to it."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from sqlalchemy import Connection

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import Stage, StageFile, Window, results
from memclaw_etl.lake.ledger.values import Stage as StageName
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.report import Done

_BEFORE = {
    StageName.MINI_REPORTS: StageName.MASKED_CHUNKS,
    StageName.MERGED_REPORT: StageName.MINI_REPORTS,
    StageName.MEMORIES: StageName.MERGED_REPORT,
    StageName.WATERMARK: StageName.MEMORIES,
}


def stands(bench: Bench, file: StageFile, *, input_hash: str) -> bool:
    """Whether a stage's file has the same input and is on disk as it was written.

    One that is damaged or missing is made anew.
    """
    return file.input_hash == input_hash and bench.files.is_intact(file.path, file.content_hash)


def unchanged(window: Window, file: StageFile) -> Done:
    """The stage was done with the same input before; its file stands."""
    return Done(
        window=window, counts=file.counts, path=file.path, content_hash=file.content_hash,
        unchanged=True,
    )  # fmt: skip


def keep(
    bench: Bench,
    window: Window,
    stage: Stage,
    frame: pl.DataFrame,
    schema: pl.Schema,
    *,
    input_hash: str,
    counts: Mapping[str, Any],
) -> Done:
    """Write a stage's file and point the ledger to it. Both are durable on return."""
    file = write(bench, window, stage, frame, schema, input_hash=input_hash, counts=counts)
    with bench.ledger.write() as tx:
        results.set_current(tx, file)
    return Done(
        window=window, counts=counts, path=file.path, content_hash=file.content_hash,
        unchanged=False,
    )  # fmt: skip


def write(
    bench: Bench,
    window: Window,
    stage: Stage,
    frame: pl.DataFrame,
    schema: pl.Schema,
    *,
    input_hash: str,
    counts: Mapping[str, Any],
) -> StageFile:
    """Write a stage's file, for a caller that points the ledger to it in its own transaction."""
    written = bench.files.write(frame, schema, stage=str(stage), window_id=window.window_id)
    return StageFile(
        window_id=window.window_id,
        stage=str(stage),
        path=written.path,
        input_hash=input_hash,
        content_hash=written.content_hash,
        row_count=written.row_count,
        counts=counts,
        created_at=bench.ledger.now(),
    )


def input_of(tx: Connection, window: Window, stage: Stage) -> StageFile:
    """The file that a stage starts from.

    Raises:
        UsageError: the stage before has not been done for this window.
    """
    before = _BEFORE[stage]
    file = results.current(tx, [window.window_id], before).get(window.window_id)
    if file is None:
        raise UsageError(
            f"window {window.partition_key} has no {before} yet; materialise {before} first"
        )
    return file
