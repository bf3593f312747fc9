"""From owed windows to runs: partition keys in Dagster, batches in the ledger, run requests."""

from collections import defaultdict
from collections.abc import Sequence

import dagster as dg

from assets.partitions import ASKED_BY_TAG, BATCH_TAG, RANGE_END_TAG, RANGE_START_TAG, WINDOWS
from memclaw_etl.lake.ledger import Window
from memclaw_etl.service import planning
from memclaw_etl.service.backfill import unfinished
from memclaw_etl.service.planning import Batch
from memclaw_etl.stages.bench import Bench

_TRIES = 10
"""Other planners may be faster; each time there is less that they can be faster at."""


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
    for _ in range(_TRIES):
        due = planning.owed(bench, limit=size * max_batches, interviewer=interviewer)
        if not due:
            return []
        runs = planning.split(due, _places(instance, due), size=size)[:max_batches]
        asked = [
            planning.ask(bench, run, asked_by=asked_by, interviewer=interviewer, run_id=run_id)
            for run in runs
        ]
        if batches := [batch for batch in asked if batch is not None]:
            return batches
    return []


def ask_again(
    instance: dg.DagsterInstance,
    bench: Bench,
    chosen: Sequence[Window],
    *,
    interviewer: str,
    run_id: str | None = None,
    max_batches: int | None = None,
) -> list[Batch]:
    """Ask for committed windows anew, as runs over contiguous partitions.

    Windows that somebody else took meanwhile are left out, with those of their run. A crash
    anywhere in here changes nothing: they keep the report that they have.
    """
    asked = [
        planning.ask_anew(bench, run, interviewer=interviewer, run_id=run_id)
        for run in runs_over(instance, bench, chosen)[:max_batches]
    ]
    return [batch for batch in asked if batch is not None]


def runs_over(
    instance: dg.DagsterInstance, bench: Bench, chosen: Sequence[Window]
) -> list[tuple[Window, ...]]:
    """Windows as runs over contiguous partitions; keys that Dagster has forgotten are added."""
    if not chosen:
        return []
    size = bench.settings.limits.batch_windows
    return planning.split(chosen, _places(instance, chosen), size=size)


def ask_for_unfinished(
    instance: dg.DagsterInstance, bench: Bench, *, run_id: str | None = None, max_batches: int
) -> list[Batch]:
    """Ask for committed windows whose new items the index does not hold yet."""
    by_interviewer: defaultdict[str, list[Window]] = defaultdict(list)
    for interviewer, window in unfinished(bench):
        by_interviewer[interviewer].append(window)
    asked: list[Batch] = []
    for interviewer, windows in sorted(by_interviewer.items()):
        asked += ask_again(
            instance, bench, windows, interviewer=interviewer, run_id=run_id,
            max_batches=max_batches - len(asked),
        )  # fmt: skip
    return asked


def _places(instance: dg.DagsterInstance, due: Sequence[Window]) -> dict[str, int]:
    """Partition key -> its place in Dagster's insertion order; new keys are added."""
    name = str(WINDOWS.name)
    instance.add_dynamic_partitions(name, [window.partition_key for window in due])
    return {key: number for number, key in enumerate(instance.get_dynamic_partitions(name))}


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
