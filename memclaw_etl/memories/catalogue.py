"""Memories by id and all of them, for lineage, lists and audits. Recall is `memories.recall`."""

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rows import MEMORY_COLUMNS, memory_of


def memory_by_id(index: MemoryIndex, memory_id: str, *, tenant_id: str) -> Memory | None:
    """The tenant's memory with this id, or None."""
    rows = index.by_id([memory_id], tenant_id=tenant_id, columns=MEMORY_COLUMNS).to_pylist()
    return memory_of(rows[0]) if rows else None


def all_memories(index: MemoryIndex, *, tenant_id: str | None = None) -> list[Memory]:
    """Every memory of a tenant, or of all, ordered by event time and id; unknown times first."""
    rows = index.all_rows(tenant_id=tenant_id).to_pylist()
    memories = [memory_of(row) for row in rows]
    return sorted(memories, key=_age)


def _age(memory: Memory) -> tuple[float, str]:
    when = memory.ts_valid_start
    return (when.timestamp() if when is not None else float("-inf"), memory.memory_id)
