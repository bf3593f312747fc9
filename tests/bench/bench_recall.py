"""Recall: quality on the yardstick in ../shared/recall, with its raw events as memories.

It embeds 7,000 events, which takes some minutes on two cores. The yardstick's own scorer judges.
"""

import importlib.util
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from memclaw_etl.memories.embeddings import Embedder
from memclaw_etl.memories.items import Item
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.recall import Hit, RecallQuery, recall_many
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.stages.surroundings import with_surroundings
from tests.bench.memory_items import a_memory_item, open_memory_index

SHARED = Path(__file__).parents[2].parent / "shared" / "recall"
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@50", "ndcg@10")
RESAMPLES = 1_000

Row = tuple[str, float, str]


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
        a_memory_item(
            node=path.stem, seq=event["seq"], content=event["content"],
            ts=datetime.fromisoformat(event["ts"]), session=event["session_id"],
        )
        for event in events
    ]  # fmt: skip
    return with_surroundings(items, frame)


def quality(embedder: Embedder) -> list[Row]:
    """How much of a question's evidence the first memories hold, by data set.

    With 95 % intervals, over questions that are drawn again and again.
    """
    scorer = _scorer()
    scores = defaultdict(list)
    for query, hits in _answers(embedder):
        evidence = set(query["evidence_seqs"])
        ranked = [_seqs(hit, query["conversation"]) for hit in hits]
        chars = [len(hit.memory.content) for hit in hits]
        scores[query["dataset"]].append(scorer.one(evidence, ranked, chars))
    return [row for name, some in scores.items() for row in _figures(scorer, name, some)]


def _answers(embedder: Embedder) -> Iterator[tuple[Mapping[str, Any], list[Hit]]]:
    lines = map(json.loads, (SHARED / "QUERIES.jsonl").read_text("utf-8").splitlines())
    asked = [q for q in lines if not q.get("excluded") and q["category"] != "adversarial"]
    queries = [
        RecallQuery(text=q["question"], tenant_id="default", node_id=q["conversation"], k=50)
        for q in asked
    ]
    with tempfile.TemporaryDirectory() as folder:
        index = open_memory_index(folder, embedder)
        memories = resolve(yardstick_items())
        publish(index, embedder, memories, groups={memory.group_key for memory in memories})
        index.optimize()
        yield from zip(asked, recall_many(index, embedder, queries), strict=True)


def _seqs(hit: Hit, conversation: str) -> list[int]:
    evidence = hit.memory.evidence
    return sorted({seq for node, _, seq, _ in evidence if node == conversation})


def _figures(scorer: Any, name: str, scores: Sequence[Mapping[str, float]]) -> Iterator[Row]:
    for measure in MEASURES:
        low, high = scorer.boot(scores, measure, RESAMPLES, cluster=False)
        mean = sum(one[measure] for one in scores) / len(scores)
        yield f"{name} {measure}", 100 * mean, f"% [{100 * low:.1f}, {100 * high:.1f}]"
    chars = sum(one["chars@10"] for one in scores) / len(scores)
    yield f"{name} characters of the first 10", chars, ""


def _scorer() -> Any:
    """The yardstick's `score_recall.py`."""
    spec = importlib.util.spec_from_file_location("score_recall", SHARED / "score_recall.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
