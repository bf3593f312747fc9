"""Searching the memory index: by words, by vector, and reading what was found."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from memclaw_etl.lake.memory_rows import VECTOR, Scope

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from memclaw_etl.lake.memory_table import AsyncTable, AsyncVectorQuery

ROW = "_rowid"
"""Names a row within one snapshot, and nowhere else."""
VECTOR_INDEX_ROWS = 50_000
"""Below this a flat scan is as fast as an IVF index (measured, DESIGN section 5)."""
PROBES_MIN = 32
PROBES_SHARE = 0.1
"""Partitions that a vector search looks into, in square roots of the rows: 32 of 195 at 100,000
rows. There it finds 0.99 of the nearest 60, and of the nearest 10 (100,000 vectors mixed of real
ones, k-means on a sample), and reads a sixth of them."""


class Snapshot:
    """The index as it was at one moment: all reads see the same rows under the same row ids.

    It may be used by several threads at once. It can be read until `optimize` drops its version.
    """

    def __init__(self, table: "AsyncTable") -> None:
        self._table = table

    def full_text(
        self, words: Sequence[str], *, scope: Scope, limit: int, columns: Sequence[str]
    ) -> "Future[pa.Table]":
        """Begin BM25 over `search_text`: best first; rows without any word are absent.

        Args:
            words: at least one; a word that is given twice weighs twice.
            scope: whose rows.
            limit: how many at most.
            columns: what to give of each row, besides `ROW` (uint64) and `_score` (float32).
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        query = self._table.query().nearest_to_text(memory_table.words_query(words))
        query = query.where(scope.predicate()).limit(limit).with_row_id()
        return memory_table.start(query.select([*columns, "_score"]).to_arrow())

    def nearest(
        self, vector: "NDArray[np.float32]", *, scope: Scope, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        """Nearest rows by cosine, best first, with `ROW` and `_distance` = 1 - similarity.

        Below VECTOR_INDEX_ROWS rows, and in a narrow scope, these are exactly the nearest.
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        return memory_table.wait(self._nearest(vector, scope, limit, columns))

    async def _nearest(
        self, vector: "NDArray[np.float32]", scope: Scope, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        """Look into some partitions, and into all where that finds too few.

        LanceDB could do that by itself, but then always looks into all (lance issue 5637).
        """

        def query() -> "AsyncVectorQuery":
            asked = self._table.query().nearest_to(vector).column(VECTOR).distance_type("cosine")
            asked = asked.where(scope.predicate()).limit(limit).with_row_id()
            return asked.select([*columns, "_distance"])

        rows = await self._table.count_rows()
        if scope.node_id is None and rows >= VECTOR_INDEX_ROWS:
            probes = max(PROBES_MIN, int(PROBES_SHARE * math.isqrt(rows)))
            found = await query().nprobes(probes).to_arrow()
            if found.num_rows == limit:
                return found
        return await query().maximum_nprobes(0).to_arrow()

    def rows(self, row_ids: Sequence[int], *, columns: Sequence[str]) -> pa.Table:
        """Give the rows with these ids, in no order, with `ROW`."""
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        if not row_ids:
            schema = memory_table.wait(self._table.schema())
            none = pa.array([], pa.uint64())
            return schema.empty_table().select(columns).append_column(ROW, none)
        taken = self._table.take_row_ids(list(row_ids)).with_row_id()
        return memory_table.wait(taken.select(list(columns)).to_arrow())
