"""Bad trails through the command line: one clear message each, and nobody else suffers."""

import ctypes
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.crash.harness import CLI, MACHINE, Lab, assert_whole, turns
from tests.trail_lines import dumped, prompt, reply, tool_result

pytestmark = pytest.mark.e2e

GOOD = "ferry-good"
MB = 1024 * 1024
_CAPBSET_DROP, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2


def obey_permissions() -> None:
    """Even root may read only what the mode allows, from the next exec on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)


def run_as_anybody(lab: Lab) -> tuple[int, dict[str, Any], str]:
    """`run` that permissions bind, whoever runs the tests: exit code, summary, stderr."""
    done = subprocess.run(
        [*CLI, "run", *lab.source, "--flush", "--json"], env=lab.environment, text=True,
        capture_output=True, timeout=240, check=False, preexec_fn=obey_permissions,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return done.returncode, json.loads(done.stdout), done.stderr


def problems_of(summary: dict[str, Any], session: str) -> list[dict[str, Any]]:
    return [one for one in summary["problems"] if one["node"] == f"cc:{MACHINE}:{session}"]


def lab_with_a_good_trail(root: Path) -> Lab:
    lab = Lab(root)
    lab.append(GOOD, turns(0, 3, session=GOOD))
    return lab


def test_every_kind_of_bad_trail_at_once(tmp_path: Path) -> None:
    lab = lab_with_a_good_trail(tmp_path)
    lab.append("zero", b"")
    lab.append("blank", b"\n\n\n")
    lab.append("binary", os.urandom(20_000).replace(b"{", b"") + b"\n")
    lab.append("closed", turns(50, 1, session="closed"))
    lab.trail("closed").chmod(0)
    (lab.trails / "folder.jsonl").mkdir()
    os.mkfifo(lab.trails / "pipe.jsonl")
    (lab.trails / "dangling.jsonl").symlink_to(lab.trails / "nowhere.jsonl")

    code, summary, _ = run_as_anybody(lab)

    assert code == 0
    assert summary["windows_failed"] == 0
    assert summary["trail_problems"] >= 3
    for session, reason in {
        "zero": "empty",
        "binary": "not_a_trail",
        "closed": "unreadable",
    }.items():
        (problem,) = problems_of(summary, session)
        assert problem["code"] == reason
        assert session in problem["message"]
    assert problems_of(summary, GOOD) == []
    assert summary["quarantined_lines"] >= 1
    assert_whole(lab, GOOD)
    status = lab.status()
    assert status["closed"]["problem_code"] == "unreadable"
    assert status[GOOD]["problem_code"] is None

    lab.trail("closed").chmod(0o600)
    _, after, _ = run_as_anybody(lab)
    assert problems_of(after, "closed") == []
    assert_whole(lab, GOOD, "closed")


def test_lines_of_25_megabytes(tmp_path: Path) -> None:
    lab = lab_with_a_good_trail(tmp_path)
    said = "a line of prose about the ferry\n" * (25 * MB // 32)
    lab.append("result", turns(60, 1, session="result") + dumped(tool_result(said, 900)) + b"\n")
    lab.append("prompt", dumped(prompt(said, 901)) + b"\n" + turns(70, 1, session="prompt"))
    lab.append("broken", b'{"type":"user","message":"' + b"x" * 25 * MB + b"\n")
    lab.append("broken", dumped(reply("A line behind it.", 902, uuid="behind")) + b"\n")

    summary = lab.run()

    assert summary["windows_failed"] == 0
    (problem,) = problems_of(summary, "broken")
    assert problem["code"] == "quarantined_lines"
    assert summary["quarantined_lines"] == 1
    assert_whole(lab, GOOD, "result", "prompt", "broken")


@pytest.mark.parametrize("how", ["closed", "vanished", "rewritten", "emptied"])
def test_a_trail_that_goes_bad_between_pin_and_work(tmp_path: Path, how: str) -> None:
    """The others commit; what was pinned waits or is lost with a reason, never misread."""
    lab = Lab(tmp_path, limits={"retry_delay_s": 0.1})
    lab.append("bad", turns(50, 2, session="bad"))
    lab.append(GOOD, turns(0, 3, session=GOOD))
    lab.crash("masked_file")
    before = lab.trail("bad").read_bytes()
    if how == "closed":
        lab.trail("bad").chmod(0)
    elif how == "vanished":
        lab.trail("bad").unlink()
    elif how == "emptied":
        lab.trail("bad").write_bytes(b"")
    else:
        lab.trail("bad").write_bytes(turns(80, 3, session="other"))

    code, summary, _ = run_as_anybody(lab)

    codes = {one["code"] for one in problems_of(summary, "bad")}
    assert codes, summary
    assert summary["trail_problems"] + summary["windows_failed"] > 0
    assert_whole_except(lab, "bad")
    assert lab.status()[GOOD]["lag"] == 0
    if how in {"closed", "vanished"}:
        assert code == 1
        assert codes & {"TrailUnreadable"}
        lab.trail("bad").unlink(missing_ok=True)
        lab.trail("bad").write_bytes(before)
        run_as_anybody(lab)
        assert_whole(lab)
    else:
        assert "rewritten" in codes or "TrailRewritten" in codes
        states = lab.look().states
        assert states["rewritten"] == 1, states


def assert_whole_except(lab: Lab, session: str) -> None:
    """Every window of the other trails is committed."""
    rows = [one for one in lab.look().windows if not one.node_id.endswith(f":{session}")]
    assert {str(one.state) for one in rows} == {"committed"}


def test_a_source_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    lab = lab_with_a_good_trail(tmp_path)
    done = lab.cli(
        "run", *lab.source, "--source", f"cursor={tmp_path / 'nowhere'}", "--flush", "--json",
        code=None,
    )  # fmt: skip
    summary = json.loads(done.stdout)
    assert summary["trail_problems"] == 1
    assert str(tmp_path / "nowhere") in summary["problems"][0]["message"]
    assert "Traceback" not in done.stderr
    assert_whole(lab, GOOD)
