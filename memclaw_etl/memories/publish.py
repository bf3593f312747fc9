"""Publishing: memories become rows of the index. Only texts that are new get embedded."""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

import numpy as np
import pyarrow as pa

from memclaw_etl.lake.memory_index import MemoryIndex, Replaced
from memclaw_etl.lake.memory_rows import MEMORY_FIELDS, VECTOR
from memclaw_etl.memories.embeddings import Embedder, Vectors
from memclaw_etl.memories.resolve import Memory


def publish(
    index: MemoryIndex, embedder: Embedder, memories: Sequence[Memory], *, groups: Collection[str]
) -> Replaced:
    """Make `memories` the only rows of `groups` (which hold every memory's group), in one commit.

    Durable on return. Doing it again changes nothing and embeds nothing.

    Raises:
        InvariantError: a memory twice, or one that belongs to none of the groups.
        BusyError: other writers won every try to commit.
    """
    known = index.existing(groups)
    return index.replace_groups(rows_of(memories, embedder, known=known), groups)


def rows_of(memories: Sequence[Memory], embedder: Embedder, *, known: pa.Table) -> pa.Table:
    """Give the index rows of `memories`: `MEMORY_FIELDS` and `vector`, in the memories' order.

    Vectors of equal texts are taken from `known` (columns `search_text`, `vector`).
    """
    texts = [search_text(memory) for memory in memories]
    vectors = _vectors(texts, embedder, known=known)
    rows = [_row(memory, text) for memory, text in zip(memories, texts, strict=True)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(MEMORY_FIELDS))
    flat = pa.array(vectors.ravel(), pa.float32())
    return table.append_column(VECTOR, pa.FixedSizeListArray.from_arrays(flat, embedder.dimension))


def search_text(memory: Memory) -> str:
    """What is indexed and embedded of a memory: its date in words and its content."""
    when = memory.ts_valid_start
    return memory.content if when is None else f"{_date(when)}\n{memory.content}"


def _date(when: datetime) -> str:
    """The day as people ask for it, for example "8 May 2023"."""
    return f"{when.day} {when:%B %Y}"


def _vectors(texts: Sequence[str], embedder: Embedder, *, known: pa.Table) -> Vectors:
    """Vectors of the texts, embedding each distinct unknown text once."""
    flat = known[VECTOR].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    stored = flat.reshape(-1, embedder.dimension)
    at: dict[str, Vectors] = dict(zip(known["search_text"].to_pylist(), stored, strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in at]
    at.update(zip(missing, embedder.embed(missing), strict=True))
    if not texts:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    return np.stack([at[text] for text in texts])


def _row(memory: Memory, text: str) -> dict[str, object]:
    """One row without its vector."""
    row = {**asdict(memory), "node_ids": memory.node_ids, "search_text": text}
    row["evidence"] = [
        {"node_id": node_id, "epoch": epoch, "seq": seq, "part": part}
        for node_id, epoch, seq, part in memory.evidence
    ]
    canonical = json.dumps(row, sort_keys=True, default=_iso)
    row["row_hash"] = hashlib.sha1(canonical.encode(), usedforsecurity=False).hexdigest()
    return row


def _iso(value: object) -> str:
    """Times in the canonical row."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"no canonical form for {type(value).__name__}")


def groups_of(memories: Iterable[Memory]) -> set[str]:
    """Group keys of the memories."""
    return {memory.group_key for memory in memories}
