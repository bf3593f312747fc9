"""kill -9 at every step of `forget`, `forget --erase` and `rebuild`; then the same command again."""

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.lake.ledger import Stage, leases, results, unfinished, windows
from memclaw_etl.lake.ledger.schema import meta, tombstones, touched_groups
from memclaw_etl.lake.ledger.schema_memories import forgotten_events, statement_edges
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench
from tests import homes
from tests.cli import call
from tests.crash.forget_driver import ERASE, FORGET, REBUILD
from tests.crash.harness import ROOT, slow
from tests.trail_lines import joined, prompt, reply

pytestmark = pytest.mark.crash

OLD = "Decision: we use Redis for the job queue because it is simpler."
SAME = "Decision: Redis is used for the job queue because it is simpler."
KEPT = "Decision: the export timeout is 30 s, since clients wait."
QUOTED = f"Noted, and to be kept. {OLD} We go on with the pages."
TRACES = (OLD, SAME, "Redis", "redi")
ALWAYS = {
    ("forget", "in_tombstones", 1), ("forget", "tombstones", 1), ("forget", "after_index", 1),
    ("erase", "file", 3), ("erase", "pointers", 1), ("erase", "answers", 1),
    ("erase", "before_new_words", 1), ("erase", "before_wipe", 1),
    ("rebuild", "in_relations", 1), ("rebuild", "rows", 3), ("rebuild", "before_new_words", 1),
}  # fmt: skip
"""The others run with MEMCLAW_TEST_ALL=1."""
STEPS = [
    *(("forget", point, 1) for point in FORGET),
    *(("erase", point, 1) for point in (*FORGET, *ERASE)),
    *(("erase", point, 3) for point in ("file", "in_pointers", "pointers", "old_file")),
    ("erase", "after_index", 2), ("erase", "note_ended", 2), ("erase", "note_ended", 3),
    *(("rebuild", point, 1) for point in REBUILD),
    ("rebuild", "relations", 3), ("rebuild", "rows", 3),
]  # fmt: skip
"""(what, point, how often it came there)"""


def cases(*what: str) -> list[Any]:
    chosen = [step for step in STEPS if step[0] in what]
    return [pytest.param(*step, marks=[] if step in ALWAYS else slow) for step in chosen]


@dataclass(frozen=True)
class Made:
    """A home that was never touched by a kill, and the memory that is to go."""

    home: Path
    memory_id: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    root = tmp_path_factory.mktemp("forget")
    trails = root / "trails"
    trails.mkdir()
    for number, text in enumerate((OLD, SAME, KEPT, QUOTED)):
        lines = [prompt(f"What about point {number}?", 100 * number), reply(text, 100 * number + 1)]
        (trails / f"{number}.jsonl").write_bytes(joined(lines))
    ran = call("run", "--home", root / "home", "--source", f"claude_code={trails}", "--flush")
    assert ran.code == 0
    bench = opened(root / "home")
    bench.stored_responses("default").put("ab" * 20, f'"{OLD}"'.encode())
    found = bench.memory_rows().to_pylist()
    [memory_id] = [row["memory_id"] for row in found if len(row["window_keys"]) > 1]
    return Made(root / "home", memory_id)


def opened(home: Path) -> Bench:
    return open_home(load_settings(home))


def copied(home: Path, to: Path) -> Path:
    return shutil.copytree(home, to)


def state(home: Path) -> dict[str, Any]:
    """All that is durable, but for the names of files and the times of what people did."""
    bench = opened(home)
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
    with bench.ledger.read() as tx:
        known = windows.all_windows(tx)
        current = {
            (window.partition_key, stage): file
            for stage in Stage
            for window in known
            for file in results.current(tx, [window.window_id], stage).values()
        }
        tombs = tx.execute(tombstones.select()).mappings().all()
        events = tx.execute(forgotten_events.select()).mappings().all()
        return {
            "memories": sorted(map(repr, bench.index.all_rows(with_vectors=True).to_pylist())),
            "windows": [(one.partition_key, one.state, one.attempts) for one in known],
            "files": {
                key: (file.input_hash, bench.files.read(file.path).to_dicts() if file.path else [])
                for key, file in current.items()
            },
            "on disk": len(list(bench.files.names())),
            "groups": results.all_groups(tx),
            "edges": sorted(map(tuple, tx.execute(statement_edges.select()))),
            "touched": tx.execute(touched_groups.select()).all(),
            "leases": tx.execute(leases.leases.select()).all(),
            "tombstones": sorted(
                (row["memory_id"], row["content_hash"], tuple(row["evidence"]), row["reason"])
                for row in tombs
            ),
            "events": sorted((row["identity"], row["is_erased"]) for row in events),
            "unfinished": [
                row.key for row in tx.execute(meta.select()) if row.key.startswith("unfinished")
            ],
            "answers": list(bench.stored_responses("default").names()),
        }


def killed(home: Path, do: str, memory_id: str, point: str, nth: int) -> None:
    command = [sys.executable, "-m", "tests.crash.forget_driver", home, do, memory_id, point, nth]
    died = subprocess.run(
        [str(one) for one in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert died.returncode == -signal.SIGKILL, died.stderr[-2000:]


def shown(home: Path) -> str:
    """What readers are shown of the topic."""
    asked = [
        call("recall", OLD, "-k", 50, "--status", "any", "--home", home),
        call("sql", "select content from memories", "--home", home),
    ]
    assert [one.code for one in asked] == [0, 0]
    return "".join(one.stdout.decode() for one in asked)


def again(home: Path, do: str, memory_id: str) -> None:
    erase = ["--erase"] if do == "erase" else []
    done = call("forget", memory_id, *erase, "--reason", "asked", "--home", home, "--json")
    assert done.code == 0, done.said


@pytest.fixture(scope="module")
def unkilled(made: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is there when nobody kills anything; after a second time, too."""
    found = {}
    for do in ("forget", "erase"):
        home = copied(made.home, tmp_path_factory.mktemp(do) / "home")
        again(home, do, made.memory_id)
        found[do] = state(home)
        again(home, do, made.memory_id)
        assert state(home) == found[do]
        assert not found[do]["unfinished"]
    return found


@pytest.mark.parametrize(("do", "point", "nth"), cases("forget", "erase"))
def test_a_killed_forget_shows_nothing_and_ends_as_if_it_had_never_been_killed(
    made: Made, unkilled: dict[str, dict[str, Any]], tmp_path: Path, do: str, point: str, nth: int
) -> None:
    home = copied(made.home, tmp_path / "home")
    killed(home, do, made.memory_id, point, nth)
    looked_at = copied(home, tmp_path / "looked-at")
    assert ("Redis" in shown(looked_at)) == (point == "in_tombstones")
    assert KEPT in shown(looked_at)
    again(home, do, made.memory_id)
    assert state(home) == unkilled[do]
    assert call("audit", "--home", home, "--json").json == {"findings": []}
    if do == "erase":
        assert homes.holding(home, TRACES) == {}


@pytest.mark.parametrize(("point", "nth"), [("file", 2), ("before_wipe", 1)])
def test_an_erasure_that_was_cut_short_is_a_finding(
    made: Made, tmp_path: Path, point: str, nth: int
) -> None:
    home = copied(made.home, tmp_path / "home")
    killed(home, "erase", made.memory_id, point, nth)
    found = call("audit", "--home", home, "--json").json["findings"]
    assert (made.memory_id, "changes_ended") in {(one["where"], one["check"]) for one in found}


@pytest.mark.parametrize(("do", "point", "nth"), cases("rebuild"))
def test_a_killed_rebuild_leaves_a_whole_index_and_whole_relations(
    made: Made, tmp_path: Path, do: str, point: str, nth: int
) -> None:
    home = copied(made.home, tmp_path / "home")
    before = state(home)
    killed(home, do, made.memory_id, point, nth)
    assert call("audit", "--home", home, "--json").json == {"findings": []}
    assert OLD in shown(home)
    assert state(home) == before
    assert call("rebuild", "--home", home).code == 0
    assert state(home) == before


def test_a_forget_that_was_cut_short_is_ended_by_whoever_looks(made: Made, tmp_path: Path) -> None:
    home = copied(made.home, tmp_path / "home")
    killed(home, "forget", made.memory_id, "tombstones", 1)
    found = call("audit", "--home", home, "--json").json["findings"]
    assert {one["check"] for one in found} >= {"changes_ended", "stays_forgotten"}
    assert "Redis" not in shown(home)
    assert call("audit", "--home", home, "--json").json == {"findings": []}
    bench = opened(home)
    with bench.ledger.read() as tx:
        assert unfinished.begun(tx, unfinished.FORGET) == []
