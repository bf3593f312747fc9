"""Homes whose interviewer is a scripted model, worked on stage by stage without Dagster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.lake.ledger import Ledger, Stage, Window, results
from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.report import StageReport
from memclaw_etl.stages.run import RunRequest, give_back, take, work
from tests.asking import MODEL
from tests.conftest import Clock
from tests.openai_server import ModelServer
from tests.staged import Home


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, clock: Clock, server: ModelServer) -> Home:
    (tmp_path / "trails").mkdir()
    return Home(opened(tmp_path, clock, server), clock, tmp_path / "trails")


def opened(path: Path, clock: Clock, server: ModelServer, **overrides: Any) -> Bench:
    model = {"name": MODEL, "base_url": server.url, "max_retries": 0, "timeout_s": 5.0}
    model |= overrides.pop("model", {})
    source = SourceSettings(kind="claude_code", root=path / "trails")
    given = {"sources": [source], "interviewer": "openai", **overrides}
    bench = open_home(load_settings(path / "home", model=model, **given))
    bench.__dict__["ledger"] = Ledger(bench.ledger.engine, bench.ledger.ledger_id, clock)
    return bench


def changed(home: Home, server: ModelServer, **overrides: Any) -> Home:
    """The same home in another process, with other settings."""
    bench = opened(home.trails.parent, home.clock, server, **overrides)
    return Home(bench, home.clock, home.trails, runs=home.runs + 100)


def counts(home: Home, one: Window, stage: Stage = Stage.MINI_REPORTS) -> dict[str, Any]:
    with home.ledger.read() as tx:
        return dict(results.current(tx, [one.window_id], stage)[one.window_id].counts)


def redo(
    home: Home, chosen: list[Window], interviewer: str = "openai",
    stages: tuple[Stage, ...] = tuple(Stage),
) -> StageReport:  # fmt: skip
    """A run of a backfill over committed windows."""
    home.runs += 1
    batch = planning.ask_anew(home.bench, chosen, interviewer=interviewer)
    assert batch is not None
    request = RunRequest(f"redo-{home.runs}", batch.batch_id, batch.partition_keys, False)
    report = StageReport(Stage.MASKED_CHUNKS)
    for stage in stages:
        held = take(home.bench, request)
        report = home.reports[stage] = work(home.bench, stage, request, held)
        if report.failed:
            give_back(home.bench, request.run_id, held)
            break
    return report
