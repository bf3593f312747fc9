"""The small trails of the shared cases: exactly the events that they hold, per kind."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.events import DecoderState, Event, Position, TrailKind

START, FRESH = Position(), DecoderState()
CASES = Path(__file__).parents[2].parent / "shared" / "cases"
LATER = {
    "06-fork-resume-and-replayed-history": "across files the ledger decides; per file below",
    "09-openclaw-envelopes": "openclaw comes with its own issue",
    "10-openclaw-files": "openclaw comes with its own issue",
    "16-bonus-codex-fork": "codex comes with its own issue",
}
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir()) if CASES.is_dir() else []
pytestmark = pytest.mark.skipif(not NAMES, reason="shared cases are not here")


def load(name: str) -> dict[str, Any]:
    return json.loads((CASES / name / "expected.json").read_text())


def decode(path: Path, kind: TrailKind, start: Position = START, state: DecoderState = FRESH):
    with path.open("rb") as file:
        return decode_bytes(
            kind, file, start=start, byte_end=None, state=state, file_session=path.stem
        )


def shown(event: Event) -> dict[str, Any]:
    return {
        "line": event.seq,
        "part": event.part,
        "kind": event.kind,
        "role": str(event.role),
        "session_id": event.session_id,
        "ts": event.ts,
        "text": event.content,
    }


def wanted(expected: dict[str, Any], file: str | None = None) -> list[dict[str, Any]]:
    events = list(expected["events"])
    if "short_event" in expected:
        events.append(expected["short_event"])
    keys = ("line", "part", "kind", "role", "session_id", "ts", "text")
    return [
        {key: event.get(key, 0) for key in keys}
        for event in sorted(events, key=lambda e: (e["line"], e.get("part", 0)))
        if file is None or event.get("file") == file
    ]


def kind_of(name: str) -> TrailKind | None:
    number = int(name[:2])
    return TrailKind.CLAUDE_CODE if number <= 7 else TrailKind.CURSOR if number == 8 else None


def trails_of(name: str) -> Iterator[Path]:
    return (
        path
        for path in sorted((CASES / name).rglob("*.jsonl"))
        if "subagents" not in path.parts and "other" not in path.parts[-2]
    )


@pytest.mark.parametrize("name", NAMES)
def test_case_gives_exactly_its_events(name: str, request: pytest.FixtureRequest) -> None:
    if name in LATER:
        request.applymarker(pytest.mark.xfail(reason=LATER[name], strict=True))
    expected = load(name)
    kind = kind_of(name)
    assert kind is not None
    if "passes" in expected:
        return passes(name, expected)
    trails = [path for path in trails_of(name) if not path.name.startswith("agent-")]
    found = [event for path in trails for event in decode(path, kind)[0].events]
    assert [shown(event) for event in found] == wanted(expected)
    return None


def passes(name: str, expected: dict[str, Any]) -> None:
    """Read the trail as it stood at successive looks, going on where the last look ended."""
    position, state = Position(), DecoderState()
    for step in expected["passes"]:
        path = next((CASES / name / step["dir"]).glob("*.jsonl"))
        assembled, position = decode(path, TrailKind.CLAUDE_CODE, position, state)
        state = assembled.state
        still = step.get("alternative_new_events_after_quiet_time", [])
        assert [shown(event) for event in assembled.events] == wanted(
            {"events": step["new_events"] + still}
        )
        assert position.seq == step["cursor_after"] + 1


@pytest.mark.parametrize("file", ["1", "2", "3"])
def test_case_06_first_events_of_every_file(file: str) -> None:
    name = "06-fork-resume-and-replayed-history"
    path = next((CASES / name / "in").glob(f"*{file}.jsonl"))
    found = {
        event.identity: shown(event) for event in decode(path, TrailKind.CLAUDE_CODE)[0].events
    }
    own = wanted(load(name), path.name)
    assert [event for event in found.values() if event in own] == own
    first = decode(next((CASES / name / "in").glob("*1.jsonl")), TrailKind.CLAUDE_CODE)[0].events
    copied = {event.identity for event in first}
    assert all(event in own for key, event in found.items() if key not in copied or file == "1")


def test_case_06_any_order_of_files_gives_the_same_identities() -> None:
    files = list((CASES / "06-fork-resume-and-replayed-history" / "in").glob("*.jsonl"))
    identities = {e.identity for f in files for e in decode(f, TrailKind.CLAUDE_CODE)[0].events}
    assert len(identities) == load("06-fork-resume-and-replayed-history")["total_events"]
