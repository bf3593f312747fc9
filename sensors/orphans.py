"""Runs whose process is gone: Dagster keeps them as started for ever, and they block the queue."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.partitions import ASKED_BY_TAG, ASKED_HERE, BATCH_TAG
from memclaw_etl.lake.ledger import leases
from memclaw_etl.stages.bench import Bench

STARTING = timedelta(seconds=60)
"""A run that was launched this recently may not have taken its leases yet."""

_LIMIT = 100


def end_orphans(instance: dg.DagsterInstance, bench: Bench) -> list[str]:
    """Mark started runs of ours without a live lease as failed; returns their ids.

    Leases say what lives; Dagster's status only has to follow. A run holds a lease of its own until
    its process is done, so only dead and finished processes have none. A run that works in the
    process that asked for it has its leases before it starts.
    """
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
        alive = leases.live_holders(tx)
    records = instance.get_run_records(
        dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]),
        limit=_LIMIT,
    )
    ended: list[str] = []
    for record in records:
        run = record.dagster_run
        is_ours = BATCH_TAG in run.tags
        leases_first = run.tags.get(ASKED_BY_TAG) == ASKED_HERE
        starting = not leases_first and _is_starting(record.update_timestamp)
        if not is_ours or run.run_id in alive or starting:
            continue
        instance.report_run_failed(run, "its process is gone; its windows are owed again")
        ended.append(run.run_id)
    return ended


def _is_starting(updated: datetime) -> bool:
    return datetime.now(UTC) - updated.astimezone(UTC) < STARTING
