"""The daemon on a home whose runs were killed; `run` beside it; lines that become memories."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import WindowState
from tests.crash.harness import MACHINE, Lab, assert_whole, daemon, dagster_runs, turns, wait_until
from tests.trail_lines import dumped, reply

pytestmark = [pytest.mark.crash, pytest.mark.e2e]

A, B, C = "ferry-a", "ferry-b", "ferry-c"
KILLED = 5
LIMITS = {"window_events": 6, "batch_windows": 4, "trickle_events": 2}


@dataclass
class Home:
    lab: Lab
    started_with: dict[str, int]
    """Dagster's runs by status when the daemon started."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Five runs were killed in their work, and the trails have grown; then the daemon starts."""
    lab = Lab(tmp_path_factory.mktemp("daemon"), limits=dict(LIMITS, batch_windows=1))
    lab.append(A, turns(0, 15, session=A))
    lab.append(B, turns(0, 7, session=B))
    lab.watch_trails(interviewer="verbatim")
    runs = [lab.start(plan={"slow_s": 120}) for _ in range(KILLED)]
    try:
        wait_until("five runs work", lambda: working(lab) == KILLED, seconds=120)
        started_with = dict(dagster_runs(lab))
    finally:
        for run in runs:
            run.kill()
            run.communicate(timeout=30)
    lab.append(A, turns(20, 5, session=A))
    lab.limits = dict(LIMITS)
    with daemon(lab):
        yield Home(lab, started_with)


def working(lab: Lab) -> int:
    """Runs that hold a window and look alive to Dagster."""
    if not (lab.home / "ledger.sqlite").exists():
        return 0
    held = sum(name.startswith("window:") for name in lab.look().leases)
    if not held:  # nobody has finished making Dagster's tables yet: we must not make them, too
        return 0
    return min(held, dagster_runs(lab)["STARTED"])


def all_done(lab: Lab) -> bool:
    """Every window is committed, and every trail at its end."""
    seen = lab.look()
    at_end = {
        f"cc:{MACHINE}:{path.stem}": (0, path.read_bytes().count(b"\n") - 1)
        for path in lab.trails.glob("*.jsonl")
    }
    finished = set(seen.states) <= {WindowState.COMMITTED, WindowState.NOISE}
    return finished and seen.frontiers == at_end


def test_everything_commits_after_five_killed_runs(home: Home) -> None:
    lab = home.lab
    assert home.started_with == {"STARTED": KILLED}  # two of them would block the queue
    wait_until("every window is committed", lambda: all_done(lab), seconds=150, every=1)
    wait_until("no run looks alive", lambda: "STARTED" not in dagster_runs(lab), seconds=60)
    assert_whole(lab, A, B)


def test_lines_of_a_watched_trail_become_memories_within_a_minute(home: Home) -> None:
    lab = home.lab
    wait_until("the daemon works", lambda: all_done(lab), seconds=150, every=1)
    before = set(lab.look().memory_ids)
    long = reply("The tide gauge needs a new cable. " * 70, 999, uuid="long", sessionId=C)
    lab.append(C, turns(700, 2, session=C, blank=3) + dumped(long) + b"\n")  # 2,000 chars: now
    wait_until("5 more memories", lambda: len(set(lab.look().memory_ids) - before) == 5, seconds=60)


def test_run_in_a_loop_beside_the_daemon(home: Home) -> None:
    lab = home.lab
    failed_before = dagster_runs(lab)["FAILURE"]
    for number in range(4):
        for session in (A, B, C):
            lab.append(session, turns(1000 + 20 * number, 3 + number % 3, session=session))
        lab.run()
    wait_until("every window is committed", lambda: all_done(lab), seconds=120, every=1)
    wait_until("no run looks alive", lambda: "STARTED" not in dagster_runs(lab), seconds=60)
    assert_whole(lab, A, B, C)
    assert dagster_runs(lab)["FAILURE"] == failed_before


def test_the_daemon_says_nothing_of_its_trails(home: Home) -> None:
    said = (home.lab.root / "daemon.log").read_text()
    assert "harbour map" not in said
    assert Path(home.lab.home / "dagster" / "dagster.yaml").exists()
