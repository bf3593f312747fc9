"""A home whose index another version of this program made: every way in says what to do."""

from pathlib import Path

import pytest
from sqlalchemy import delete, update

from memclaw_etl.lake import memory_pin
from memclaw_etl.lake.ledger import Stage, embedded, results
from memclaw_etl.lake.ledger.schema import meta, windows
from memclaw_etl.lake.memory_rows import ROW_VERSION
from memclaw_etl.masking import MASKER_VERSION
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from memclaw_etl.stages import bench as bench_module
from memclaw_etl.stages import embedding
from memclaw_etl.stages.bench import Bench
from tests import homes
from tests.cli import call
from tests.trail_lines import joined, prompt, reply

TEXT = "Decision: we use Redis for the job queue because it is simpler."


def opened(home: Path) -> Bench:
    return open_home(load_settings(home))


def run(home: Path) -> tuple[object, ...]:
    return ("run", "--home", home, "--source", f"claude_code={home.parent / 'trails'}", "--flush")


def talk(home: Path, name: str, at: int) -> None:
    trails = home.parent / "trails"
    trails.mkdir(exist_ok=True)
    lines = [prompt(f"What about {name}?", at), reply(TEXT.replace("Redis", name), at + 1)]
    (trails / f"{name}.jsonl").write_bytes(joined(lines))


@pytest.fixture(params=["without a note", "with one"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that an earlier version filled; the earliest ones left no note in the ledger."""
    home = tmp_path / "home"
    talk(home, "Redis", 0)
    with monkeypatch.context() as patch:
        for module in (memory_pin, embedding):
            patch.setattr(module, "ROW_VERSION", ROW_VERSION - 1)
        assert call(*run(home)).code == 0
    if request.param == "without a note":
        with opened(home).ledger.write() as tx:
            tx.execute(delete(meta).where(meta.c.key == embedded.KEY))
    return home


def test_every_command_says_rebuild_and_run_begins_no_work(home: Path) -> None:
    talk(home, "Kafka", 500)
    for command in (
        run(home),
        ("recall", "queue", "--home", home),
        ("memories", "--home", home),
        ("audit", "--home", home),
        ("sql", "select * from memories", "--home", home),
        ("reembed", "--home", home),
        ("forget", "mem_x", "--home", home),
        ("demo", "--home", home),
        ("remask", "--home", home),
        ("undo", "x", "--reason", "y", "--home", home),
        ("delete", "mem_x", "--reason", "y", "--home", home),
    ):
        told = call(*command)
        assert (told.code, told.stdout) == (2, b""), command
        assert "run `memclaw-etl rebuild`" in " ".join(told.said.split()), command
        assert "Traceback" not in told.said
    with opened(home).ledger.read() as tx:
        assert len(tx.execute(windows.select()).all()) == 1  # nothing was pinned
    status = call("status", "--home", home)
    assert status.code == 0
    assert "rebuild" in status.said


def test_remask_changes_nothing_that_it_could_not_finish(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bench_module, "open_masker", lambda cache_dir: homes.WeakMasker())
        assert call("remask", "--home", home).code == 2
    with opened(home).ledger.read() as tx:
        [file] = results.all_files(tx, Stage.MASKED_CHUNKS)
    assert file.counts["masker_version"] == MASKER_VERSION


def test_after_a_rebuild_everything_goes_on(home: Path) -> None:
    talk(home, "Kafka", 500)
    assert call("rebuild", "--home", home).code == 0
    assert call(*run(home)).code == 0
    found = call("recall", "which job queue?", "--status", "any", "--home", home, "--json").json
    assert {one["content"] for one in found} == {TEXT, TEXT.replace("Redis", "Kafka")}
    assert call("audit", "--home", home).code == 0
    assert "rebuild" not in call("status", "--home", home).said


def test_an_index_of_another_ledger_is_told_apart(tmp_path: Path) -> None:
    home = tmp_path / "home"
    talk(home, "Redis", 0)
    assert call(*run(home)).code == 0
    with opened(home).ledger.write() as tx:
        tx.execute(update(meta).where(meta.c.key == "ledger_id").values(value="f" * 32))
    (home / "dagster" / "memclaw-ledger-id").unlink()
    told = call("recall", "queue", "--home", home)
    assert told.code == 2
    assert "it belongs to ledger" in told.said
