"""The main job on the shared real trails, through the command line."""

import json
from pathlib import Path

import pytest

from tests.crash.harness import SHARED, Lab, needs_shared

pytestmark = [pytest.mark.e2e, needs_shared]


@pytest.mark.parametrize(
    ("kind", "folder"), [("claude_code", "claude-code"), ("cursor", "cursor")], ids=["cc", "cursor"]
)
def test_every_file_is_at_its_head_and_a_second_run_changes_nothing(
    tmp_path: Path, kind: str, folder: str
) -> None:
    trails = SHARED / "trails" / folder
    files = sorted(path.name for path in trails.glob("*.jsonl"))
    lab = Lab(tmp_path, interviewer="heuristic")
    command = ["run", "--source", f"{kind}={trails}", "--flush", "--json"]

    first = json.loads(lab.cli(*command).stdout)
    assert first["windows_failed"] == 0
    assert first["windows_committed"] == first["windows_planned"] > 0
    rows = json.loads(lab.cli("status", "--json").stdout)
    assert sorted(Path(row["path"]).name for row in rows) == files
    behind = {
        Path(row["path"]).name: (row["last_seq"], row["head_seq"])
        for row in rows
        if row["last_seq"] != row["head_seq"] or row["lag"]
    }
    assert behind == {}
    empty = {Path(row["path"]).name for row in rows if row["head_seq"] is None}
    assert empty == {path.name for path in trails.glob("*.jsonl") if not path.stat().st_size}
    memories = lab.look().memory_ids
    assert len(memories) == len(set(memories)) == first["memories_added"] > 0

    second = json.loads(lab.cli(*command).stdout)
    assert (second["windows_planned"], second["windows_failed"]) == (0, 0)
    assert lab.look().memory_ids == memories
    assert json.loads(lab.cli("audit", "--json").stdout) == {"findings": []}
