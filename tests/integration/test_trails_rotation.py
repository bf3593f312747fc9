"""Rotated OpenClaw files and rewritten Gemini documents keep their node, and tell nothing twice."""

from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import Ledger, pins, windows
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from tests.conftest import Clock
from tests.trail_lines import joined
from tests.unit.test_trails_gemini import document, message
from tests.unit.test_trails_openclaw import HEADER, row
from tests.watching import Watched, codes

LIVE = "agents/main/sessions/s-1.jsonl"
RESET = f"{LIVE}.reset.2026-07-02T04-00-00.000Z"
TALK = [HEADER, row("user", "what floats?"), row("assistant", "The ferry.", 2)]


@pytest.fixture
def claw(sqlite_ledger: Ledger, clock: Clock, tmp_path: Path) -> Watched:
    watched = Watched(sqlite_ledger, clock, tmp_path / "claw")
    watched.sources = [Source(TrailKind.OPENCLAW, watched.root)]
    watched.write(LIVE, joined(TALK))
    watched.look(flush=True)
    return watched


def owned(watched: Watched) -> int:
    """Events that some window owns; one that is lost before it was masked owns none."""
    with watched.ledger.read() as tx:
        return sum(len(pins.owned_events(tx, one.window_id)) for one in windows.all_windows(tx))


def test_a_rotated_file_stays_its_node_and_tells_nothing_twice(claw: Watched) -> None:
    (claw.root / LIVE).rename(claw.root / RESET)
    result = claw.look(flush=True)
    [node] = claw.nodes()
    assert (node.node_id, node.epoch, node.path) == (
        "openclaw:m:main:s-1", 0, str(claw.root / RESET),
    )  # fmt: skip
    assert (codes(result), owned(claw)) == ([], 2)
    claw.append(RESET, joined([row("user", "written last", 3)]))
    claw.look(flush=True)
    assert claw.texts("s-1") == ["what floats?", "The ferry.", "written last"]


def test_a_new_file_in_the_place_of_a_rotated_one_is_the_next_epoch(claw: Watched) -> None:
    claw.append(LIVE, joined([row("user", "not read yet", 3)]))
    (claw.root / LIVE).rename(claw.root / RESET)
    claw.write(LIVE, joined([HEADER, row("user", "after the reset", 9)]))
    result = claw.look(flush=True)
    assert codes(result) == ["rewritten"]
    first, archived = sorted(claw.nodes(), key=lambda node: node.path)
    assert (first.node_id, first.epoch) == ("openclaw:m:main:s-1", 1)
    assert archived.path == str(claw.root / RESET)
    assert owned(claw) == 4


def test_a_deleted_session_is_visible_and_not_read(claw: Watched) -> None:
    (claw.root / LIVE).rename(claw.root / f"{LIVE}.deleted.2026-07-02T05-00-00.000Z")
    result = claw.look(flush=True)
    assert (codes(result), result.skipped["deleted"]) == (["vanished"], 1)
    assert "was deleted" in result.problems[0].message


def test_a_rewritten_transcript_is_the_next_epoch(claw: Watched) -> None:
    claw.write(LIVE, joined([HEADER, TALK[2], row("user", "and sinks?", 5)]))
    assert codes(claw.look(flush=True)) == ["rewritten"]
    [node] = claw.nodes()
    assert node.epoch == 1
    assert claw.texts("s-1") == ["The ferry.", "and sinks?"]
    assert owned(claw) == 2


def test_a_document_grows_window_by_window(
    sqlite_ledger: Ledger, clock: Clock, tmp_path: Path
) -> None:
    watched = Watched(sqlite_ledger, clock, tmp_path / "chats")
    watched.sources = [Source(TrailKind.GEMINI, watched.root)]
    talk = [message("user", "what floats?"), message("gemini", "The ferry.", 2)]
    watched.write("one.json", document(talk))
    watched.look(flush=True)
    filled = [talk[0], {**talk[1], "tokens": {"total": 7}}, message("user", "and sinks?", 3)]
    watched.write("one.json", document(filled)[:200])
    assert codes(watched.look(flush=True)) == ["unreadable"]
    watched.write("one.json", document(filled))
    assert codes(watched.look(flush=True)) == []
    assert watched.ranges() == ["0-1", "2-2"]
    assert watched.texts() == ["what floats?", "The ferry.", "and sinks?"]
    assert watched.node().epoch == 0
    watched.write("one.json", document([message("user", "another talk", 8)]))
    assert codes(watched.look(flush=True)) == ["rewritten"]
    assert watched.node().epoch == 1
