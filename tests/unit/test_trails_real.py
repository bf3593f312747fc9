"""The public trails: what is counted in each stands in a golden file, and was looked at by eye.

After a change that is meant: `MEMCLAW_GOLDEN=write python -m pytest tests/unit/test_trails_real.py`,
then read the difference.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from memclaw_etl.trails import claude_code
from memclaw_etl.trails.decode import assemble, decode_bytes, look_lines
from memclaw_etl.trails.discovery import Source, TrailFile, discover
from memclaw_etl.trails.events import Assembled, DecoderState, Role, TrailKind
from memclaw_etl.trails.lines import read_lines
from memclaw_etl.trails.opening import open_found
from tests.trail_lines import START

TRAILS = Path(__file__).parents[2].parent / "shared" / "trails"
GOLDEN = Path(__file__).parents[1] / "golden" / "trails.json"
WRITES = os.environ.get("MEMCLAW_GOLDEN") == "write"
KINDS = {
    "claude-code": TrailKind.CLAUDE_CODE,
    "codex": TrailKind.CODEX,
    "cursor": TrailKind.CURSOR,
    "gemini": TrailKind.GEMINI,
    "openclaw": TrailKind.OPENCLAW,
}
FILES = sorted(
    path for folder in KINDS for path in (TRAILS / folder).glob("*.json*") if path.is_file()
)
NAMES = [f"{path.parent.name}/{path.name}" for path in FILES]
pytestmark = pytest.mark.skipif(not FILES, reason="shared trails are not here")


def found(name: str) -> TrailFile:
    path = TRAILS / name
    [trail] = discover(Source(KINDS[path.parent.name], path), machine12="m").trails
    return trail


def decoded(name: str) -> Assembled:
    trail = found(name)
    with open_found(trail) as file:
        assembled, end = decode_bytes(
            trail.kind, file, start=START, byte_end=None, state=DecoderState(),
            file_session=trail.file_session,
        )  # fmt: skip
        assert end.byte == file.seek(0, os.SEEK_END)
    return assembled


def counts(assembled: Assembled) -> dict[str, dict[str, int] | int]:
    return {
        "events": dict(
            sorted(Counter(f"{e.kind}:{e.origin}:{e.branch}" for e in assembled.events).items())
        ),
        "noise": dict(sorted(assembled.noise.items())),
        "quarantined": dict(sorted(Counter(q.reason for q in assembled.quarantined).items())),
        "versions": dict(sorted(assembled.versions.items())),
        "characters": sum(event.chars for event in assembled.events),
    }


def golden() -> dict[str, object]:
    return json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}


@pytest.mark.skipif(not WRITES, reason="writes the golden file only when asked")
def test_write_golden() -> None:
    GOLDEN.parent.mkdir(exist_ok=True)
    text = json.dumps({name: counts(decoded(name)) for name in NAMES}, indent=1)
    GOLDEN.write_text(f"{text}\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_trail_counts_what_its_golden_file_says(name: str) -> None:
    assert counts(decoded(name)) == golden()[name]


def test_every_trail_has_its_golden_counts() -> None:
    assert sorted(golden()) == sorted(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("claude-code/")])
def test_the_fast_path_says_what_the_thorough_path_says(name: str) -> None:
    with (TRAILS / name).open("rb") as file:
        for line in read_lines(file, START):
            assert claude_code.look(line) == claude_code.look_thoroughly(line)


@pytest.mark.parametrize("name", NAMES)
def test_lines_tile_and_prompts_are_the_senders_words(name: str) -> None:
    trail, assembled = found(name), decoded(name)
    with open_found(trail) as file:
        lines = list(read_lines(file, START))
        file.seek(0)
        assert b"".join(line.data + b"\n" * line.terminated for line in lines) == file.read()
    prompts = [event.content for event in assembled.events if event.role is Role.USER]
    injected = ("<command-", "<local-command", "<bash-", "<task-", "<system-reminder", "[Request i")
    injected += (
        "Caveat:",
        "This session is being",
        "Base directory for",
        "Implement the following",
    )
    injected += ("<environment_context", "# AGENTS.md", "# Context from my IDE", "<turn_aborted")
    injected += ("Conversation info (", "[cron:", "System: [", "Read HEARTBEAT", "Pre-compaction")
    assert not [text[:40] for text in prompts if text.startswith(injected)]
    assert not [text[:40] for text in prompts if "-notification>" in text or "tool_use_id" in text]
    identities = [event.identity for event in assembled.events]
    assert len(set(identities)) == len(identities)
    assert all(event.session_id for event in assembled.events)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_windows_of_any_size_give_the_same_events(name: str, size: int) -> None:
    """Cut after every `size` lines: only a queued prompt may have been given before its line."""
    trail, once = found(name), decoded(name)
    state, events = DecoderState(), {}
    with open_found(trail) as file:
        outcomes = list(look_lines(trail.kind, read_lines(file, START), state))
    for at in range(0, len(outcomes), size):
        part = assemble(
            trail.kind, outcomes[at : at + size], state, file_session=trail.file_session
        )
        state = part.state
        for event in part.events:
            events.setdefault(event.identity, event)

    def without_branch(event):
        return (event.content, event.ts, event.session_id, event.role, event.project)

    assert (
        sorted(map(repr, map(without_branch, events.values())))
        == sorted(map(repr, map(without_branch, once.events)))
        or "queued_elsewhere" in once.noise
    )
