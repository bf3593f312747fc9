"""One window of a batch fails: the others commit, it is quarantined, skipped, and closed by hand."""

import json
import subprocess
from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import WindowState
from memclaw_etl.service.audit import audit
from tests.crash.harness import MACHINE, Lab, assert_whole, dagster_command, turns
from tests.trail_lines import dumped, reply

pytestmark = pytest.mark.crash

GOOD = [f"ferry-{number:02d}" for number in range(18)]
BAD = "ferry-bad"
STAGES = "masked_chunks,mini_reports,merged_report,memories,watermark"


def test_the_bad_one_is_set_aside_and_a_later_success_closes_the_hole(tmp_path: Path) -> None:
    lab = Lab(tmp_path, limits={"window_events": 2, "retry_delay_s": 0.1})
    for number, session in enumerate(GOOD):
        lab.append(session, turns(10 * number, 1, session=session))
    poison = dumped(reply("A poisonous answer.", 5, uuid="bad", sessionId=BAD)) + b"\n"
    lab.append(BAD, turns(500, 1, session=BAD, blank=0) + poison + poison.replace(b"bad", b"bad2"))
    lab.append(BAD, turns(501, 1, session=BAD, blank=0))

    first = lab.run(code=1, plan={"poison": "poisonous"})
    assert (first["windows_planned"], first["windows_committed"]) == (21, 20)
    assert (first["windows_failed"], first["windows_held"]) == (1, 1)
    problem = first["problems"][-1]
    bad_key = f"cc:{MACHINE}:{BAD}@2-3"
    assert problem["node"] == f"cc:{MACHINE}:{BAD}"
    assert bad_key in problem["message"]
    assert "FaultyModelError" in problem["message"]
    assert "poison" not in json.dumps(first)

    status = lab.status()
    assert all(status[session]["lag"] == 0 for session in GOOD)
    row = status[BAD]
    assert (row["last_seq"], row["held"], row["quarantined"], row["failed"]) == (1, 1, 1, 0)
    bad = next(one for one in lab.look().windows if one.partition_key == bad_key)
    assert (bad.state, bad.attempts) == (WindowState.QUARANTINED, 3)
    assert lab.run()["windows_planned"] == 0  # nothing is owed, and it is not tried again

    lab.cli("skip", bad_key, "--reason", "the model cannot read it", "--home", str(lab.home))
    row = lab.status()[BAD]
    assert (row["last_seq"], row["lag"], row["held"], row["skipped"]) == (5, 0, 0, 1)
    assert audit(lab.bench()) == []

    by_hand = [
        dagster_command("dagster"), "asset", "materialize", "-m", "memclaw_etl.definitions",
        "--select", STAGES, "--partition", bad_key,
    ]  # fmt: skip
    environment = lab.environment | {"DAGSTER_HOME": str(lab.home / "dagster")}
    done = subprocess.run(
        by_hand, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert_whole(lab)
    assert lab.status()[BAD]["skipped"] == 0
