"""The trail sensor: owed windows first, then new lines."""

import dagster as dg

from assets.partitions import BATCH_TAG
from assets.resources import Memclaw
from memclaw_etl.service import people, planning
from memclaw_etl.stages.embedding import why_not_writable
from memclaw_etl.windows.scan import Scan
from sensors.asking import ask_for_owed, ask_for_unfinished, run_request
from sensors.jobs import interview_windows
from sensors.orphans import end_orphans

ASKED_BY = "trail_sensor"


@dg.sensor(
    job=interview_windows,
    minimum_interval_seconds=20,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Looks at the trails that the settings allow, pins new lines as windows, and asks"
    " for what is owed: lost, failed and interrupted windows before new ones. An unchanged trail"
    " costs one stat; nothing outside the listed sources is opened.",
)
def trail_sensor(
    context: dg.SensorEvaluationContext, memclaw: Memclaw
) -> dg.SensorResult | dg.SkipReason:
    """Plan one tick."""
    bench = memclaw.bench
    end_orphans(context.instance, bench)
    waits = why_not_writable(bench)
    if waits is not None:
        return dg.SkipReason(waits)
    room = planning.room_ahead(bench)
    batches = ask_for_owed(context.instance, bench, asked_by=ASKED_BY, max_batches=room)
    batches += ask_for_unfinished(context.instance, bench, max_batches=room - len(batches))
    scan = planning.look(bench, budget=planning.tick_budget(bench))
    for problem in scan.problems:
        context.log.warning(problem.message)
    batches += ask_for_owed(
        context.instance, bench, asked_by=ASKED_BY, max_batches=room - len(batches)
    )
    if not batches:
        return dg.SkipReason(_nothing_to_do(scan, room, len(bench.settings.sources)))
    return dg.SensorResult(
        run_requests=[run_request(batch, asked_by=ASKED_BY) for batch in batches]
    )


def _nothing_to_do(scan: Scan, room: int, sources: int) -> str:
    if not sources:
        return "no sources: list them in memclaw.toml ([[sources]] kind, root, include)"
    if not room:
        return "enough batches are waiting for a run already"
    return f"nothing is owed; {scan.trails} trails, {scan.opened} changed, {scan.windows} pinned"


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.CANCELED,
    monitored_jobs=[interview_windows],
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="A run that a person cancelled sets its windows to paused, until they are asked"
    " for again: materialise their partitions, or `memclaw-etl retry WINDOW`.",
)
def pause_cancelled(context: dg.RunStatusSensorContext, memclaw: Memclaw) -> None:
    """Pause the windows of a cancelled run."""
    batch_id = context.dagster_run.tags.get(BATCH_TAG)
    if batch_id is None:
        return
    paused = people.pause_batch(memclaw.bench, batch_id, actor="dagster UI")
    context.log.info("paused %d windows", len(paused))
