"""The asset graph as people see it in the UI, held still by a golden file.

A change of the graph shows here as a diff. When it is meant, write the file anew and look at the
diff before you commit it:

    MEMCLAW_UPDATE_GOLDEN=1 python -m pytest tests/unit/test_asset_graph.py
"""

import json
import os
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memclaw_etl.definitions import defs

GOLDEN = Path(__file__).parents[1] / "golden" / "asset_graph.json"
# The fixture that hides MEMCLAW_* from tests has not run yet when this module is imported.
UPDATE = os.environ.get("MEMCLAW_UPDATE_GOLDEN") == "1"

GRAPH = defs.resolve_asset_graph()
REPOSITORY = defs.get_repository_def()


def asset(key: dg.AssetKey) -> dict[str, Any]:
    node = GRAPH.get(key)
    schema = node.metadata.get("dagster/column_schema")
    return {
        "deps": sorted(one.to_user_string() for one in node.parent_keys),
        "group": node.group_name,
        "partitions": node.partitions_def.name if node.partitions_def else None,
        "executable": node.is_executable,
        "one_run_per_backfill": bool(
            node.backfill_policy and node.backfill_policy.max_partitions_per_run is None
        ),
        "automation_condition": str(node.automation_condition or "none"),
        "kinds": sorted(node.kinds),
        "owners": sorted(node.owners),
        "tags": {
            name: value
            for name, value in sorted(node.tags.items())
            if not name.startswith("dagster/kind/")
        },
        "checks": {one.name: check(one) for one in sorted(node.check_keys, key=str)},
        "columns": [f"{column.name}: {column.type}" for column in schema.columns] if schema else [],
    }


def check(key: dg.AssetCheckKey) -> dict[str, Any]:
    spec = GRAPH.get_check_spec(key)
    return {"blocking": spec.blocking}


def job(name: str) -> dict[str, Any]:
    definition = REPOSITORY.get_job(name)
    keys = definition.asset_layer.executable_asset_keys
    return {
        "assets": sorted(one.to_user_string() for one in keys),
        "executor": definition.executor_def.name,
        "tags": dict(sorted(definition.tags.items())),
    }


def sensor(definition: dg.SensorDefinition) -> dict[str, Any]:
    return {
        "kind": definition.sensor_type.value,
        "status": definition.default_status.value,
        "minimum_interval_s": definition.minimum_interval_seconds,
        "starts": [one.name for one in definition.jobs] if definition.has_jobs else [],
    }


def schedule(definition: dg.ScheduleDefinition) -> dict[str, Any]:
    return {
        "status": definition.default_status.value,
        "cron": definition.cron_schedule,
        "starts": definition.job_name,
    }


def snapshot() -> dict[str, Any]:
    """Everything of the graph that a person or another tool could come to rely on."""
    keys = sorted(GRAPH.get_all_asset_keys(), key=str)
    jobs = sorted(one.name for one in REPOSITORY.get_all_jobs() if not one.name.startswith("__"))
    sensors = sorted(REPOSITORY.sensor_defs, key=lambda one: one.name)
    return {
        "assets": {key.to_user_string(): asset(key) for key in keys},
        "jobs": {name: job(name) for name in jobs},
        "schedules": {
            one.name: schedule(one)
            for one in sorted(REPOSITORY.schedule_defs, key=lambda one: one.name)
        },
        "sensors": {one.name: sensor(one) for one in sensors},
        "resources": sorted(REPOSITORY.get_top_level_resources()),
    }


def test_the_graph_is_as_the_golden_file_says() -> None:
    found = snapshot()
    if UPDATE:
        GOLDEN.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        pytest.skip(f"{GOLDEN.name} was written anew")
    assert found == json.loads(GOLDEN.read_text())


def test_assets_stand_in_the_order_of_the_stages() -> None:
    order = [key.to_user_string() for key in GRAPH.toposorted_asset_keys]
    assert order == [
        "masked_chunks", "mini_reports", "merged_report", "memories", "watermark", "node_status",
    ]  # fmt: skip


def test_every_sensor_and_schedule_runs_by_default_but_the_one_that_costs_money() -> None:
    for definition in [*REPOSITORY.sensor_defs, *REPOSITORY.schedule_defs]:
        expected = "STOPPED" if definition.name == "nightly_backfill" else "RUNNING"
        assert definition.default_status.value == expected, definition.name


def test_dagster_never_retries_windows_by_itself() -> None:
    over_windows = [one for one in REPOSITORY.get_all_jobs() if one.name == "interview_windows"]
    assert over_windows
    for definition in over_windows:
        assert definition.tags["dagster/retry_on_asset_or_op_failure"] == "false"
        assert definition.tags["dagster/max_retries"] == "0"


def test_everything_is_described() -> None:
    described = [
        *(GRAPH.get(key).description for key in GRAPH.get_all_asset_keys()),
        *(GRAPH.get_check_spec(key).description for key in GRAPH.asset_check_keys),
        *(one.description for one in REPOSITORY.sensor_defs),
        *(one.description for one in REPOSITORY.schedule_defs),
    ]
    assert all(text and len(text) > 40 for text in described)
