"""A look over trails that have not changed opens none of them; one new line costs that line."""

import time
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from memclaw_etl.lake.ledger import Ledger
from memclaw_etl.lake.ledger.database import insert_all
from memclaw_etl.lake.ledger.schema import nodes as node_table
from memclaw_etl.trails.discovery import Source, discover
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.windows import read
from memclaw_etl.windows.read import HEAD_BYTES, TAIL_BYTES
from tests.conftest import START as NOW
from tests.conftest import Clock
from tests.trail_lines import joined, prompt, tool_result
from tests.watching import Watched

TRAILS = 10_000
FOLDERS = 100


def settled(trail: Any, source: Source) -> dict[str, Any]:
    """A node whose trail was read to its end before."""
    return {
        "tenant_id": source.tenant_id, "node_id": trail.node_id, "kind": str(trail.kind),
        "path": str(trail.path), "real_path": str(trail.real_path), "root": str(trail.root),
        "file_session": trail.file_session, "epoch": 0, "frontier_seq": 1, "frontier_part": 0,
        "frontier_byte": trail.size_bytes, "frontier_open": False, "decoder_state": {},
        "seen_size": trail.size_bytes, "seen_mtime_ns": trail.mtime_ns,
        "seen_inode": trail.inode, "still_since": NOW, "scanned_at": NOW,
        "settled": True, "at_end": True, "created_at": NOW,
    }  # fmt: skip


@pytest.fixture
def watched(sqlite_ledger: Ledger, clock: Clock, tmp_path: Path) -> Watched:
    root = tmp_path / "projects"
    line = joined([prompt("said long ago", 1)])
    for number in range(TRAILS):
        folder = root / f"-srv-{number % FOLDERS}"
        if number < FOLDERS:
            folder.mkdir(parents=True)
        (folder / f"s{number}.jsonl").write_bytes(line)
    source = Source(TrailKind.CLAUDE_CODE, root, ("*",))
    rows = [settled(trail, source) for trail in discover(source, machine12="m").trails]
    with sqlite_ledger.write() as tx:
        insert_all(tx, node_table, rows)
    return Watched(sqlite_ledger, clock, root)


class Counting(BytesIO):
    """A trail that counts the bytes that are read of it."""

    def __init__(self, file: BinaryIO, counts: list[int]) -> None:
        super().__init__(file.read())
        self._counts = counts
        file.close()

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self._counts.append(len(data))
        return data


def test_unchanged_trails_are_not_opened_and_a_new_line_costs_that_line(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    counts: list[int] = []
    real = read.open_trail

    def counted(path: Path, **more: Any) -> BinaryIO:
        opened.append(path)
        return Counting(real(path, **more), counts)

    monkeypatch.setattr(read, "open_trail", counted)
    started = time.perf_counter()
    result = watched.look()
    print(f"idle look over {TRAILS} trails: {time.perf_counter() - started:.2f} s")
    assert (result.trails, result.opened, opened) == (TRAILS, 0, [])

    big = watched.root / "-srv-7" / "s7.jsonl"
    with big.open("ab") as file:
        file.write(joined([tool_result("x" * 3_000_000, 2)]))
    watched.look(flush=True)
    counts.clear()
    opened.clear()
    line = joined([prompt("one line more", 3)])
    with big.open("ab") as file:
        file.write(line)
    result = watched.look(flush=True)
    assert (opened, result.windows) == ([big], 1)
    assert result.read_bytes == len(line)
    assert sum(counts) <= 2 * (len(line) + HEAD_BYTES + TAIL_BYTES)
