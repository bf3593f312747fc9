"""`backfill`, the nightly schedule and the Batch API's sensor, through Dagster."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from assets.resources import Memclaw
from memclaw_etl.examples import example_sources
from memclaw_etl.service.audit import audit
from memclaw_etl.stages.bench import Bench
from sensors.backfill import model_job_sensor, nightly_backfill
from sensors.here import open_instance
from tests.asking import MODEL
from tests.cli import call
from tests.openai_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Path:
    """A home whose windows were interviewed by rules, and whose settings now name a model."""
    folder = tmp_path / "home"
    folder.mkdir()
    lines = []
    for kind, root, include in example_sources():
        globs = ", ".join(f'"{one}"' for one in include)
        lines += ["[[sources]]", f'kind = "{kind}"', f'root = "{root}"', f"include = [{globs}]"]
    sources = "\n".join(lines)
    (folder / "memclaw.toml").write_text(sources)
    assert call("run", "--flush", "--json", "--home", folder).code == 0
    (folder / "memclaw.toml").write_text(
        f'interviewer = "openai"\n[model]\nname = "{MODEL}"\nbase_url = "{server.url}"\n'
        f"[backfill]\nbatch_api = true\n{sources}"
    )
    return folder


def interviewers(home: Path) -> set[str]:
    found = call("sql", "select distinct interviewer from items", "--home", home, "--json").json
    return {row["interviewer"] for row in found}


def test_backfill_says_what_it_would_do_does_it_and_is_done(
    home: Path, server: ModelServer
) -> None:
    planned = call("backfill", "--dry-run", "--json", "--home", home).json
    assert planned["outdated"] == planned["chosen"] > 2
    assert planned["estimated_tokens"] > 1_000
    assert server.calls == []
    few = call("backfill", "--limit", 1, "--json", "--home", home).json
    assert (few["windows_done"], few["windows_failed"]) == (1, 0)
    assert interviewers(home) == {"heuristic", "openai"}
    rest = call("backfill", "--order", "valuable", "--json", "--home", home)
    assert rest.code == 0
    assert rest.json["windows_done"] == planned["outdated"] - 1
    assert rest.json["run"]["llm_calls"] == rest.json["windows_done"]
    assert interviewers(home) == {"openai"}
    again = call("backfill", "--json", "--home", home).json
    assert (again["outdated"], again["windows_done"]) == (0, 0)
    assert call("audit", "--home", home).code == 0
    assert call("backfill", "--home", home).code == 0


def test_a_budget_ends_a_backfill_and_the_next_goes_on(home: Path, server: ModelServer) -> None:
    whole = call("backfill", "--dry-run", "--json", "--home", home).json
    budget = whole["estimated_tokens"] // 2
    first = call("backfill", "--budget", budget, "--json", "--home", home).json
    assert 0 < first["windows_done"] < whole["outdated"]
    assert first["run"]["llm_tokens"] <= budget
    assert call("backfill", "--json", "--home", home).code == 0
    assert interviewers(home) == {"openai"}


def test_a_backfill_while_the_endpoint_is_down_changes_nothing(
    home: Path, server: ModelServer
) -> None:
    server.down = True
    failed = call("backfill", "--json", "--home", home)
    assert failed.code == 1
    assert failed.json["windows_failed"] > 0
    assert interviewers(home) == {"heuristic"}
    assert call("audit", "--home", home).code == 0


def test_backfill_through_the_batch_api_comes_back_for_its_answers(
    home: Path, server: ModelServer
) -> None:
    server.finish_batches = False
    handed = call("backfill", "--batch-api", "--json", "--home", home).json
    assert handed["handed_in"] == handed["outdated"]
    assert (handed["jobs_open"], handed["windows_done"]) == (1, 0)
    server.finish_batches = True
    done = call("backfill", "--batch-api", "--json", "--home", home).json
    assert (done["windows_done"], done["jobs_open"]) == (handed["outdated"], 0)
    assert server.calls == []
    assert interviewers(home) == {"openai"}
    assert call("audit", "--home", home).code == 0


@pytest.mark.parametrize(
    "arguments",
    [("--order", "newest"), ("--interviewer", "nobody"),
     ("--interviewer", "heuristic", "--batch-api"), ("--limit", "0")],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(home: Path, arguments: tuple[str, ...]) -> None:
    assert call("backfill", *arguments, "--home", home).code == 2


def test_the_schedule_hands_in_and_the_sensor_asks_for_what_was_answered(
    home: Path, server: ModelServer
) -> None:
    resource = Memclaw(home=str(home))
    with open_instance(home / "dagster") as instance:
        night = dg.build_schedule_context(instance=instance, resources={"memclaw": resource})
        assert nightly_backfill(night) == []  # all of it waits at the Batch API
        poll = dg.build_sensor_context(instance=instance, resources={"memclaw": resource})
        answered = model_job_sensor(poll)
        assert isinstance(answered, dg.SensorResult)
        assert answered.run_requests
        assert len(server.batches) == 1
        idle = dg.build_sensor_context(instance=instance, resources={"memclaw": resource})
        assert isinstance(model_job_sensor(idle), dg.SkipReason)
    assert server.calls == []


def test_the_schedule_asks_for_runs_where_no_batch_is_wanted(
    home: Path, server: ModelServer
) -> None:
    settings = home / "memclaw.toml"
    settings.write_text(settings.read_text().replace("batch_api = true", "windows_per_night = 2"))
    resource = Memclaw(home=str(home))
    with open_instance(home / "dagster") as instance:
        night = dg.build_schedule_context(instance=instance, resources={"memclaw": resource})
        requests = nightly_backfill(night)
        assert isinstance(requests, list)
        assert requests
        again = dg.build_schedule_context(instance=instance, resources={"memclaw": resource})
        nightly_backfill(again)  # those that were asked for are not asked for twice
    bench: Bench = resource.bench
    assert audit(bench) == []
