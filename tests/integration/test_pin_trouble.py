"""Trails in trouble: one clear problem of that node each, and never a stop for the others."""

import os
import random
import threading
from pathlib import Path
from typing import BinaryIO, Self

import pytest

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.lake.ledger import Ledger, nodes
from memclaw_etl.trails import decode, discovery
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.windows import read
from tests.conftest import Clock
from tests.trail_lines import dumped, joined, prompt, tool_result
from tests.watching import Watched, codes, watched

__all__ = ["watched"]

SECRET = "the words of this trail"


def talk(count: int, first: int = 0, word: str = SECRET) -> bytes:
    return joined(prompt(f"{word} {number}", number) for number in range(first, first + count))


def problem(watched: Watched, **look: object) -> tuple[str, str]:
    result = watched.look(flush=True, **look)  # type: ignore[arg-type]
    (only,) = result.problems
    assert SECRET not in only.message
    return only.code, only.message


@pytest.fixture(autouse=True)
def _a_healthy_trail_beside_it(watched: Watched):
    watched.write("p/healthy.jsonl", talk(2, 900))
    yield
    assert watched.texts("healthy") == [f"{SECRET} 900", f"{SECRET} 901"]


def test_an_empty_trail(watched: Watched) -> None:
    watched.write("p/one.jsonl", b"")
    assert problem(watched) == ("empty", "node cc:m:one: the trail has 0 bytes")
    assert watched.windows() == []
    watched.append("p/one.jsonl", talk(1))
    assert codes(watched.look(flush=True)) == []
    assert watched.node().problem_code is None


@pytest.mark.parametrize(
    "data", [random.Random(7).randbytes(5_000), b"\x00" * 5_000 + b"\n\xff\xfe", b"\xff" * 99]
)
def test_a_binary_file(watched: Watched, data: bytes) -> None:
    watched.write("p/one.jsonl", data)
    code, message = problem(watched)
    assert code == "not_a_trail"
    assert "cc:m:one" in message


def test_broken_lines_are_counted_and_the_others_kept(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(1) + b'{"broken": \n' + talk(1, 2))
    code, message = problem(watched)
    assert code == "quarantined_lines"
    assert "1 pieces" in message
    assert len(watched.texts()) == 2
    assert sum(one.quarantined_lines for one in watched.windows()) == 1


def test_a_line_of_25_megabytes(watched: Watched) -> None:
    huge = tool_result("x" * 25_000_000, 5)
    watched.write("p/one.jsonl", talk(2) + joined([huge]) + talk(2, 10))
    result = watched.look(flush=True)
    assert codes(result) == []
    assert [text.rpartition(" ")[2] for text in watched.texts()] == ["0", "1", "10", "11"]


def test_a_line_longer_than_we_hold_is_set_aside(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memclaw_etl.trails import lines

    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 5_000_000)
    huge = joined([prompt("x" * 9_000_000, 5)])
    watched.write("p/one.jsonl", talk(1) + huge + talk(1, 10))
    assert problem(watched)[0] == "quarantined_lines"
    assert [text.rpartition(" ")[2] for text in watched.texts()] == ["0", "10"]


def test_a_trail_that_vanished_keeps_its_node(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(1))
    watched.look(flush=True)
    kept = path.read_bytes()
    path.unlink()
    code, message = problem(watched)
    assert code == "vanished"
    assert "cc:m:one" in message
    node, (window,) = watched.node(), watched.windows()
    with pytest.raises(TrailUnreadableError):
        read.read_window(node, window)
    watched.write("p/one.jsonl", kept)
    assert codes(watched.look(flush=True)) == []
    assert watched.node().problem_code is None
    assert len(watched.texts()) == 1


def test_a_source_that_is_not_there(watched: Watched, tmp_path: Path) -> None:
    nowhere = Source(TrailKind.CLAUDE_CODE, tmp_path / "nowhere", ("*",))
    watched.sources = [nowhere, Source(TrailKind.CLAUDE_CODE, watched.root, ("*",))]
    code, message = problem(watched)
    assert code == "TrailUnreadable"
    assert str(tmp_path / "nowhere") in message


class Broken:
    """A file whose bytes the disk refuses."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def read(self, *size: int) -> bytes:
        raise OSError(5, "Input/output error")

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def refuse(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Let the disk refuse to open, or to read, `one.jsonl`."""
    open_file, open_trail = os.open, read.open_trail

    def no_open(path: Path, *more: int) -> int:
        if Path(path).name == "one.jsonl":
            raise PermissionError(13, "Permission denied")
        return open_file(path, *more)

    def no_read(path: Path, *, root: Path, node_id: str) -> object:
        file = open_trail(path, root=root, node_id=node_id)
        return Broken(file) if path.name == "one.jsonl" else file

    if what == "open":
        monkeypatch.setattr(discovery.os, "open", no_open)
    else:
        monkeypatch.setattr(read, "open_trail", no_read)


@pytest.mark.parametrize(
    ("what", "said"), [("open", "Permission denied"), ("read", "Input/output error")]
)
def test_a_trail_that_the_disk_refuses(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, what: str, said: str
) -> None:
    watched.write("p/one.jsonl", talk(1))
    with monkeypatch.context() as broken:
        refuse(broken, what)
        for _ in range(2):
            code, message = problem(watched)
            assert (code, watched.node().problem_code) == ("unreadable", "unreadable")
            assert "cc:m:one" in message
            assert said in message
    assert codes(watched.look(flush=True)) == []
    assert len(watched.texts()) == 1


def test_a_bug_that_one_trail_meets(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.write("p/one.jsonl", talk(1))
    real = decode.assemble

    def fall(kind: TrailKind, outcomes: object, state: object, *, file_session: str) -> object:
        if file_session == "one":
            raise ValueError(SECRET)
        return real(kind, outcomes, state, file_session=file_session)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(decode, "assemble", fall)
        for _ in range(2):
            code, message = problem(watched)
            assert code == "unexpected"
            assert "node cc:m:one: unexpected ValueError at test_pin_trouble.py:" in message
    assert codes(watched.look(flush=True)) == []
    assert len(watched.texts()) == 1


def test_a_folder_or_a_pipe_in_a_trails_place(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(1))
    watched.look(flush=True)
    node, (window,) = watched.node(), watched.windows()
    path.unlink()
    for make in (Path.mkdir, os.mkfifo):
        make(path)
        watched.look(flush=True)
        raised: list[BaseException] = []

        def try_to_read(raised: list[BaseException] = raised) -> None:
            try:
                read.read_window(node, window)
            except TrailUnreadableError as error:
                raised.append(error)

        thread = threading.Thread(target=try_to_read, daemon=True)
        thread.start()
        thread.join(timeout=5)
        assert len(raised) == 1
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_link_that_leads_out_of_the_source(watched: Watched, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(talk(1, word="outside"))
    path = watched.write("p/one.jsonl", talk(1))
    watched.look(flush=True)
    path.unlink()
    path.symlink_to(outside)
    result = watched.look(flush=True)
    assert result.skipped["outside_root"] == 1
    with pytest.raises(TrailUnreadableError):
        watched.texts()


@pytest.mark.parametrize("cwd", ["/srv/\x00", "/" + "x" * 9_000, "/srv/ok", ""])
def test_whatever_a_trail_calls_its_folder_fits_the_ledger(
    ledger: Ledger, clock: Clock, tmp_path: Path, cwd: str, watched: Watched
) -> None:
    root = tmp_path / "other"
    (root / "p").mkdir(parents=True)
    lines = joined([prompt("a", 1, cwd=cwd, uuid="u" * 900), prompt("b", 2, cwd=cwd, uuid="\x00")])
    (root / "p" / "one.jsonl").write_bytes(lines)
    (root / "p" / "two.jsonl").write_bytes(lines + dumped(prompt("c", 3, type="x\x00" * 300)))
    other = Watched(ledger, clock, root)
    result = other.look(flush=True)
    assert (result.windows, result.noise_windows) == (1, 1)
    assert other.windows("one")[0].project == ("/srv/ok" if cwd == "/srv/ok" else None)
    watched.look(flush=True)


def test_a_buffer_window_is_itself_after_its_line_was_closed(watched: Watched) -> None:
    """Pinned without its newline; masked after the gateway wrote on."""
    row = {"ts": None, "session_id": "s", "role": "user", "kind": "message"}
    lines = [{**row, "seq": seq, "content": f"said {seq}"} for seq in range(10, 14)]
    folder = watched.root.parent / "buffers"
    buffer = Watched(watched.ledger, watched.clock, folder)
    buffer.sources = [Source(TrailKind.BUFFER, folder)]
    buffer.write("b.jsonl", joined(lines[:2])[:-1])
    buffer.look(flush=True)
    assert buffer.ranges("b") == ["0-11"]
    buffer.append("b.jsonl", b"\n{broken\n" + joined(lines[2:]))
    assert buffer.texts("b") == ["said 10", "said 11"]
    buffer.look(flush=True)
    assert buffer.texts("b") == [f"said {seq}" for seq in range(10, 14)]
    # the gateway prunes what is committed: later windows are still themselves
    buffer.write("b.jsonl", joined(lines[2:]))
    last = buffer.windows("b")[-1]
    with watched.ledger.read() as tx:
        node = nodes.get(tx, last.tenant_id, last.node_id)
    assert node is not None
    assert [event.seq for event in read.read_window(node, last).events] == [12, 13]
    watched.look(flush=True)
