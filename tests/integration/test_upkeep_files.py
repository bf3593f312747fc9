"""Upkeep removes what killed writers left, once it is old, and nothing else."""

import os
from pathlib import Path

import dagster as dg
import pytest

from assets.resources import Memclaw
from memclaw_etl.definitions import defs
from memclaw_etl.lake.ledger import Stage
from memclaw_etl.service.audit import audit
from memclaw_etl.service.upkeep import ORPHAN_AGE_S, drop_half_written, drop_orphan_files
from tests.staged import Home, home

__all__ = ["home"]

LEFT = (
    "index/memories.lance/data/.tmpAbC123",
    "index/memories.lance/_indices/11112222/.tmpXyZ987",
    "responses/0a1b2c3d4e5f/ab/.abcd.json.0011aabb",
    "vectors/0123456789abcdef/cd/.cdef.f32.2233ccdd",
)
ORPHAN = f"stages/{Stage.MASKED_CHUNKS}/aa/nobody-names-me.parquet"


def leave(lake: Path, name: str) -> Path:
    file = lake / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"half of a row")
    return file


def grow_old(*files: Path) -> None:
    for file in files:
        at = file.stat().st_mtime - ORPHAN_AGE_S - 60
        os.utime(file, (at, at))


def files_of(lake: Path) -> set[str]:
    return {str(file.relative_to(lake)) for file in lake.rglob("*") if file.is_file()}


@pytest.fixture
def lake(home: Home) -> Path:
    home.talk("a")
    home.run(home.pin())
    home.bench.stored_responses("default").put("ab" * 20, b"{}")
    return home.bench.settings.lake_root


def test_old_leftovers_go_and_all_that_is_in_use_stays(home: Home, lake: Path) -> None:
    used, memories = files_of(lake), home.memories()
    left = [leave(lake, name) for name in (*LEFT, ORPHAN)]
    grow_old(*(lake / name for name in used), *left)
    assert drop_half_written(home.bench) == len(LEFT)
    assert files_of(lake) == used | {ORPHAN}
    assert drop_orphan_files(home.bench) == 1
    assert files_of(lake) == used
    assert home.memories() == memories
    assert audit(home.bench) == []


def test_what_a_writer_may_still_be_at_stays(home: Home, lake: Path) -> None:
    for name in (*LEFT, ORPHAN):
        leave(lake, name)
    before = files_of(lake)
    assert drop_half_written(home.bench) == 0
    assert drop_orphan_files(home.bench) == 0
    assert files_of(lake) == before


def test_the_hourly_job_removes_both(
    home: Home, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep = defs.resolve_job_def("upkeep")
    grow_old(*(leave(lake, name) for name in (*LEFT, ORPHAN)))
    monkeypatch.setenv("MEMCLAW_HOME", str(home.bench.settings.home))
    with dg.DagsterInstance.ephemeral() as instance:
        assert upkeep.execute_in_process(
            instance=instance, resources={"memclaw": Memclaw()}
        ).success
    assert not files_of(lake) & {*LEFT, ORPHAN}
