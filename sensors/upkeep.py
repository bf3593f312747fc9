"""The upkeep job: partition keys, old runs, orphaned files, the memory index."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.partitions import WINDOWS
from assets.resources import Memclaw
from memclaw_etl.errors import BusyError
from memclaw_etl.service.upkeep import (
    drop_half_written,
    drop_orphan_files,
    forgettable_keys,
    keep_policies,
    optimize_index,
)
from sensors.orphans import end_orphans

KEEP_RUNS = timedelta(days=30)
RUNS_A_TIME = 200


@dg.op(description="Forgets what the UI can do without, and keeps the memory index fast.")
def keep_up(context: dg.OpExecutionContext, memclaw: Memclaw) -> None:
    """One round of upkeep; each part is safe to repeat."""
    bench, instance = memclaw.bench, context.instance
    ended = end_orphans(instance, bench)
    name = str(WINDOWS.name)
    keys = forgettable_keys(bench, instance.get_dynamic_partitions(name))
    for key in keys:
        instance.delete_dynamic_partition(name, key)
    runs = _delete_old_runs(instance, now=datetime.now(UTC))
    files = drop_orphan_files(bench) + drop_half_written(bench)
    try:
        kept = keep_policies(bench)
        context.log.info(
            "%d windows follow new policies, %d cutoffs moved, %d memories changed",
            kept.windows_governed, kept.cutoffs_moved, kept.memories_changed,
        )  # fmt: skip
        optimize_index(bench)
    except BusyError as error:
        context.log.warning(str(error))
    context.log.info(
        "ended %d orphaned runs, forgot %d partition keys and %d runs, removed %d orphaned files",
        len(ended), len(keys), runs, files,
    )  # fmt: skip


def _delete_old_runs(instance: dg.DagsterInstance, *, now: datetime) -> int:
    done = [
        dg.DagsterRunStatus.SUCCESS,
        dg.DagsterRunStatus.FAILURE,
        dg.DagsterRunStatus.CANCELED,
    ]
    old = dg.RunsFilter(statuses=done, updated_before=now - KEEP_RUNS)
    records = instance.get_run_records(old, limit=RUNS_A_TIME)
    for record in records:
        instance.delete_run(record.dagster_run.run_id)
    return len(records)


@dg.job(
    executor_def=dg.in_process_executor,
    description="Forgets old partition keys and runs, removes orphaned files, compacts the index.",
)
def upkeep() -> None:
    """Upkeep, once."""
    keep_up()


hourly_upkeep = dg.ScheduleDefinition(
    name="hourly_upkeep",
    job=upkeep,
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="The ledger and the lake keep everything; only views and leftovers go.",
)
