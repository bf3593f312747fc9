"""Memories by id and all of them, for lineage, lists and audits. Recall is `memories.recall`."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_rows import ANY_STATUS, Scope
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rows import MEMORY_COLUMNS, memory_of


def memory_by_id(
    index: MemoryIndex,
    memory_id: str,
    *,
    tenant_id: str,
    namespaces: Collection[str] | None = None,
) -> Memory | None:
    """The tenant's memory with this id, or None; with `namespaces` only if it is of one of them."""
    scope = Scope(tenant_id=tenant_id, namespaces=namespaces, status=ANY_STATUS)
    rows = index.by_id_in(scope, [memory_id], columns=MEMORY_COLUMNS).to_pylist()
    return memory_of(rows[0]) if rows else None


def all_memories(index: MemoryIndex, *, tenant_id: str | None = None) -> list[Memory]:
    """Every memory of a tenant, or of all, ordered by event time and id; unknown times first."""
    return _ordered(index.all_rows(tenant_id=tenant_id).to_pylist())


def memories_in(index: MemoryIndex, scope: Scope) -> list[Memory]:
    """The memories of a scope, in that order."""
    return _ordered(index.rows_in(scope).to_pylist())


def _ordered(rows: Iterable[Mapping[str, Any]]) -> list[Memory]:
    return sorted((memory_of(row) for row in rows), key=_age)


def _age(memory: Memory) -> tuple[float, str]:
    when = memory.ts_valid_start
    return (when.timestamp() if when is not None else float("-inf"), memory.memory_id)
