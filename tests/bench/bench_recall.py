"""Recall: quality on the yardstick in ../shared/recall (raw events as memories), and latency.

Run as `python -m tests.bench.bench_recall [quality|latency]`. Quality embeds 7,000 events, which
takes some minutes on two cores.
"""

import json
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.embeddings import Embedder, open_embedder
from memclaw_etl.memories.items import Item, item_id_for
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.recall import RecallQuery, recall, recall_many
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.stages.surroundings import with_surroundings

SHARED = Path(__file__).parents[2].parent / "shared" / "recall"
ROWS = 100_000
QUERIES = 200
BATCH = 20_000
FILLER_RANKS = 12
"""They make up about half of all words, as filler does in English."""

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


def item(*, node: str, seq: int, content: str, ts: datetime, session: str | None = None) -> Item:
    return Item(
        item_id=item_id_for(tenant_id="default", attempt_id=f"{node}:{seq}", content=content),
        tenant_id="default", fleet_id=None, node_id=node, agent_id=None, epoch=0,
        window_key=f"{node}@0-{seq}", attempt_id=f"{node}:{seq}", namespace="",
        section="worked_on", memory_type="episode", content=content, title=content[:60],
        session_id=session, ts_start=ts, ts_end=ts, evidence=((seq, 0),), chunk_index=0,
        interviewer="verbatim", prompt_version="1", model=None, masker_version="1",
    )  # fmt: skip


def open_index(folder: str, embedder: Embedder) -> MemoryIndex:
    return MemoryIndex.open(
        folder, dimension=embedder.dimension, model_id=embedder.model_id, ledger_id="bench"
    )


def fill(index: MemoryIndex, embedder: Embedder, items: list[Item]) -> None:
    memories = resolve(items)
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        publish(index, embedder, batch, groups={memory.group_key for memory in batch})
    index.optimize()


def yardstick_items() -> list[Item]:
    """One item per event, with the words around it, as the verbatim interviewer's windows give."""
    paths = sorted((SHARED / "trails").glob("*.jsonl"))
    return [one for path in paths for one in _items_of(path)]


def _items_of(path: Path) -> list[Item]:
    events = list(map(json.loads, path.read_text("utf-8").splitlines()))
    frame = pl.DataFrame(
        {name: [event[name] for event in events] for name in ("seq", "session_id", "content")}
    ).with_columns(
        context=pl.lit(value=False), part=pl.lit(0), identity=pl.col("seq").cast(pl.String)
    )
    items = [
        item(
            node=path.stem, seq=event["seq"], content=event["content"],
            ts=datetime.fromisoformat(event["ts"]), session=event["session_id"],
        )
        for event in events
    ]  # fmt: skip
    return with_surroundings(items, frame)


def covered(found: list[set[int]], wanted: set[int], k: int) -> float:
    return len(set().union(*found[:k]) & wanted) / len(wanted)


def quality(embedder: Embedder) -> list[Row]:
    """Mean share of a question's evidence in the first k memories, as the yardstick's scorer."""
    lines = map(json.loads, (SHARED / "QUERIES.jsonl").read_text("utf-8").splitlines())
    asked = [q for q in lines if not q.get("excluded") and q["category"] != "adversarial"]
    queries = [
        RecallQuery(text=q["question"], tenant_id="default", node_id=q["conversation"], k=50)
        for q in asked
    ]
    shares = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(folder, embedder)
        fill(index, embedder, yardstick_items())
        for q, hits in zip(asked, recall_many(index, embedder, queries), strict=True):
            found = [
                {seq for node, _, seq, _ in hit.memory.evidence if node == q["conversation"]}
                for hit in hits
            ]
            for k in (1, 5, 10, 50):
                shares[q["dataset"], k].append(covered(found, set(q["evidence_seqs"]), k))
    return [
        (f"{name} recall@{k} {interval(v)}", 100 * float(np.mean(v)), "%")
        for (name, k), v in shares.items()
    ]


def interval(shares: list[float]) -> str:
    """95 % of 1,000 bootstrap means over questions."""
    random = np.random.default_rng(7)
    means = random.choice(shares, size=(1000, len(shares))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def filler_items(rows: int) -> list[Item]:
    """Memories of 25 words whose frequencies follow Zipf's law; 500 nodes, one year.

    The most frequent ranks are left out: in English these are the filler that is not indexed.
    """
    random = np.random.default_rng(7)
    words = [f"w{number:x}" for number in range(20_000)]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ranks = (random.zipf(1.3, size=(rows, 50)) - 1) % len(words)
    ranks = [[rank for rank in row if rank >= FILLER_RANKS][:25] for row in ranks.tolist()]
    return [
        item(
            node=f"node-{i % 500}", seq=i // 500, session=f"s{i // 5_000}",
            content=" ".join(words[rank] for rank in ranks[i]),
            ts=start + timedelta(minutes=5 * i),
        )
        for i in range(rows)
    ]  # fmt: skip


def writing(index: MemoryIndex, embedder: Embedder, stop: threading.Event) -> None:
    """Commit ten new memories, again and again."""
    number = 0
    while not stop.is_set():
        number += 10
        at = datetime(2027, 1, 1, tzinfo=UTC)
        new = [
            item(node="writer", seq=i, content=f"new memory {i}", ts=at)
            for i in range(number, number + 10)
        ]
        memories = resolve(new)
        publish(index, embedder, memories, groups={memory.group_key for memory in memories})
        stop.wait(1)


def latency(rows: int = ROWS) -> list[Row]:
    """Time of one recall with 10 hits, the embedding of the question by the real model included.

    With filters, and while a thread commits ten memories a second.
    """
    embedder, filler = open_embedder(), SyntheticEmbedder()
    items = filler_items(rows)
    figures: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(folder, filler)
        begun = time.perf_counter()
        fill(index, filler, items)
        figures.append((f"fill {rows} rows", time.perf_counter() - begun, "s"))
        stop = threading.Event()
        writer = threading.Thread(target=writing, args=(open_index(folder, filler), filler, stop))
        writer.start()
        month = {"since": datetime(2026, 3, 1, tzinfo=UTC), "memory_type": "episode"}
        filters = {"all nodes": {}, "one node": {"node_id": "node-7"}, "type and time": month}
        for name, given in filters.items():
            times = []
            for i in range(QUERIES):
                text = "what did we say about " + " ".join(items[i * 97 % rows].content.split()[:6])
                query = RecallQuery(text=text, tenant_id="default", **given)
                begun = time.perf_counter()
                recall(index, embedder, query)
                times.append((time.perf_counter() - begun) * 1000)
            figures.append((f"recall p50, {name}", statistics.median(times), "ms"))
            figures.append((f"recall p95, {name}", statistics.quantiles(times, n=20)[-1], "ms"))
        stop.set()
        writer.join()
    return figures


def main(parts: tuple[str, ...] = ("quality", "latency")) -> list[Row]:
    figures: list[Row] = []
    if "quality" in parts and SHARED.exists():
        figures += quality(open_embedder())
    if "latency" in parts:
        figures += latency()
    for name, value, unit in figures:
        print(f"{name:44} {value:10.1f} {unit}")
    return figures


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ("quality", "latency"))
