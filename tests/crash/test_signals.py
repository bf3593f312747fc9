"""SIGTERM and SIGINT give windows back at once; SQL answers while a run writes."""

import signal
import subprocess
from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import Stage, results, windows
from tests.crash.harness import Lab, assert_whole, turns, wait_until

pytestmark = pytest.mark.crash

SESSIONS = [f"ferry-{number:02d}" for number in range(12)]


def slow_run(root: Path) -> tuple[Lab, "subprocess.Popen[str]"]:
    """A run that has interviewed some of its windows, and has seconds to go."""
    lab = Lab(root)
    for number, session in enumerate(SESSIONS):
        lab.append(session, turns(10 * number, 2, session=session))
    process = lab.start(plan={"slow_s": 0.7})
    ledger = lab.home / "ledger.sqlite"
    wait_until("there is a ledger", ledger.exists, seconds=60, every=0.1)
    wait_until("some windows are interviewed", lambda: reports(lab) >= 2, seconds=60, every=0.1)
    return lab, process


def reports(lab: Lab) -> int:
    return len(list((lab.home / "lake" / "stages" / "mini_reports").glob("*/*.parquet")))


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_gives_the_windows_back_at_once(tmp_path: Path, sign: signal.Signals) -> None:
    lab, process = slow_run(tmp_path)
    process.send_signal(sign)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err[-2000:]
    assert out == ""
    assert "nothing is lost" in err

    bench = lab.bench()
    seen = lab.look()
    assert seen.leases == []
    with bench.ledger.read() as tx:
        owed = windows.owed(tx, now=bench.ledger.now(), limit=100)
        kept = results.all_files(tx, Stage.MINI_REPORTS)
    assert len(owed) == len(SESSIONS)
    assert all(window.attempts == 0 for window in owed)
    files = reports(lab)
    assert lab.run()["windows_committed"] == len(SESSIONS)
    assert_whole(lab)
    assert len(kept) >= 1
    assert reports(lab) == files + len(SESSIONS) - len(kept)  # what was kept is not asked again


def test_sql_answers_while_a_run_is_writing(tmp_path: Path) -> None:
    lab, process = slow_run(tmp_path)
    try:
        counted = lab.sql("select memory_type, count(*) as n from memories group by 1")
        told = lab.sql("select count(*) as n from mini_reports")
        states = lab.sql("select state, count(*) as n from windows group by 1")
        assert process.poll() is None
    finally:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err[-2000:]
    assert counted == []
    assert told[0]["n"] > 0
    assert states == [{"state": "pinned", "n": len(SESSIONS)}]
    after = lab.sql("select memory_type, count(*) as n from memories group by 1")
    assert after == [{"memory_type": "episode", "n": 4 * len(SESSIONS)}]
