"""A home with trails and stores, worked on stage by stage without Dagster."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import Ledger, Stage, Window, results
from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.report import StageReport
from memclaw_etl.stages.run import RunRequest, give_back, take, work
from tests.conftest import Clock
from tests.ledger_rows import again
from tests.trail_lines import joined, prompt, reply

FAKE = "hunter2" + "-Zx9q8w7e6"
PLANTED = "DB_PASSWORD=" + FAKE


@dataclass
class Home:
    """A home with its trails, and runs over it that go through the stages one by one."""

    bench: Bench
    clock: Clock
    trails: Path
    runs: int = 0
    reports: dict[Stage, StageReport] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return self.bench.ledger

    def talk(self, name: str, count: int = 3, first: int = 0) -> Path:
        path = self.trails / f"{name}.jsonl"
        with path.open("ab") as file:
            for number in range(first, first + count):
                question = f"Please decide about topic {name} {number}. {PLANTED}{number}"
                answer = f"Decision: we use plan {name}{number} because it is simpler."
                at = 1000 * ord(name) + 2 * number
                file.write(joined([prompt(question, at), reply(answer, at + 1)]))
        return path

    def pin(self) -> list[Window]:
        planning.look(self.bench, flush=True)
        return planning.owed(self.bench, limit=100)

    def run(self, due: list[Window], *, stages: tuple[Stage, ...] = tuple(Stage)) -> StageReport:
        """One run over a batch of these windows; stops after the first stage that failed."""
        self.runs += 1
        batch = planning.ask(self.bench, due, asked_by="test")
        request = RunRequest(f"run-{self.runs}", batch.batch_id, batch.partition_keys, False)
        self.reports = {}
        report = StageReport(Stage.MASKED_CHUNKS)
        for stage in stages:
            held = take(self.bench, request)
            report = self.reports[stage] = work(self.bench, stage, request, held)
            if report.failed:
                give_back(self.bench, request.run_id, held)
                break
        return report

    def memories(self) -> list[tuple[str, str]]:
        rows = self.bench.memory_rows().select(["memory_id", "content"]).to_pylist()
        return sorted((row["memory_id"], row["content"]) for row in rows)

    def file(self, one: Window, stage: Stage) -> Path:
        with self.ledger.read() as tx:
            named = results.current(tx, [one.window_id], stage)[one.window_id]
        return Path(self.bench.files.absolute(named.path))


@pytest.fixture
def home(tmp_path: Path, clock: Clock) -> Iterator[Home]:
    trails = tmp_path / "trails"
    trails.mkdir()
    source = SourceSettings(kind="claude_code", root=trails)
    bench = open_home(load_settings(tmp_path / "home", sources=[source]))
    bench.__dict__["ledger"] = Ledger(bench.ledger.engine, bench.ledger.ledger_id, clock)
    made = Home(bench, clock, trails)
    yield made
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file() and "index" not in path.parts:
            assert FAKE.encode() not in path.read_bytes(), f"a secret stands in {path}"
    bench.ledger.engine.dispose()


def states(home: Home, chosen: list[Window]) -> list[str]:
    return [str(again(home.ledger, one).state) for one in chosen]
