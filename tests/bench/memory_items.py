"""Items and an index of memories, for the bench of latency."""

from datetime import datetime

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.embeddings import Embedder
from memclaw_etl.memories.items import Item, item_id_for


def a_memory_item(
    *, node: str, seq: int, content: str, ts: datetime, session: str | None = None
) -> Item:
    return Item(
        item_id=item_id_for(tenant_id="default", attempt_id=f"{node}:{seq}", content=content),
        tenant_id="default", fleet_id=None, node_id=node, agent_id=None, epoch=0,
        window_key=f"{node}@0-{seq}", attempt_id=f"{node}:{seq}", namespace="",
        section="worked_on", memory_type="episode", content=content, title=content[:60],
        session_id=session, ts_start=ts, ts_end=ts, evidence=((seq, 0),), chunk_index=0,
        interviewer="verbatim", prompt_version="1", model=None, masker_version="1",
    )  # fmt: skip


def open_memory_index(folder: str, embedder: Embedder) -> MemoryIndex:
    return MemoryIndex.open(
        folder, dimension=embedder.dimension, model_id=embedder.model_id, ledger_id="bench"
    )
