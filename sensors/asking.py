"""From owed windows to runs: partition keys in Dagster, batches in the ledger, run requests."""

import dagster as dg

from assets.partitions import ASKED_BY_TAG, BATCH_TAG, RANGE_END_TAG, RANGE_START_TAG, WINDOWS
from memclaw_etl.service import planning
from memclaw_etl.service.planning import Batch
from memclaw_etl.stages.bench import Bench


def ask_for_owed(
    instance: dg.DagsterInstance,
    bench: Bench,
    *,
    asked_by: str,
    max_batches: int,
    interviewer: str | None = None,
    run_id: str | None = None,
) -> list[Batch]:
    """Ask for what is owed, as at most `max_batches` runs over contiguous partitions.

    With `run_id` (and `max_batches=1`) the windows are leased to that run of this process.

    A crash anywhere in here leaves the windows owed: at once, or after the ask's deadline.
    """
    if max_batches <= 0:
        return []
    size = bench.settings.limits.batch_windows
    due = planning.owed(bench, limit=size * max_batches, interviewer=interviewer)
    if not due:
        return []
    name = str(WINDOWS.name)
    instance.add_dynamic_partitions(name, [window.partition_key for window in due])
    place = {key: number for number, key in enumerate(instance.get_dynamic_partitions(name))}
    runs = planning.split(due, place, size=size)[:max_batches]
    return [
        planning.ask(bench, run, asked_by=asked_by, interviewer=interviewer, run_id=run_id)
        for run in runs
    ]


def tags_of(batch: Batch, *, asked_by: str) -> dict[str, str]:
    """The tags by which a run finds its batch and its partitions."""
    return {
        BATCH_TAG: batch.batch_id,
        ASKED_BY_TAG: asked_by,
        RANGE_START_TAG: batch.partition_keys[0],
        RANGE_END_TAG: batch.partition_keys[-1],
    }


def run_request(batch: Batch, *, asked_by: str) -> dg.RunRequest:
    """A batch as a run request. Its key is the batch: Dagster never launches it twice."""
    return dg.RunRequest(run_key=batch.batch_id, tags=tags_of(batch, asked_by=asked_by))
