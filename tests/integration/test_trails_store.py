"""OpenClaw's SQLite store: read beside its writer, leaving nothing, one node a session."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.lake.ledger import Ledger
from memclaw_etl.service.decoding import decode_source
from memclaw_etl.trails import stores
from memclaw_etl.trails.discovery import Source, discover
from memclaw_etl.trails.doctor import examine
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.trails.opening import open_found
from tests.conftest import Clock
from tests.unit.test_trails_openclaw import HEADER, row
from tests.watching import Watched, codes

TABLE = """
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT
"""


class Store:
    """A store as OpenClaw writes it."""

    def __init__(self, home: Path, *, journal: str = "wal") -> None:
        self.path = home / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        self.path.parent.mkdir(parents=True)
        with self.writer() as connection:
            connection.execute(f"PRAGMA journal_mode={journal}")
            connection.execute(TABLE)

    @contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            yield connection

    def add(self, session: str, *records: dict[str, Any], seq: int = 0) -> None:
        with self.writer() as connection:
            insert(connection, session, records, seq=seq)


def insert(connection: sqlite3.Connection, session: str, records: Any, *, seq: int = 0) -> None:
    connection.executemany(
        "INSERT INTO transcript_events VALUES (?, ?, ?, ?)",
        [
            (session, number, json.dumps(record), 1_771_444_800_000 + number)
            for number, record in enumerate(records, start=seq)
        ],
    )


@pytest.fixture(params=["wal", "delete"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made = Store(tmp_path / "claw", journal=request.param)
    made.add("s-1", HEADER, row("user", "what floats?"), row("assistant", "The ferry.", 2))
    made.add("s-2", {**HEADER, "id": "s-2"}, row("user", "other session", 3))
    return made


def source(store: Store) -> Source:
    return Source(TrailKind.OPENCLAW, store.path.parents[3])


def beside(store: Store) -> list[str]:
    return sorted(path.name for path in store.path.parent.iterdir())


def spoken(store: Store) -> list[tuple[str, int, str]]:
    return [
        (trail.path.name.partition("#")[2], event.seq, event.content)
        for trail in decode_source(source(store), machine12="m")
        for event in trail.events
    ]


SPOKEN = [("s-1", 1, "what floats?"), ("s-1", 2, "The ferry."), ("s-2", 1, "other session")]


def test_every_session_is_a_trail_and_nothing_is_left_beside_the_store(store: Store) -> None:
    before, content = beside(store), store.path.read_bytes()
    assert spoken(store) == SPOKEN
    found = discover(source(store), machine12="m")
    assert [trail.node_id for trail in found.trails] == [
        "openclaw:m:main:s-1",
        "openclaw:m:main:s-2",
    ]
    assert [trail.size_bytes for trail in found.trails] == [3, 2]
    assert examine(source(store), machine12="m").is_clean
    assert (beside(store), store.path.read_bytes()) == (before, content)


def test_what_a_running_writer_has_only_in_its_log_is_read(store: Store) -> None:
    with closing(sqlite3.connect(store.path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        insert(writer, "s-1", [row("user", "and sinks?", 4)], seq=3)
        writer.commit()
        assert ("s-1", 3, "and sinks?") in spoken(store)
        insert(writer, "s-1", [row("user", "not said yet", 5)], seq=4)
        assert "not said yet" not in str(spoken(store))
        writer.commit()
        assert ("s-1", 4, "not said yet") in spoken(store)


def test_a_missing_seq_stays_missing(store: Store) -> None:
    store.add("s-1", row("user", "later", 9), seq=7)
    assert ("s-1", 7, "later") in spoken(store)


def test_a_store_at_rest_is_read_where_nothing_may_be_written(store: Store) -> None:
    store.path.parent.chmod(0o555)
    try:
        assert spoken(store) == SPOKEN
    finally:
        store.path.parent.chmod(0o755)


@pytest.fixture
def watched(sqlite_ledger: Ledger, clock: Clock, store: Store) -> Watched:
    made = Watched(sqlite_ledger, clock, store.path.parents[3])
    made.sources = [source(store)]
    return made


def test_windows_of_a_session_go_on_where_they_ended(watched: Watched, store: Store) -> None:
    watched.look(flush=True)
    assert watched.ranges("s-1") == ["0-2"]
    assert watched.texts("s-1") == ["what floats?", "The ferry."]
    store.add("s-1", row("user", "and sinks?", 4), seq=3)
    result = watched.look(flush=True)
    assert watched.ranges("s-1") == ["0-2", "3-3"]
    assert watched.texts("s-1") == ["what floats?", "The ferry.", "and sinks?"]
    assert (result.opened, codes(result)) == (1, [])


def test_an_unchanged_store_is_not_opened_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.look(flush=True)
    opened: list[str] = []
    monkeypatch.setattr(stores, "_reading", opened.append)
    result = watched.look(flush=True)
    assert (result.opened, opened) == (0, [])


def test_a_file_that_was_taken_into_the_store_stays_its_node(
    tmp_path: Path, clock: Clock, sqlite_ledger: Ledger
) -> None:
    home = tmp_path / "claw"
    lines = [HEADER, row("user", "what floats?"), row("assistant", "The ferry.", 2)]
    watched = Watched(sqlite_ledger, clock, home)
    watched.sources = [Source(TrailKind.OPENCLAW, home)]
    name = "agents/main/sessions/s-1.jsonl"
    watched.write(name, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    watched.look(flush=True)
    (home / name).unlink()
    Store(home).add("s-1", *lines, row("user", "and sinks?", 4))
    watched.look(flush=True)
    [node] = watched.nodes()
    assert node.node_id == "openclaw:m:main:s-1"
    told = [(one.events, one.replayed) for one in watched.windows("s-1")]
    assert sum(events for events, _ in told) == 1 or node.epoch == 0
    assert watched.texts("s-1").count("and sinks?") == 1


def test_a_session_that_was_deleted_is_visible(watched: Watched, store: Store) -> None:
    watched.look(flush=True)
    with store.writer() as connection:
        connection.execute("DELETE FROM transcript_events WHERE session_id = 's-2'")
    assert codes(watched.look(flush=True)) == ["vanished"]


def test_a_store_that_cannot_be_read_says_so_and_loses_nothing(
    watched: Watched, store: Store
) -> None:
    watched.look(flush=True)
    good = store.path.read_bytes()
    store.path.write_bytes(b"no database at all " * 100)
    result = watched.look(flush=True)
    assert codes(result) == ["unlisted_store"]
    assert "cannot be listed" in result.problems[0].message
    [report] = [trail.error for trail in decode_source(source(store), machine12="m")]
    assert report is not None
    store.path.write_bytes(good)
    assert codes(watched.look(flush=True)) == []


def test_a_store_is_opened_only_below_its_root(store: Store, tmp_path: Path) -> None:
    [trail, _] = discover(source(store), machine12="m").trails
    moved = tmp_path / "elsewhere.sqlite"
    store.path.rename(moved)
    store.path.symlink_to(moved)
    with pytest.raises(TrailUnreadableError):
        open_found(trail)
    assert discover(source(store), machine12="m").skipped["outside_root"] == 1
