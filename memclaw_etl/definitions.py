"""Composition root: the one file that joins assets, sensors and resources."""

import dagster as dg

from assets.resources import Memclaw
from assets.stages import STAGES, node_status
from sensors.jobs import interview_windows
from sensors.trails import pause_cancelled, trail_sensor

defs = dg.Definitions(
    assets=[*STAGES, node_status],
    jobs=[interview_windows],
    sensors=[trail_sensor, pause_cancelled],
    resources={"memclaw": Memclaw()},
    executor=dg.in_process_executor,
)
