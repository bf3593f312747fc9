"""Publishing: memories become rows of the index. Only contents that are new get embedded."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memclaw_etl.lake.memory_index import MemoryIndex, Replaced
from memclaw_etl.memories.embeddings import Embedder
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rows import rows_of


def publish(
    index: MemoryIndex,
    embedder: Embedder,
    memories: Sequence[Memory],
    *,
    groups: Collection[str],
    created_at: Mapping[str, datetime] | None = None,
) -> Replaced:
    """Make `memories` the only rows of `groups` (which hold every memory's group), in one commit.

    A group without a memory loses its rows. Durable on return; doing it again changes nothing and
    embeds nothing. `created_at` is by memory id; without it the index stamps what is new.

    Raises:
        InvariantError: a memory twice, or one that belongs to none of the groups.
        BusyError: other writers won every try to commit.
    """
    known = index.existing(groups)
    rows = rows_of(memories, embedder, known=known, created_at=created_at)
    return index.replace_groups(rows, groups)
