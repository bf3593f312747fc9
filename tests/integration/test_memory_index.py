import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from memclaw_etl.errors import BusyError, HomeMismatchError, InvariantError
from memclaw_etl.lake import memory_index, memory_races, memory_search, memory_table
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_search import ROW
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.memories.rows import memory_of, rows_of
from tests.unit.memory_values import NOON, WordEmbedder, an_item

ROOT = Path(__file__).parents[2]


def open_index(folder, *, ledger_id="l1", model_id="words", dimension=64, clock=lambda: NOON):
    return MemoryIndex.open(
        str(folder), dimension=dimension, model_id=model_id, ledger_id=ledger_id, clock=clock
    )


def some(count, prefix="memory"):
    return resolve(
        an_item(content=f"{prefix} {i}", seq=i, evidence=((i, 0),)) for i in range(count)
    )


def put(index, memories, embedder=None, *, groups=()):
    keys = {memory.group_key for memory in memories} | set(groups)
    return publish(index, embedder or WordEmbedder(), memories, groups=keys)


def stored(index):
    return sorted(map(memory_of, index.all_rows().to_pylist()), key=lambda memory: memory.group_key)


def test_what_was_put_is_what_is_there(tmp_path):
    memories = resolve(
        [
            an_item(),
            an_item(seq=4, node_id="n2", attempt_id="a2"),
            an_item(content="x", ts_end=None),
        ]
    )
    done = put(open_index(tmp_path), memories)
    assert (done.added, done.updated, done.unchanged, done.deleted) == (2, 0, 0, 0)
    assert stored(open_index(tmp_path)) == memories


def test_the_same_again_commits_nothing_and_embeds_nothing(tmp_path):
    index, embedder = open_index(tmp_path), WordEmbedder()
    first = put(index, some(3), embedder)
    second = put(index, some(3), embedder)
    assert (second.unchanged, second.version) == (3, first.version)
    assert len(embedder.embedded) == 3


def test_a_changed_memory_keeps_vector_and_creation_time(tmp_path):
    embedder = WordEmbedder()
    put(open_index(tmp_path), resolve([an_item()]), embedder)
    later = open_index(tmp_path, clock=lambda: NOON + timedelta(days=1))
    after = NOON + timedelta(hours=1)
    more = resolve([an_item(), an_item(seq=9, node_id="n2", attempt_id="a2", ts_start=after)])
    done = put(later, more, embedder)
    assert (done.added, done.updated) == (0, 1)
    assert len(embedder.embedded) == 1
    [row] = later.all_rows(with_vectors=True).to_pylist()
    assert row["created_at"] == NOON
    assert memory_of(row) == more[0]
    assert row["vector"] == pytest.approx(embedder.embed([row["content"]])[0].tolist())


def test_a_group_without_rows_is_emptied_and_others_stay(tmp_path):
    index, memories = open_index(tmp_path), some(5)
    put(index, memories)
    done = put(index, memories[:1], groups=[memory.group_key for memory in memories[:3]])
    assert (done.unchanged, done.deleted) == (1, 2)
    assert stored(index) == [memories[0], *memories[3:]]


def test_one_call_is_one_commit(tmp_path):
    index, memories = open_index(tmp_path), some(6)
    before = put(index, memories[:3]).version
    done = put(index, memories[2:], groups=[memory.group_key for memory in memories[:2]])
    assert (done.added, done.deleted, done.version) == (3, 2, before + 1)


def test_many_groups_are_compared_without_a_long_in_list(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_index, "IN_LIST_MAX", 2)
    index = open_index(tmp_path)
    assert put(index, some(4)).added == 4
    assert put(index, some(4)).unchanged == 4


def test_twice_the_same_id_or_a_row_of_no_group_is_refused(tmp_path):
    index = open_index(tmp_path)
    rows = rows_of([*some(1), *some(1)], WordEmbedder(), known=index.existing([]))
    with pytest.raises(InvariantError, match="given twice"):
        index.replace_groups(rows, rows["group_key"].to_pylist())
    with pytest.raises(InvariantError, match="no group"):
        index.replace_groups(rows.slice(0, 1), [])
    assert index.count() == 0


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"ledger_id": "l2"}, "ledger l1, .* ledger l2; .*`memclaw-etl rebuild`"),
        ({"model_id": "other"}, r"words \(64 numbers\).* other \(64\); run `memclaw-etl reembed`"),
        ({"dimension": 32}, r"words \(64 numbers\).* words \(32\); run `memclaw-etl reembed`"),
    ],
)
def test_an_index_of_another_home_or_model_is_refused(tmp_path, other, says):
    open_index(tmp_path)
    with pytest.raises(HomeMismatchError, match=says):
        open_index(tmp_path, **other)


def test_every_row_says_which_model_made_its_vector(tmp_path):
    put(open_index(tmp_path), some(2))
    rows = open_index(tmp_path).all_rows().to_pylist()
    made_by = {(row["embedding_model"], row["embedding_dimension"]) for row in rows}
    assert made_by == {("words", 64)}


def remake(folder, tables, *, ledger_id="l1"):
    MemoryIndex.remake(
        str(folder), iter(tables), dimension=64, model_id="words", ledger_id=ledger_id
    )


def remade_rows(memories):
    born = {memory.memory_id: NOON for memory in memories}
    return rows_of(memories, WordEmbedder(), created_at=born)


def words_find(index):
    scope = memory_index.Scope(tenant_id="default")
    return (
        index.snapshot()
        .full_text(["memori"], scope=scope, limit=9, columns=["content"])
        .result()
        .num_rows
    )


@pytest.mark.parametrize("ledger_id", ["l1", "l2"])
def test_remaking_replaces_all_rows_at_once_whatever_the_index_was_made_with(tmp_path, ledger_id):
    index = open_index(tmp_path)
    put(index, some(3, "old"))
    memories = some(4)
    remake(tmp_path, [remade_rows(memories[:3]), remade_rows(memories[3:])], ledger_id=ledger_id)
    again = open_index(tmp_path, ledger_id=ledger_id)
    assert stored(index) == stored(again) == memories
    assert words_find(again) == 4
    assert put(again, some(4)).unchanged == 4


def test_what_stops_remaking_leaves_the_old_index_whole(tmp_path):
    def rows():
        yield remade_rows(some(2))
        raise InvariantError("a stage file is damaged")

    put(open_index(tmp_path), some(3))
    with pytest.raises(InvariantError, match="damaged"):
        remake(tmp_path, rows())
    assert stored(open_index(tmp_path)) == some(3)
    assert words_find(open_index(tmp_path)) == 3


def test_an_index_that_cannot_be_opened_or_is_not_there_is_made(tmp_path):
    remake(tmp_path / "none", [])
    assert open_index(tmp_path / "none").count() == 0
    put(open_index(tmp_path), some(3))
    for manifest in tmp_path.glob("*.lance/_versions/*"):
        manifest.write_bytes(b"no manifest")
    remake(tmp_path, [remade_rows(some(2))])
    assert stored(open_index(tmp_path)) == some(2)


def test_optimizing_changes_no_row_and_readers_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_index, "VECTOR_INDEX_ROWS", 300)
    index, reader = open_index(tmp_path), open_index(tmp_path)
    for part in range(4):
        put(index, some(100, f"part{part}"))
        index.optimize()
    assert "vector" in {c for i in index._table.list_indices() for c in i.columns}
    assert reader.count() == 400
    assert len(stored(reader)) == 400
    put(index, some(1, "new and not yet indexed"))
    scope = memory_index.Scope(tenant_id="default")
    found = (
        reader.snapshot().full_text(["index"], scope=scope, limit=5, columns=["content"]).result()
    )
    assert found["content"].to_pylist() == ["new and not yet indexed 0"]


def test_a_narrow_scope_is_searched_whole_though_few_partitions_are_looked_into(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(memory_index, "VECTOR_INDEX_ROWS", 300)
    monkeypatch.setattr(memory_search, "VECTOR_INDEX_ROWS", 300)
    monkeypatch.setattr(memory_search, "PROBES_MIN", 1)
    monkeypatch.setattr(memory_search, "PROBES_SHARE", 0.0)
    monkeypatch.setattr(memory_table, "PARTITION_ROWS", 16)
    index, embedder = open_index(tmp_path), WordEmbedder()
    words = ["ferry", "harbour", "timetable", "bridge", "lamp", "anchor", "cable", "dock"]
    put(
        index,
        resolve(
            an_item(
                content=f"{words[i % 8]} {words[i % 7]} {words[i % 5]} {i}", seq=i,
                namespace="rare" if i % 100 == 0 else "", node_id=f"n{i % 50}",
            )
            for i in range(600)
        ),
    )  # fmt: skip
    index.optimize()
    vector, snapshot = embedder.embed(["ferry harbour"])[0], index.snapshot()

    def nearest(limit, **scope):
        asked = memory_index.Scope(tenant_id="default", **scope)
        return snapshot.nearest(vector, scope=asked, limit=limit, columns=["memory_id"])

    assert nearest(50, namespace="rare").num_rows == 6
    assert nearest(50, node_id="n3").num_rows == 12
    assert nearest(600).num_rows == 600
    few = nearest(5)["_distance"].to_pylist()
    assert few == sorted(few)
    assert len(few) == 5


def test_the_parts_of_the_vector_index_stay_few(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_index, "VECTOR_INDEX_ROWS", 300)
    monkeypatch.setattr(memory_table, "VECTOR_PARTS_MAX", 2)
    index, parts = open_index(tmp_path), []
    put(index, some(300))
    for part in range(5):
        index.optimize()
        parts.append(index._table.index_stats("vector_idx").num_indices)
        put(index, some(3, f"part{part}"))
    assert max(parts) <= 3
    index.optimize()
    vector = WordEmbedder().embed(["part4 1"])[0]
    scope = memory_index.Scope(tenant_id="default")
    found = index.snapshot().nearest(vector, scope=scope, limit=400, columns=["memory_id"])
    assert found.num_rows == 315


def test_upkeep_is_due_once_in_so_many_commits_and_when_many_rows_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_index, "UPKEEP_VERSIONS", 8)
    index, due = open_index(tmp_path), []
    assert not index.needs_upkeep
    for part in range(16):
        put(index, some(1, f"part{part}"))
        due.append(index.needs_upkeep)
    assert due.count(True) == 2
    monkeypatch.setattr(memory_index, "UNINDEXED_ROWS", 10)
    assert index.needs_upkeep
    index.optimize()
    assert not index.needs_upkeep


def test_a_snapshot_stays_as_it_was_and_the_next_one_sees_every_commit(tmp_path):
    index, reader = open_index(tmp_path), open_index(tmp_path)
    scope = memory_index.Scope(tenant_id="default")
    put(index, some(2))
    before = reader.snapshot()

    def found(snapshot):
        rows = snapshot.full_text(["memori"], scope=scope, limit=9, columns=["content"]).result()
        read = snapshot.rows(rows[ROW].to_pylist(), columns=["content"])
        assert sorted(read.to_pylist(), key=str) == sorted(
            rows.drop(["_score"]).to_pylist(), key=str
        )
        return sorted(rows["content"].to_pylist())

    assert found(before) == ["memory 0", "memory 1"]
    put(index, some(3), groups=[memory.group_key for memory in some(2)])
    put(index, [], groups=[memory.group_key for memory in some(1)])
    assert found(before) == ["memory 0", "memory 1"]
    assert found(reader.snapshot()) == ["memory 1", "memory 2"]
    assert before.rows([], columns=["content"]).column_names == ["content", ROW]


def test_counts_are_by_tenant_when_asked(tmp_path):
    index = open_index(tmp_path)
    put(index, resolve([an_item(), an_item(tenant_id="o'ther")]))
    assert (index.count(), index.count(tenant_id="o'ther"), index.count(tenant_id="x")) == (2, 1, 0)
    assert index.all_rows(tenant_id="o'ther")["tenant_id"].to_pylist() == ["o'ther"]


def test_a_word_that_is_asked_twice_weighs_twice_indexed_or_not(tmp_path):
    index, scope = open_index(tmp_path), memory_index.Scope(tenant_id="default")
    put(index, some(30, "red apple"))
    index.optimize()
    put(index, some(3, "green apple"))

    def scores(words):
        found = (
            index.snapshot().full_text(words, scope=scope, limit=50, columns=["memory_id"]).result()
        )
        return dict(zip(found["memory_id"].to_pylist(), found["_score"].to_pylist(), strict=True))

    once, twice = scores(["green", "appl"]), scores(["green", "appl", "green", "appl"])
    assert len(once) == 33
    assert twice == pytest.approx({key: 2 * score for key, score in once.items()})


WRITER = """
import sys
from tests.integration.test_memory_index import open_index, put, some
open_index(sys.argv[1] + "-own").count()
print("ready", flush=True)
sys.stdin.readline()
index = open_index(sys.argv[1])
for size in (5, 10, 15, 20):
    put(index, some(size))
"""


def write(folder, barrier):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with writer:
        ready = writer.stdout.readline()
        barrier(60)
        assert ready == "ready\n"
        writer.stdin.write("go\n")
        writer.stdin.flush()
        return writer.wait(timeout=120)


def test_a_race_is_run_again_and_given_up_at_last(monkeypatch):
    monkeypatch.setattr(memory_races, "FIRST_WAIT_S", 0)
    answers = iter([RuntimeError("Retryable commit conflict for version 3"), "done"])

    def lose_then_win():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lose():
        raise RuntimeError("Incompatible transaction: ...")

    def fail():
        raise RuntimeError("disk is full")

    assert memory_races.again(lose_then_win) == "done"
    with pytest.raises(BusyError, match="tries in a row"):
        memory_races.again(lose)
    with pytest.raises(RuntimeError, match="disk"):
        memory_races.again(fail)


def test_processes_that_make_and_fill_the_index_at_once_do_not_duplicate(tmp_path):
    import threading

    started = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool:
        exits = list(pool.map(lambda _: write(tmp_path, started.wait), range(3)))
    assert exits == [0, 0, 0]
    assert stored(open_index(tmp_path)) == some(20)
