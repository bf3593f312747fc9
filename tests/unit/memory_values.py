"""Items, memories and an embedder for tests."""

from datetime import UTC, datetime

import numpy as np

from memclaw_etl.memories.items import Item, item_id_for

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_item(*, seq=0, **change) -> Item:
    values = {
        "tenant_id": "default", "fleet_id": None, "node_id": "n1", "agent_id": None, "epoch": 0,
        "window_key": "n1@0-9", "attempt_id": "a1", "namespace": "", "section": "decisions",
        "memory_type": "decision", "content": "We chose PostgreSQL", "title": "Database",
        "session_id": "s1", "ts_start": NOON, "ts_end": NOON, "evidence": ((seq, 0),),
        "chunk_index": 0, "interviewer": "verbatim", "prompt_version": "1", "model": None,
        "masker_version": "1",
    } | change  # fmt: skip
    values.setdefault(
        "item_id",
        item_id_for(
            tenant_id=values["tenant_id"], attempt_id=values["attempt_id"],
            content=values["content"],
        ),
    )  # fmt: skip
    return Item(**values)


class WordEmbedder:
    """Counts words by hash: texts that share words are near. Deterministic, no model."""

    model_id = "words"
    dimension = 64

    def __init__(self):
        self.embedded = []

    def embed(self, texts):
        self.embedded += texts
        vectors = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                vectors[row, sum(word.encode()) % self.dimension] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
