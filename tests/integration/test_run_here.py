"""A run that fails outside of its windows is an error, and never silence."""

from pathlib import Path

import pytest

from memclaw_etl.definitions import run_in_process
from memclaw_etl.errors import SurroundingsError
from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.service.planning import Watch
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from tests.bench.invented import write_trails


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = write_trails(tmp_path / "projects", 2)
    source = SourceSettings(kind="claude_code", root=root, include=("*",))
    return open_home(load_settings(tmp_path / "home", sources=(source,)))


def run(bench: Bench) -> int:
    return run_in_process(
        bench, sources=None, interviewer=None, flush=True, watch=Watch()
    ).windows_committed


def test_a_run_that_cannot_open_the_home_raises_and_its_windows_are_owed_at_once(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCLAW_HOME", str(tmp_path / "another home"))
    with pytest.raises(SurroundingsError, match="none of them is to blame") as caught:
        run(bench)
    assert caught.value.exit_code == 75
    assert len(planning.owed(bench, limit=9)) == 2
    monkeypatch.setenv("MEMCLAW_HOME", str(bench.settings.home))
    assert run(bench) == 2
