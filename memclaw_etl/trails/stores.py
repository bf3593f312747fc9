"""OpenClaw's SQLite store (from 2026.8.1): sessions as rows, each read as if it were a file.

Table `transcript_events(session_id, seq, event_json, created_at)`; a row's JSON says what a line of
the older files said, so that a session is a stream of lines whose line number is the row's seq.
The store belongs to a running program: it is opened read-only, read in one short transaction, and
no file is left beside it.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

from memclaw_etl.trails.errors import unreadable

STORE_NAME: Final = "openclaw-agent.sqlite"
STORE_SUFFIX: Final = ".sqlite"
_MARK: Final = ".sqlite#"
_BUSY_S: Final = 5.0
_WAL_FORMAT: Final = b"\x02\x02"
_MAX_HOLE: Final = 100_000
"""Missing seqs are blank lines, so that the line number stays the seq; more of them are skipped."""
_TRIES: Final = 3
Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session of a store, as the planner must know it to see that it changed."""

    session_id: str
    events: int
    last_seq: int
    last_at_ms: int


def session_path(store: str, session_id: str) -> str:
    """The name of a session as if it were a file."""
    return f"{store}#{session_id}"


def split_path(path: Path) -> tuple[Path, str] | None:
    """(store, session id) of a session's name; None for a file."""
    store, mark, session_id = str(path).partition(_MARK)
    return (Path(f"{store}.sqlite"), session_id) if mark else None


def list_sessions(store: str) -> tuple[StoredSession, ...]:
    """The sessions of a store, by id; an unchanged store is not opened again by this process.

    Raises:
        sqlite3.Error: it is no such store, damaged, or locked for too long.
        OSError: it is not there.
    """
    return _listed(store, _stamp(store))


@lru_cache(maxsize=256)
def _listed(store: str, stamp: Stamp) -> tuple[StoredSession, ...]:
    del stamp
    query = """
        SELECT session_id, events, last_seq, (
            SELECT created_at FROM transcript_events AS one
            WHERE one.session_id = every.session_id AND one.seq = every.last_seq)
        FROM (SELECT session_id, count(*) AS events, max(seq) AS last_seq
              FROM transcript_events GROUP BY session_id) AS every
        ORDER BY session_id
    """
    with _reading(store) as connection:
        rows = connection.execute(query).fetchall()
    return tuple(
        StoredSession(session_id, events, last_seq, created_at if _is_whole(created_at) else 0)
        for session_id, events, last_seq, created_at in rows
        if isinstance(session_id, str) and session_id and _is_whole(last_seq)
    )


def open_session(path: Path, *, root: Path, node_id: str) -> BinaryIO:
    """A session's rows as lines, read in one transaction.

    Raises:
        TrailUnreadableError: the store is gone, locked, damaged, or lies outside the root.
    """
    place = split_path(path)
    if place is None:
        raise unreadable(path, node_id, "it names no session of a store")
    store, session_id = place
    if Path(os.path.realpath(store)) != store or not store.is_relative_to(root):
        raise unreadable(path, node_id, "a link stands in its place")
    try:
        return BytesIO(_whole_session(str(store), session_id))
    except (OSError, sqlite3.Error) as error:
        raise unreadable(path, node_id, type(error).__name__) from error


def _whole_session(store: str, session_id: str) -> bytes:
    """The lines of a session; read again when the store was checkpointed meanwhile."""
    for _ in range(_TRIES):
        before = _stamp(store)
        with _reading(store) as connection:
            rows = connection.execute(
                "SELECT seq, CAST(event_json AS BLOB) FROM transcript_events"
                " WHERE session_id = ? ORDER BY seq",
                (session_id,),
            )
            data = b"".join(_lines(rows))
        if _stamp(store)[:3] == before[:3]:
            return data
    raise OSError("the store changes while it is read")


def _lines(rows: Iterator[tuple[object, object]]) -> Iterator[bytes]:
    at = 0
    for seq, event in rows:
        if isinstance(seq, int) and 0 < seq - at <= _MAX_HOLE:
            yield b"\n" * (seq - at)
            at = seq
        yield (event if isinstance(event, bytes) else b"").replace(b"\n", b" ")
        yield b"\n"
        at += 1


@contextmanager
def _reading(store: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection.

    With a log beside it (a writer is at work) SQLite itself keeps the view consistent. Without one
    it would make one, so that a store in that mode is then opened as a file that nobody changes.
    """
    mode = "immutable=1" if _is_at_rest(store) else "mode=ro"
    address = f"file:{quote(store)}?{mode}"
    with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as connection:
        connection.execute("PRAGMA query_only=ON")
        yield connection


def _is_at_rest(store: str) -> bool:
    with open(store, "rb") as file:  # noqa: PTH123 - the name may hold bytes that Path alters
        header = file.read(20)
    wal = f"{store}-wal"
    has_log = os.path.exists(wal) and os.stat(wal).st_size > 0  # noqa: PTH110, PTH116
    return header[18:20] == _WAL_FORMAT and not has_log


def _stamp(store: str) -> Stamp:
    status = os.stat(store)  # noqa: PTH116
    try:
        log = os.stat(f"{store}-wal")  # noqa: PTH116
    except OSError:
        return status.st_ino, status.st_size, status.st_mtime_ns, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns, log.st_size, log.st_mtime_ns


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
