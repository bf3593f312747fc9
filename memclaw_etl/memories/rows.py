"""Memories as rows of the index, and back."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from memclaw_etl.lake.memory_rows import (
    CREATED_AT,
    DOCUMENT,
    MEMORY_FIELDS,
    UTC_TIME,
    VECTOR,
    day_of,
)
from memclaw_etl.memories.embeddings import Embedder, Vectors
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.wording import bare, pairs, terms

MEMORY_COLUMNS = tuple(field.name for field in fields(Memory))
"""What `memory_of` reads."""
_LISTS = (
    "item_ids",
    "window_keys",
    "supersedes",
    "tags",
    "entities",
    "importance_parts",
    "flags",
)
_TIMES = ("ts_valid_start", "ts_valid_end")


def rows_of(
    memories: Sequence[Memory],
    embedder: Embedder,
    *,
    known: pa.Table | None = None,
    created_at: Mapping[str, datetime] | None = None,
) -> pa.Table:
    """Give the index rows of `memories`: `MEMORY_FIELDS` and `vector`, in the memories' order.

    Vectors of equal contents are taken from `known` (columns `content`, `vector`). `created_at`
    (by memory id) becomes a column, if it is given.
    """
    vectors = _vectors([memory.content for memory in memories], embedder, known=known)
    made_by = {"embedding_model": embedder.model_id, "embedding_dimension": embedder.dimension}
    rows = [_row(memory) | made_by for memory in memories]
    table = pa.Table.from_pylist(rows, pa.schema(MEMORY_FIELDS))
    flat = pa.array(vectors.ravel(), pa.float32())
    vectors_of = pa.FixedSizeListArray.from_arrays(flat, embedder.dimension)
    table = table.append_column(VECTOR, vectors_of)
    if created_at is None:
        return table
    stamps = [created_at[memory.memory_id] for memory in memories]
    return table.append_column(CREATED_AT, pa.array(stamps, UTC_TIME))


def memory_of(row: Mapping[str, Any]) -> Memory:
    """Give the memory that a row of the index was made from."""
    values = {name: row[name] for name in MEMORY_COLUMNS}
    values.update({name: tuple(row[name]) for name in _LISTS})
    values["evidence"] = tuple(
        (entry["node_id"], entry["epoch"], entry["seq"], entry["part"]) for entry in row["evidence"]
    )
    return Memory(**values)


def document_of(memory: Memory) -> str:
    """Give a memory as JSON, for `memory_from`."""
    return json.dumps(
        asdict(memory), ensure_ascii=False, separators=(",", ":"), default=_in_document
    )


def memory_from(document: str) -> Memory:
    """Give the memory that a `document_of` was made from."""
    values = json.loads(document)
    values.update({name: tuple(values[name]) for name in _LISTS})
    values["evidence"] = tuple(map(tuple, values["evidence"]))
    for name in _TIMES:
        if values[name] is not None:
            values[name] = datetime.fromisoformat(values[name])
    return Memory(**values)


def search_text(memory: Memory) -> str:
    """The words that full-text search knows of a memory.

    Its own stems twice, with the day in words as people ask for it; its pairs of words once; and
    once the words that stood around it, as a weak field: an answer often does not repeat what was
    asked. On the recall yardstick the words around gave BM25 +7 (LoCoMo recall@10), the pairs +4
    (BEAM). The day is left out of what is embedded: it hurts there (BEAM -2.8).
    """
    when = memory.ts_valid_start
    day = [] if when is None else terms(f"{when.day} {when:%B %Y}")
    own = terms(memory.content)
    known = {*day, *own}
    around = [word for word in dict.fromkeys(memory.nearby.split()) if word not in known]
    return " ".join([*day, *own, *day, *own, *pairs(own), *around])


def _vectors(texts: Sequence[str], embedder: Embedder, *, known: pa.Table | None) -> Vectors:
    """Vectors of the texts, embedding each distinct unknown text once."""
    at: dict[str, Vectors] = {}
    if known is not None:
        flat = known[VECTOR].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        stored = flat.reshape(-1, embedder.dimension)
        at.update(zip(known["content"].to_pylist(), stored, strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in at]
    if missing:
        at.update(zip(missing, embedder.embed(missing), strict=True))
    vectors = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
    for position, text in enumerate(texts):
        vectors[position] = at[text]
    return vectors


def _row(memory: Memory) -> dict[str, object]:
    """One row without its vector."""
    row = {**asdict(memory), "node_ids": memory.node_ids, "search_text": search_text(memory)}
    row["content_chars"] = len(memory.content)
    row["first_epoch"], row["first_seq"] = memory.begins_at
    row["evidence"] = [
        {"node_id": node_id, "epoch": epoch, "seq": seq, "part": part}
        for node_id, epoch, seq, part in memory.evidence
    ]
    canonical = json.dumps(row, sort_keys=True, default=_canonical)
    row["row_hash"] = hashlib.sha1(canonical.encode(), usedforsecurity=False).hexdigest()
    row["session_key"] = _key(memory.node_id, str(row["first_epoch"]), memory.session_id or "")
    row["words_key"] = _key(bare(memory.content))
    row["end_day"] = None if memory.ts_valid_end is None else day_of(memory.ts_valid_end)
    row[DOCUMENT] = document_of(memory)
    return row


def _key(*parts: str) -> int:
    """The same number for the same parts, and in practice for no others: 64 bits with a sign."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(text, usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _in_document(value: object) -> str:
    """Times, exactly."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"no place in a document for {type(value).__name__}")


def _canonical(value: object) -> str:
    """Times in the canonical row."""
    if isinstance(value, datetime):
        return f"{value.timestamp():.6f}"
    raise TypeError(f"no canonical form for {type(value).__name__}")
