"""A rebuild from ledger and stage files makes the same index, to the byte: rows, times, vectors."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from memclaw_etl.lake.ledger import Ledger, results, shown
from memclaw_etl.lake.ledger.schema_memories import statement_edges, statement_marks
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.embeddings import open_embedder
from memclaw_etl.service import rebuild as rebuild_module
from memclaw_etl.service.audit import audit
from memclaw_etl.service.forgetting import forget
from memclaw_etl.service.home import open_home
from memclaw_etl.service.rebuild import rebuild
from memclaw_etl.service.relations import undo
from memclaw_etl.settings import NamespaceSettings, SourceSettings, load_settings
from tests.conftest import Clock
from tests.staged import Home
from tests.trail_lines import joined, prompt, reply

FERRY, MILL = "/srv/ferry", "/srv/mill"
TIMEOUT = "Decision: the export timeout is {} s, since clients wait."
QUEUE = "Decision: we use {} for the job queue because it is simpler."
CACHE = "Decision: we use {} for the page cache because it is simpler."
NOTES = "Decision: release notes are written by {} because it is simpler."
SAME = "Decision: Redis is used for the job queue because it is simpler."
TALKS = (
    ("default", FERRY, TIMEOUT.format(30)), ("default", FERRY, QUEUE.format("Redis")),
    ("default", FERRY, TIMEOUT.format(60)), ("default", FERRY, SAME),
    ("default", FERRY, QUEUE.format("Kafka")), ("default", MILL, QUEUE.format("Redis")),
    ("default", MILL, CACHE.format("Redis")), ("default", MILL, CACHE.format("Varnish")),
    ("acme", FERRY, QUEUE.format("Redis")), ("acme", FERRY, QUEUE.format("Kafka")),
    ("acme", MILL, NOTES.format("Ada")), ("acme", MILL, TIMEOUT.format(30)),
)  # fmt: skip
"""(tenant, folder, what was decided), in the order of their times; each is a trail of its own."""
SCOPE = ["tenant_id", "namespace"]


@pytest.fixture
def home(tmp_path: Path, clock: Clock) -> Iterator[Home]:
    """Two tenants with two namespaces each, and nothing read yet."""
    trails = tmp_path / "trails"
    for number, (tenant, folder, text) in enumerate(TALKS):
        path = trails / tenant / f"{tenant}-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        asked = prompt(f"What shall we do about point {number}?", 100 * number, cwd=folder)
        path.write_bytes(joined([asked, reply(text, 100 * number + 1, cwd=folder)]))
    settings = load_settings(
        tmp_path / "home",
        sources=[
            SourceSettings(kind="claude_code", root=trails / tenant, tenant_id=tenant)
            for tenant in ("default", "acme")
        ],
        namespaces=[
            NamespaceSettings(path=FERRY, namespace="ferry"),
            NamespaceSettings(path=MILL, namespace="mill"),
        ],
    )
    bench = open_home(settings)
    bench.__dict__["ledger"] = Ledger(bench.ledger.engine, bench.ledger.ledger_id, clock)
    yield Home(bench, clock, trails)
    bench.ledger.engine.dispose()


def rows(home: Home) -> pa.Table:
    """Every row and every column, vectors and times included, by id."""
    return home.bench.index.all_rows(with_vectors=True).combine_chunks().sort_by("memory_id")


def ipc_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def assert_equal(left: pa.Table, right: pa.Table) -> None:
    assert left.column_names == right.column_names
    for name in left.column_names:
        assert left[name].to_pylist() == right[name].to_pylist(), name
    assert ipc_bytes(left) == ipc_bytes(right)


def one_saying(home: Home, text: str, tenant: str) -> str:
    found = all_memories(home.bench.index, tenant_id=tenant)
    return next(memory.memory_id for memory in found if memory.content == text)


def decide(home: Home) -> None:
    """A memory is forgotten, and a decision is undone."""
    gone = one_saying(home, TIMEOUT.format(30), "acme")
    forget(home.bench, gone, tenant_id="acme", reason="asked")
    edges = [
        memory.superseded_by
        for memory in all_memories(home.bench.index, tenant_id="acme")
        if memory.superseded_by
    ]
    assert len(edges) == 1
    with home.ledger.read() as tx:
        [edge] = shown.edges(tx, results.scopes(tx, "acme/"))
    undo(home.bench, edge.edge_id, tenant_id="acme", reason="both", actor="me")


def test_a_rebuild_makes_the_same_rows_to_the_byte(home: Home) -> None:
    due = home.pin()
    for some in (due[:5], due[5:6], due[6:]):
        home.clock.move(minutes=7)
        home.run(some)
    home.clock.move(days=2)
    decide(home)
    before = rows(home)
    statuses = {
        (row["tenant_id"], row["namespace"]): set() for row in before.select(SCOPE).to_pylist()
    }
    for row in before.select([*SCOPE, "status"]).to_pylist():
        statuses[row["tenant_id"], row["namespace"]].add(row["status"])
    assert statuses == {
        ("default", "ferry"): {"active", "superseded"},
        ("default", "mill"): {"active", "superseded"},
        ("acme", "ferry"): {"active"},  # the decision was undone
        ("acme", "mill"): {"active"},
    }
    assert TIMEOUT.format(30) not in before.filter(of_tenant(before, "acme"))["content"].to_pylist()
    assert audit(home.bench) == []
    home.clock.move(days=30)
    assert rebuild(home.bench) == before.num_rows
    assert_equal(rows(home), before)
    assert audit(home.bench) == []


def of_tenant(table: pa.Table, tenant: str) -> pa.Array:
    return pa.array([one == tenant for one in table["tenant_id"].to_pylist()])


def test_rows_are_the_same_when_components_come_one_by_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.run(home.pin())
    before = rows(home)
    monkeypatch.setattr(rebuild_module, "GROUPS_AT_ONCE", 1)
    seen: list[tuple[int, int]] = []
    rebuild(home.bench, on_groups=lambda done, of: seen.append((done, of)))
    assert len(seen) > 5
    assert seen[-1][0] == seen[-1][1]
    assert_equal(rows(home), before)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_batching_makes_the_rows_of_a_rebuild(home: Home, seed: int) -> None:
    chance = random.Random(seed)
    due = home.pin()
    chance.shuffle(due)
    left = list(due)
    while left:
        home.clock.move(minutes=chance.randint(1, 90))
        size = chance.randint(1, 5)
        home.run(left[:size])
        left = left[size:]
    made = rows(home)
    assert audit(home.bench) == []
    rebuild(home.bench)
    assert_equal(rows(home), made)


def test_relations_that_are_damaged_are_found_anew(home: Home) -> None:
    home.run(home.pin())
    before = rows(home)
    with home.ledger.write() as tx:
        stored = sorted(map(tuple, tx.execute(statement_edges.select())))
        marked = sorted(map(tuple, tx.execute(statement_marks.select())))
        tx.execute(statement_edges.delete())
        tx.execute(statement_marks.delete())
        tx.execute(statement_marks.insert().values(group_key="nobody's", mark="m"))
    rebuild(home.bench)
    assert_equal(rows(home), before)
    with home.ledger.read() as tx:
        assert sorted(map(tuple, tx.execute(statement_edges.select()))) == stored
        assert sorted(map(tuple, tx.execute(statement_marks.select()))) == marked


def test_a_vector_depends_on_its_text_alone() -> None:
    """Whatever shares the model call: other texts, other lengths, padding, texts that are cut."""
    chance = random.Random(5)
    words = ("we", "decided", "to", "keep", "the", "ferry", "timetable", "since", "slow", "sync")
    texts = [" ".join(chance.choices(words, k=chance.randint(1, 320))) for _ in range(60)]
    texts += ["short", "", "ünïcödé 事実 ", "x" * 2_000]
    embedder = open_embedder()
    alone = np.vstack([embedder.embed([text]) for text in texts])
    for _ in range(3):
        order = chance.sample(range(len(texts)), len(texts))
        together = embedder.embed([texts[at] for at in order])
        assert np.array_equal(together, alone[order])
