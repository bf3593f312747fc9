"""Composition root: the one file that joins assets, sensors and resources."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.resources import Memclaw
from assets.stages import STAGES, node_status
from memclaw_etl.service.planning import Watch
from memclaw_etl.service.summary import RunSummary
from memclaw_etl.settings import SourceSettings
from memclaw_etl.stages.bench import Bench
from sensors.backfill import (
    Backfilled,
    Plan,
    backfill_here,
    look_only,
    model_job_sensor,
    nightly_backfill,
)
from sensors.here import run_all
from sensors.jobs import interview_windows
from sensors.trails import pause_cancelled, trail_sensor
from sensors.upkeep import hourly_upkeep, upkeep

defs = dg.Definitions(
    assets=[*STAGES, node_status],
    jobs=[interview_windows, upkeep],
    schedules=[hourly_upkeep, nightly_backfill],
    sensors=[trail_sensor, pause_cancelled, model_job_sensor],
    resources={"memclaw": Memclaw()},
    executor=dg.in_process_executor,
)


def run_in_process(
    bench: Bench,
    *,
    sources: Sequence[SourceSettings] | None,
    interviewer: str | None,
    flush: bool,
    watch: Watch,
) -> RunSummary:
    """Run the main job here, on the home's Dagster instance, until nothing is left to do."""
    return run_all(
        bench,
        defs.resolve_job_def(interview_windows.name),
        sources=sources,
        interviewer=interviewer,
        flush=flush,
        watch=watch,
    )


def backfill_in_process(bench: Bench, wanted: Plan, *, watch: Watch) -> Backfilled:
    """Interview windows again here, on the home's Dagster instance."""
    return backfill_here(bench, defs.resolve_job_def(interview_windows.name), wanted, watch=watch)


def plan_backfill(bench: Bench, wanted: Plan) -> Backfilled:
    """What a backfill would do now."""
    return look_only(bench, wanted)


def plan_of(bench: Bench, **wanted: Any) -> Plan:  # noqa: ANN401 - fields of Plan
    """What a backfill may do, by the command line; what is not said is not limited."""
    return Plan(**{"interviewer": bench.settings.interviewer} | wanted)
