"""The public trails: the fast path is the slow path, and nothing injected passes for a prompt."""

from pathlib import Path

import pytest

from memclaw_etl.trails.claude_code import look, look_thoroughly
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.events import DecoderState, Role, TrailKind
from memclaw_etl.trails.lines import read_lines
from tests.trail_lines import START

TRAILS = Path(__file__).parents[2].parent / "shared" / "trails"
CLAUDE = sorted((TRAILS / "claude-code").glob("*.jsonl"))
CURSOR = sorted((TRAILS / "cursor").glob("*.jsonl"))
pytestmark = pytest.mark.skipif(not CLAUDE, reason="shared trails are not here")


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", CLAUDE, ids=name)
def test_the_fast_path_says_what_the_thorough_path_says(path: Path) -> None:
    with path.open("rb") as file:
        for line in read_lines(file, START):
            assert look(line) == look_thoroughly(line)


@pytest.mark.parametrize("path", CLAUDE + CURSOR, ids=name)
def test_lines_tile_and_prompts_are_the_senders_words(path: Path) -> None:
    kind = TrailKind.CURSOR if path in CURSOR else TrailKind.CLAUDE_CODE
    with path.open("rb") as file:
        lines = list(read_lines(file, START))
        assembled, end = decode_bytes(
            kind, file, start=START, byte_end=None, state=DecoderState(), file_session=path.stem
        )
    assert b"".join(line.data + b"\n" * line.terminated for line in lines) == path.read_bytes()
    assert end.byte == path.stat().st_size
    prompts = [event.content for event in assembled.events if event.role is Role.USER]
    injected = ("<command-", "<local-command", "<bash-", "<task-", "<system-reminder", "[Request i")
    injected += (
        "Caveat:",
        "This session is being",
        "Base directory for",
        "Implement the following",
    )
    assert not [text[:40] for text in prompts if text.startswith(injected)]
    assert not [text[:40] for text in prompts if "-notification>" in text or "tool_use_id" in text]
    identities = [event.identity for event in assembled.events]
    assert len(set(identities)) == len(identities)


def test_known_counts() -> None:
    events = noise = 0
    for path in CLAUDE:
        with path.open("rb") as file:
            assembled, _ = decode_bytes(
                TrailKind.CLAUDE_CODE,
                file,
                start=START,
                byte_end=None,
                state=DecoderState(),
                file_session=path.stem,
            )
        events += len(assembled.events)
        noise += sum(assembled.noise.values())
    assert (events, noise) == (314, 1886)
