"""Trails that were rewritten, moved, or are read twice: epochs, nodes and sources."""

import os
from pathlib import Path

import pytest
from sqlalchemy import select

from memclaw_etl.lake.ledger import WindowState
from memclaw_etl.lake.ledger.schema import event_owners, watermarks
from memclaw_etl.settings import Limits, NamespaceSettings
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from tests.conftest import Clock
from tests.ledger_rows import ask, commit_all, take
from tests.trail_lines import joined, prompt
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


def test_a_rewritten_trail_opens_its_next_epoch(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(12))
    watched.limits = Limits(window_events=5)
    watched.look(flush=True)
    path.write_bytes(joined([prompt("a new beginning", 77)]) + talk(12))
    code, message = problem(watched)
    assert code == "rewritten"
    assert "epoch 1 starts at seq 0" in message
    old = watched.windows(epoch=0)
    assert {one.state for one in old} == {WindowState.REWRITTEN}
    assert watched.ranges()[0] == "0-4"
    assert watched.windows()[0].partition_key == "cc:m:one~1@0-4"
    # nobody had read the old windows: what they owned passed on, each event once
    with watched.ledger.read() as tx:
        owners = tx.execute(select(event_owners.c.window_id)).scalars().all()
    assert len(owners) == 13 + 2
    assert not set(owners) & {one.window_id for one in old}
    assert len(watched.texts()) == 13


def test_a_rewrite_after_the_commit_replays_what_is_known(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(5))
    watched.look(flush=True)
    pinned = watched.windows()
    commit_all(watched.ledger, take(watched.ledger, ask(watched.ledger, pinned)))
    with watched.ledger.write() as tx:  # masked, so that it keeps its claims
        from memclaw_etl.lake.ledger.schema import stage_files

        tx.execute(
            stage_files.insert().values(
                window_id=pinned[0].window_id, stage="masked_chunks", path="p", input_hash="i",
                content_hash="c", row_count=5, counts={}, created_at=watched.ledger.now(),
            )
        )  # fmt: skip
    path.write_bytes(joined([prompt("new", 77)]) + talk(5))
    watched.look(flush=True)
    (fresh,) = watched.windows()
    assert (fresh.events, fresh.replayed) == (1, 5)
    assert watched.windows(epoch=0)[0].state is WindowState.COMMITTED
    with watched.ledger.read() as tx:
        marks = tx.execute(select(watermarks.c.epoch, watermarks.c.last_seq)).all()
    assert [tuple(row) for row in marks] == [(0, 4)]


def test_a_window_that_a_run_reads_is_not_taken_from_it_by_a_rewrite(watched: Watched) -> None:
    """It has read its lines before: it may finish, and nobody else gets its events."""
    path = watched.write("p/one.jsonl", talk(3))
    watched.look(flush=True)
    held = take(watched.ledger, ask(watched.ledger, watched.windows()))
    path.write_bytes(joined([prompt("new", 77)]) + talk(3))
    watched.look(flush=True)
    assert watched.windows(epoch=0)[0].state is WindowState.PINNED
    (fresh,) = watched.windows()
    assert (fresh.events, fresh.replayed) == (1, 3)
    commit_all(watched.ledger, held)
    assert watched.windows(epoch=0)[0].state is WindowState.COMMITTED


@pytest.mark.parametrize("size", [0, 1, 300, 1_000])
def test_a_trail_that_shrank(watched: Watched, size: int) -> None:
    path = watched.write("p/one.jsonl", talk(12))
    watched.look(flush=True)
    path.write_bytes(path.read_bytes()[:size])
    result = watched.look(flush=True)
    assert codes(result) == ["rewritten"]
    assert watched.node().epoch == 1
    assert watched.look(flush=True).windows == 0
    assert watched.node().epoch == 1


def test_a_rewrite_to_the_same_size_is_seen(watched: Watched, clock: Clock) -> None:
    path = watched.write("p/one.jsonl", talk(3))
    watched.look(flush=True)
    path.write_bytes(path.read_bytes().replace(b"words", b"WORDS"))
    clock.move(seconds=1)
    os.utime(path, (1, 1))
    assert problem(watched)[0] == "rewritten"


def test_a_moved_trail_keeps_its_node(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(3))
    watched.look(flush=True)
    target = watched.root / "q" / "one.jsonl"
    target.parent.mkdir()
    path.rename(target)
    result = watched.look(flush=True)
    assert (codes(result), result.windows, len(watched.nodes())) == ([], 0, 2)
    assert watched.node().path == str(target)
    watched.append("q/one.jsonl", talk(1, 3))
    watched.look(flush=True)
    assert watched.ranges() == ["0-2", "3-3"]
    assert len(watched.texts()) == 4


def test_a_trail_that_moved_to_another_source(watched: Watched, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    watched.sources = [
        Source(TrailKind.CLAUDE_CODE, watched.root, ("*",)),
        Source(TrailKind.CLAUDE_CODE, archive, ("*",)),
    ]
    path = watched.write("p/one.jsonl", talk(3))
    watched.look(flush=True)
    path.rename(archive / "one.jsonl")
    watched.look(flush=True)  # the old place is seen to be empty before the new one is found
    result = watched.look(flush=True)
    assert (codes(result), len(watched.nodes())) == ([], 2)
    assert len(watched.texts()) == 3


def test_the_same_stem_in_two_folders_is_two_nodes_for_ever(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(1))
    watched.write("q/one.jsonl", talk(1, 5))
    watched.look(flush=True)
    before = {node.path: node.node_id for node in watched.nodes()}
    assert len(set(before.values())) == 3
    watched.write("a/one.jsonl", talk(1, 7))  # sorts before both
    watched.look(flush=True)
    after = {node.path: node.node_id for node in watched.nodes()}
    assert before.items() <= after.items()
    assert len(set(after.values())) == 4
    (watched.root / "p" / "one.jsonl").unlink()
    watched.look(flush=True)
    assert {node.path: node.node_id for node in watched.nodes()} == after


@pytest.mark.parametrize("kind", [TrailKind.CLAUDE_CODE, TrailKind.CURSOR])
@pytest.mark.parametrize("tenant", ["default", "other"])
def test_two_sources_over_one_real_path_are_an_error_that_names_both(
    watched: Watched, kind: TrailKind, tenant: str
) -> None:
    watched.write("p/one.jsonl", talk(1))
    watched.sources = [
        Source(TrailKind.CLAUDE_CODE, watched.root, ("*",)),
        Source(kind, watched.root / "p", tenant_id=tenant),
    ]
    for _ in range(2):
        result = watched.look(flush=True)
        assert set(codes(result)) == {"SettingsError"}
        assert len(result.problems) == 2
        assert str(watched.root / "p") in result.problems[0].message
        assert f"claude_code at {watched.root} (" in result.problems[0].message
        assert result.complete
    assert len(watched.nodes()) == 2


def test_a_path_that_another_kind_of_source_read_before(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(1))
    watched.look(flush=True)
    watched.sources = [Source(TrailKind.CURSOR, watched.root / "p")]
    result = watched.look(flush=True)
    assert set(codes(result)) == {"SettingsError"}
    assert "cc:m:one" in result.problems[-1].message
    assert "cursor:m:one" in result.problems[-1].message
    assert len(watched.nodes()) == 2


def test_two_sources_of_one_folder_do_not_lose_each_others_trails(watched: Watched) -> None:
    watched.write("q/one.jsonl", talk(1))
    watched.sources = [
        Source(TrailKind.CLAUDE_CODE, watched.root, ("p",), fleet_id="a"),
        Source(TrailKind.CLAUDE_CODE, watched.root, ("q",), fleet_id="b"),
    ]
    for _ in range(3):
        assert codes(watched.look(flush=True)) == []
    assert [node.fleet_id for node in watched.nodes()] == ["a", "b"]


def test_a_window_belongs_to_one_namespace(watched: Watched) -> None:
    folders = ["/src/a", "/src/a/deep", None, "/src/b", "/tmp", "/src/a"]
    lines = [prompt(f"{SECRET} {n}", n, cwd=folder) for n, folder in enumerate(folders)]
    watched.write("p/one.jsonl", joined(lines))
    watched.look(flush=True)
    assert watched.ranges() == ["0-5"]  # without a table there is nothing to tell apart
    watched.write("p/two.jsonl", joined({**line, "uuid": f"u{n}"} for n, line in enumerate(lines)))
    watched.namespaces = [
        NamespaceSettings(path="/src/a", namespace="a"),
        NamespaceSettings(path="/src/b", namespace="b"),
    ]
    watched.look(flush=True)
    assert watched.ranges("two") == ["0-2", "3-3", "4-4", "5-5"]
    found = [one.project for one in watched.windows("two")]
    assert found == ["/src/a/deep", "/src/b", "/tmp", "/src/a"]


def test_a_file_name_that_is_no_text(watched: Watched) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    try:
        watched.write(f"p/{name}", talk(1))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    code, message = problem(watched)
    assert code == "SettingsError"
    assert "caf\\udce9.jsonl" in message
    assert len(watched.nodes()) == 1


def test_a_file_name_that_holds_a_credential(watched: Watched) -> None:
    secret = "gl" + "pat-" + "x7Kd93mQpL2vRt8WzY4b"
    watched.write(f"p/{secret}.jsonl", talk(1))
    code, message = problem(watched)
    assert code == "SettingsError"
    assert "[MASKED:" in message
    assert secret not in message
    assert len(watched.nodes()) == 1


def test_a_buffer_that_starts_again_below_its_end_is_a_new_epoch(watched: Watched) -> None:
    def said(word: str, *seqs: int) -> bytes:
        row = {"ts": None, "session_id": "s", "role": "user", "kind": "message"}
        return joined({**row, "seq": seq, "content": f"{word} {seq}"} for seq in seqs)

    folder = watched.root.parent / "buffers"
    buffer = Watched(watched.ledger, watched.clock, folder)
    buffer.sources = [Source(TrailKind.BUFFER, folder)]
    buffer.write("b.jsonl", said("old", 0, 1, 2, 3, 4))
    buffer.look(flush=True)
    for pruned in (said("old", 3, 4), b"", said("old", 4, 5)):
        buffer.write("b.jsonl", pruned)
        buffer.look(flush=True)
        assert buffer.node("b").epoch == 0
    assert buffer.ranges("b") == ["0-4", "5-5"]
    buffer.write("b.jsonl", said("new", 0, 1, 2))
    assert codes(buffer.look(flush=True)) == ["rewritten"]
    buffer.append("b.jsonl", said("new", 3, 4, 5, 6, 7))
    assert codes(buffer.look(flush=True)) == []
    assert (buffer.node("b").epoch, buffer.ranges("b")) == (1, ["0-2", "3-7"])
    assert buffer.texts("b") == [f"new {seq}" for seq in range(8)]
    watched.look(flush=True)
