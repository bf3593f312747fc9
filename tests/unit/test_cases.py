"""The small trails of the shared cases: exactly the events that they hold, and why the rest is none."""

import json
import shutil
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.service.decoding import decode_source
from memclaw_etl.trails.decode import decode_bytes, look_lines
from memclaw_etl.trails.discovery import Source, discover
from memclaw_etl.trails.events import DecoderState, Event, Position, TrailKind
from memclaw_etl.trails.lines import read_lines

START, FRESH = Position(), DecoderState()
CASES = Path(__file__).parents[2].parent / "shared" / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir()) if CASES.is_dir() else []
pytestmark = pytest.mark.skipif(not NAMES, reason="shared cases are not here")
KINDS = {
    "08": TrailKind.CURSOR,
    "09": TrailKind.OPENCLAW,
    "10": TrailKind.OPENCLAW,
    "16": TrailKind.CODEX,
}
FOLDERS = {"07": "projects", "08": "projects", "09": ".", "10": ".", "16": "sessions"}
INCLUDED = {"07": ("-work-teapot",), "08": ("work-teapot",)}
NICKNAMES = {"parent": "*000000000001.jsonl", "child": "*000000000002.jsonl"}

REASONS = {
    "01": {
        "API error text, isApiErrorMessage": "api_error",
        "bash-input wrapper": "shell",
        "bash-stdout wrapper": "shell",
        "compact_boundary": "system",
        "compaction summary": "compact_summary",
        "file-history-snapshot": "file_history",
        "image only, no text": "image",
        "interrupt marker": "interrupted",
        "isMeta": "meta",
        "local command output (no isMeta!)": "local_command",
        "progress": "progress",
        "skill body, isMeta": "meta",
        "slash command wrapper (no isMeta!)": "command",
        "summary: no timestamp, no sessionId": "summary",
        "synthetic filler reply": "synthetic",
        "system": "system",
        "task notification (no isMeta!)": "notification",
        "thinking only": "thinking",
        "tool result carried by a user line": "tool_result",
        "tool_use only": "tool_use",
    },
    "02": {
        "ai-title": "title",
        "attachment": "attachment",
        "bridge-session": "bridge_session",
        "file-history-delta": "file_history",
        "last-prompt repeats a prompt": "last_prompt",
        "mode": "mode",
        "origin.kind=task-notification": "machine_prompt",
        "permission-mode": "mode",
        "pr-link; timestamp earlier than the line before, allowed": "pr_link",
        "promptSource=system, isMeta": "meta",
        "queue-operation": "queue_operation",
        "queue-operation whose text arrives later as a user line": "queued_elsewhere",
        "unknown type: ignore, count it, do not stop": "unknown:*",
    },
    "04": {"stub": "quarantined", "empty": "blank"},
    "05": {
        "dequeue": "queue_operation",
        "popAll": "queue_operation",
        "queue copy of line 7": "queued_elsewhere",
        "queue remove": "queue_operation",
        "task notification in the queue": "notification",
        "tool result": "tool_result",
        "tool_use": "tool_use",
        "withdrawn by popAll: the person took it back into the editor": "queue_taken_back",
    },
    "06": {
        "copy": "replayed",
        "copy with forkedFrom": "replayed",
        "copy with rewritten sessionId and forkedFrom": "replayed",
        "copy: uuid already seen, sessionId differs from the file name": "replayed",
        "same uuid as line 0": "replayed",
        "same uuid as line 1": "replayed",
    },
    "08": {
        "blank": "empty",
        "marker and tool_use only": "thinking",
        "role tool": "tool_result",
        "turn_ended": "turn_ended",
        "turn_ended aborted": "turn_ended",
        "type error without role": "error",
    },
    "09": {
        "HEARTBEAT_OK": "heartbeat",
        "NO_REPLY": "no_reply",
        "compaction summary": "compact_summary",
        "cron": "cron",
        "custom": "custom",
        "delivery-mirror copy of line 9": "delivery_mirror",
        "failed attempt, empty content": "failed_reply",
        "header": "header",
        "heartbeat": "heartbeat",
        "mail content: untrusted, must never be a prompt of the person": "webhook",
        "memory flush instruction": "memory_flush",
        "model_change": "model_change",
        "reset greeting instruction": "reset_greeting",
        "retry instruction": "retry_instruction",
        "subagent announcement": "subagent",
        "the same message written again by a retry: message.timestamp equal, row timestamp not": (
            "replayed"
        ),
        "thinking and toolCall": "tool_use",
        "thinking_level_change": "thinking_level",
        "toolResult": "tool_result",
    },
    "16": {
        "AGENTS.md + environment_context in one user message, neither typed": "instructions",
        "replayed parent history with new time stamps, parent session_meta included: must not"
        " overwrite the id of the child": (
            "header|instructions|turn_context|replayed|stored_twice|token_count"
        ),
        "turn_aborted notice with role user": "interrupted",
    },
}
"""Case -> why a line is no event, in the case's words -> our reason (glob; | separates)."""


def load(name: str) -> dict[str, Any]:
    return json.loads((CASES / name / "expected.json").read_text())


def source_of(name: str, folder: Path | None = None) -> Source:
    number = name[:2]
    root = (folder or CASES / name) / FOLDERS.get(number, "in")
    return Source(KINDS.get(number, TrailKind.CLAUDE_CODE), root, INCLUDED.get(number, ()))


def shown(event: Event, path: Path) -> dict[str, Any]:
    return {
        "file": path.name,
        "line": event.seq,
        "part": event.part,
        "kind": event.kind,
        "role": str(event.role),
        "session_id": event.session_id,
        "ts": event.ts,
        "text": event.content,
    }


def matches(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether an event is the wanted one; where the case lists several texts, all stand in it."""
    file = NICKNAMES.get(wanted.get("file", "*"), wanted.get("file", "*"))
    texts = wanted["text"] if isinstance(wanted["text"], list) else None
    keys = ("line", "kind", "role", "session_id", "ts") + (("text",) if texts is None else ())
    return (
        fnmatchcase(found["file"], file)
        and all(found[key] == wanted[key] for key in keys)
        and found["part"] == wanted.get("part", 0)
        and all(text in found["text"] for text in texts or ())
    )


def in_order(found: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """Exactly the wanted events, in order; optional ones may stand between them."""
    wanted = [
        *expected["events"],
        *([expected["short_event"]] if "short_event" in expected else []),
    ]
    optional = {event["line"] for event in expected.get("optional", ())}
    rest = [event for event in found if event["line"] not in optional]
    left = [event for event in rest if not any(matches(event, one) for one in wanted)]
    assert left == []
    missing = [one for one in wanted if not any(matches(event, one) for event in rest)]
    assert missing == []
    assert len(rest) == len(wanted)
    assert len(rest) == expected.get("total_events", len(rest))
    assert [(e["file"], e["line"], e["part"]) for e in rest] == sorted(
        (e["file"], e["line"], e["part"]) for e in rest
    )


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("03")])
def test_case_gives_exactly_its_events(name: str) -> None:
    trails = list(decode_source(source_of(name), machine12="m"))
    assert not [trail.error for trail in trails if trail.error]
    found = [shown(event, trail.path) for trail in trails for event in trail.events]
    in_order(found, load(name))


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("03")])
def test_case_of_successive_looks(name: str) -> None:
    """Read the trail as it stood at successive looks, going on where the last look ended."""
    position, state = START, FRESH
    for step in load(name)["passes"]:
        path = next((CASES / name / step["dir"]).glob("*.jsonl"))
        with path.open("rb") as file:
            assembled, position = decode_bytes(
                TrailKind.CLAUDE_CODE, file, start=position, byte_end=None, state=state,
                file_session=path.stem,
            )  # fmt: skip
        state = assembled.state
        still = step.get("alternative_new_events_after_quiet_time", [])
        in_order(
            [shown(event, path) for event in assembled.events],
            {"events": step["new_events"] + still},
        )
        assert position.seq == step["cursor_after"] + 1


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).get("ignored")])
def test_every_reason_of_a_case_is_one_of_ours(name: str) -> None:
    expected, reasons = load(name), REASONS[name[:2]]
    assert {one["why"] for one in expected["ignored"]} <= reasons.keys()
    given: set[str] = set()
    for path in sorted((CASES / name).rglob("*.jsonl")):
        if "subagents" in path.parts:
            continue
        ours = dict(reasons_by_line(source_of(name).kind, path, given))
        for one in expected["ignored"]:
            pattern = NICKNAMES.get(one.get("file", "*"), one.get("file", "*"))
            if fnmatchcase(path.name, pattern):
                for line in lines_of(one["line"]):
                    allowed = reasons[one["why"]].split("|")
                    assert ours[line], (path.name, line)
                    for reason in ours[line]:
                        assert any(fnmatchcase(reason, each) for each in allowed), (line, reason)


def lines_of(named: int | str) -> list[int]:
    if isinstance(named, int):
        return [named]
    first, _, last = named.partition("-")
    return list(range(int(first), int(last or first) + 1))


def reasons_by_line(
    kind: TrailKind, path: Path, given: set[str]
) -> Iterator[tuple[int, list[str]]]:
    """Why each line is no event: by itself, or because of the lines and files before it."""
    with path.open("rb") as file:
        outcomes = list(look_lines(kind, read_lines(file, START), FRESH))
        file.seek(0)
        assembled, _ = decode_bytes(
            kind, file, start=START, byte_end=None, state=FRESH, file_session=path.stem
        )
    own = {event.seq for event in assembled.events if event.identity not in given}
    events = {event.seq for event in assembled.events}
    given |= {event.identity for event in assembled.events}
    later = [name for name in sorted(assembled.noise) if name in DECIDED_LATER] or ["replayed"]
    for outcome in outcomes:
        reasons = list(outcome.noise)
        if outcome.quarantined:
            reasons.append("quarantined")
        if list(outcome.events()) and outcome.seq not in own:
            reasons += ["replayed"] if outcome.seq in events else later_reason(kind, outcome, later)
        if not reasons and outcome.next_part == outcome.first_part:
            reasons.append("blank")
        yield outcome.seq, reasons


DECIDED_LATER = ("replayed", "queued_elsewhere", "queue_taken_back", "stored_twice")


def later_reason(kind: TrailKind, outcome: Any, later: list[str]) -> list[str]:
    """The one reason that was decided from several lines; told apart by what came of the text."""
    if len(later) == 1:
        return later
    taken_back = any("Forget" in event.content for event in outcome.events())
    return ["queue_taken_back" if taken_back else "queued_elsewhere"]


def test_case_07_what_was_left_out_is_counted_and_the_other_project_stays_shut() -> None:
    found = discover(source_of("07-claude-directory-layout"), machine12="m")
    assert [trail.path.name[:13] for trail in found.trails] == ["5b1f0c2e-0001", "5b1f0c2e-0002"]
    assert found.skipped["not_included"] == 1
    assert found.skipped["subagents"] == 3
    assert {"memory", "tool_results", "not_a_trail"} <= found.skipped.keys()


def test_case_10_what_is_no_session_is_counted() -> None:
    found = discover(source_of("10-openclaw-files"), machine12="m")
    assert found.skipped == {
        "trajectory": 2, "checkpoint": 1, "deleted": 1, "import_archive": 1, "not_a_trail": 3,
    }  # fmt: skip
    assert [trail.node_id for trail in found.trails] == [
        "openclaw:m:main:0c1a0000-0011-4a00-8000-000000000001",
        "openclaw:m:main:0c1a0000-0012-4a00-8000-000000000002",
    ]


def test_case_10_a_rotated_file_stays_its_node(tmp_path: Path) -> None:
    shutil.copytree(CASES / "10-openclaw-files", tmp_path / "c", copy_function=shutil.copyfile)
    tmp_path.joinpath("c").chmod(0o755)
    sessions = tmp_path / "c" / "agents" / "main" / "sessions"
    sessions.chmod(0o755)
    before = discover(source_of("10", tmp_path / "c"), machine12="m")
    live = next(sessions.glob("*0011-4a00-8000-000000000001.jsonl"))
    live.rename(live.with_name(live.name + ".reset.2026-07-03T00-00-00.000Z"))
    after = discover(source_of("10", tmp_path / "c"), machine12="m")
    assert [t.node_id for t in before.trails] == [t.node_id for t in after.trails]
    assert [t.file_session for t in before.trails] == [t.file_session for t in after.trails]
