"""Composition root: the one file that joins assets, sensors and resources."""

from collections.abc import Sequence

import dagster as dg

from assets.resources import Memclaw
from assets.stages import STAGES, node_status
from memclaw_etl.service.planning import Watch
from memclaw_etl.service.summary import RunSummary
from memclaw_etl.settings import SourceSettings
from memclaw_etl.stages.bench import Bench
from sensors.here import run_all
from sensors.jobs import interview_windows
from sensors.trails import pause_cancelled, trail_sensor
from sensors.upkeep import hourly_upkeep, upkeep

defs = dg.Definitions(
    assets=[*STAGES, node_status],
    jobs=[interview_windows, upkeep],
    schedules=[hourly_upkeep],
    sensors=[trail_sensor, pause_cancelled],
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
