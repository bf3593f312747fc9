"""Recall: how long an answer takes, in a large index that another process writes to meanwhile.

Run as `python -m tests.bench recall` (100,000 rows) or `recall-million`.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.rerankers import RRFReranker

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_rows import Scope
from memclaw_etl.memories.embeddings import Embedder, open_embedder
from memclaw_etl.memories.items import Item
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.recall import RecallQuery, recall
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.memories.rows import rows_of
from memclaw_etl.memories.wording import terms
from tests.bench.memory_items import a_memory_item, open_memory_index

ROOT = Path(__file__).parents[2]
ROWS = 100_000
MANY_ROWS = 1_000_000
QUERIES = 200
BATCH = 20_000
FILLER_RANKS = 12
"""They make up about half of all words, as filler does in English."""
NODES = 500
COMMIT_EVERY_S = 1.0
"""More often than the pipeline: a run commits its memories once, and takes seconds."""
COMMIT_ROWS = 10
FILTERS: Mapping[str, Mapping[str, object]] = {
    "all nodes": {},
    "one node": {"node_id": "node-7"},
    "type and time": {"since": datetime(2026, 3, 1, tzinfo=UTC), "memory_type": "episode"},
}

Row = tuple[str, float, str]


class SyntheticEmbedder:
    """Random directions in place of a model, for filler rows."""

    model_id = "synthetic"
    dimension = 384

    def __init__(self) -> None:
        self._random = np.random.default_rng(11)

    def embed(self, texts):
        vectors = self._random.standard_normal((len(texts), self.dimension)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def filler_items(rows: int) -> Iterator[list[Item]]:
    """Memories of 25 words whose frequencies follow Zipf's law; 500 nodes, one year; in batches.

    The most frequent ranks are left out: in English these are the filler that is not indexed.
    """
    random = np.random.default_rng(7)
    words = [f"w{number:x}" for number in range(20_000)]
    first, step = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=365) / rows
    for start in range(0, rows, BATCH):
        ranks = (random.zipf(1.3, size=(min(BATCH, rows - start), 50)) - 1) % len(words)
        chosen = [[rank for rank in row if rank >= FILLER_RANKS][:25] for row in ranks.tolist()]
        yield [
            a_memory_item(
                node=f"node-{i % NODES}", seq=i // NODES, session=f"s{i // 5_000}",
                content=" ".join(words[rank] for rank in some), ts=first + step * i,
            )
            for i, some in enumerate(chosen, start)
        ]  # fmt: skip


def fill(folder: str, embedder: Embedder, rows: int) -> list[str]:
    """Make an index of filler; gives some of its contents, to ask for.

    Beyond ROWS the texts come again, as memories of other nodes with other vectors.
    """
    asked: list[str] = []

    def batches() -> Iterator[pa.Table]:
        made: list[pa.Table] = []
        for items in filler_items(min(rows, ROWS)):
            asked.extend(one.content for one in items[:: BATCH // 100])
            memories = resolve(items)
            now = datetime.now(UTC)
            born = {memory.memory_id: now for memory in memories}
            made.append(rows_of(memories, embedder, created_at=born))
            yield made[-1]
        for copy in range(1, rows // ROWS):
            yield from (_copied(table, embedder, copy) for table in made)

    MemoryIndex.remake(
        folder, batches(), dimension=embedder.dimension, model_id=embedder.model_id,
        ledger_id="bench",
    )  # fmt: skip
    open_memory_index(folder, embedder).optimize()
    return asked


def _copied(table: pa.Table, embedder: Embedder, copy: int) -> pa.Table:
    """The same texts as other memories, elsewhere: making a million one by one takes too long."""
    count = table.num_rows
    flat = pa.array(embedder.embed([""] * count).ravel())
    random = np.random.default_rng(copy)
    nodes = [f"node-{number}" for number in random.integers(NODES, size=count)]
    changed = {
        "memory_id": pc.binary_join_element_wise(table["memory_id"], str(copy), "-"),
        "group_key": pc.binary_join_element_wise(table["group_key"], str(copy), "-"),
        "words_key": pa.array(random.integers(2**62, size=count)),
        "session_key": pa.array(random.integers(2**20, size=count)),
        "node_id": pa.array(nodes),
        "node_ids": pa.array([[node] for node in nodes], pa.list_(pa.string())),
        "vector": pa.FixedSizeListArray.from_arrays(flat, embedder.dimension),
    }
    for name, values in changed.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), values)
    return table


def write(folder: str) -> None:
    """Commit ten new memories every second, with upkeep as the pipeline does it, until killed."""
    embedder = SyntheticEmbedder()
    index = open_memory_index(folder, embedder)
    at, number = datetime(2027, 1, 1, tzinfo=UTC), 0
    print("ready", flush=True)
    while True:
        begun = time.monotonic()
        memories = resolve(
            a_memory_item(node="writer", seq=i, content=f"new memory w{i:x} w{i % 90:x}", ts=at)
            for i in range(number, number + COMMIT_ROWS)
        )
        publish(index, embedder, memories, groups={memory.group_key for memory in memories})
        if index.needs_upkeep:
            index.optimize()
        number += COMMIT_ROWS
        time.sleep(max(0.0, COMMIT_EVERY_S - (time.monotonic() - begun)))


@contextmanager
def writing(folder: str) -> Iterator[None]:
    """Another process commits while the body runs."""
    command = [sys.executable, "-m", "tests.bench.bench_latency", folder]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the writing process did not start")
            yield
        finally:
            process.kill()


class LanceHybrid:
    """What LanceDB offers by itself: its hybrid query with its default fusion, same table."""

    def __init__(self, folder: str) -> None:
        database = lancedb.connect(folder, read_consistency_interval=timedelta(0))
        self._table = database.open_table("memories")

    def ask(self, embedder: Embedder, text: str, scope: Scope) -> list[dict[str, object]]:
        query = self._table.search(query_type="hybrid").vector(embedder.embed([text])[0])
        query = query.text(" ".join(terms(text))).distance_type("cosine").where(scope.predicate())
        return query.rerank(RRFReranker()).limit(10).to_list()


def latency(rows: int = ROWS, *, queries: int = QUERIES) -> list[Row]:
    """Time of one recall with 10 hits, the embedding of the question by the real model included.

    With filters, and while another process commits. LanceDB's own query takes turns with ours.
    """
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        asked = fill(folder, SyntheticEmbedder(), rows)
        figures: list[Row] = [
            (f"fill and index {rows:,} rows", time.perf_counter() - begun, "s"),
            (f"index on disk, {rows:,} rows", _disk_bytes(Path(folder)) / 1e6, "MB"),
        ]
        index = open_memory_index(folder, SyntheticEmbedder())
        with writing(folder):
            for name, given in FILTERS.items():
                figures += _asking(index, LanceHybrid(folder), asked[:queries], name, given)
        commits = (index.count() - rows) / COMMIT_ROWS
    return [*figures, ("commits meanwhile", commits, "")]


def _asking(
    index: MemoryIndex,
    other: LanceHybrid,
    asked: Sequence[str],
    name: str,
    given: Mapping[str, object],
) -> list[Row]:
    embedder, ours, theirs = open_embedder(), [], []
    for content in asked:
        text = "what did we say about " + " ".join(content.split()[:6])
        query = RecallQuery(text=text, tenant_id="default", **given)
        ours.append(_milliseconds(partial(recall, index, embedder, query)))
        scope = Scope(tenant_id="default", **given)
        theirs.append(_milliseconds(partial(other.ask, embedder, text, scope)))
    return [
        (f"recall p50, {name}", statistics.median(ours), "ms"),
        (f"recall p95, {name}", statistics.quantiles(ours, n=20)[-1], "ms"),
        (f"LanceDB's hybrid query (RRF) p50, {name}", statistics.median(theirs), "ms"),
        (f"ours to LanceDB's, {name}", statistics.median(ours) / statistics.median(theirs), "x"),
    ]


def _milliseconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000


def _disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    write(sys.argv[1])
