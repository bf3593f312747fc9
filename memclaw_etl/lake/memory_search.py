"""Searching the memory index: by words, by vector, and reading what was found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from memclaw_etl.lake.memory_rows import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memclaw_etl.lake.memory_table import LanceTable

ROW = "_rowid"
"""Names a row within one snapshot, and nowhere else."""
VECTOR_PROBES = 32


class Snapshot:
    """The index as it was at one moment: all reads see the same rows under the same row ids.

    It may be used by several threads at once. It can be read until `optimize` drops its version.
    """

    def __init__(self, table: "LanceTable") -> None:
        self._table = table

    def full_text(
        self, words: Sequence[str], *, scope: Scope, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        """BM25 over `search_text`, best first; rows without any word are absent.

        Args:
            words: at least one; a word that is given twice weighs twice.
            scope: whose rows.
            limit: how many at most.
            columns: what to give of each row, besides `ROW` (uint64) and `_score` (float32).
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        query = self._table.search(memory_table.words_query(words), query_type="fts")
        query = query.where(scope.predicate()).limit(limit).with_row_id(True)  # noqa: FBT003
        return query.select([*columns, "_score"]).to_arrow()

    def nearest(
        self, vector: "NDArray[np.float32]", *, scope: Scope, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        """Nearest rows by cosine, best first, with `ROW` and `_distance` = 1 - similarity."""
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        query = memory_table.vector_query(self._table, vector)
        query = query.distance_type("cosine").nprobes(VECTOR_PROBES).where(scope.predicate())
        query = query.limit(limit).with_row_id(True)  # noqa: FBT003
        return query.select([*columns, "_distance"]).to_arrow()

    def rows(self, row_ids: Sequence[int], *, columns: Sequence[str]) -> pa.Table:
        """Give the rows with these ids, in no order, with `ROW`."""
        if not row_ids:
            return (
                self._table.schema.empty_table()
                .select(columns)
                .append_column(ROW, pa.array([], pa.uint64()))
            )
        taken = self._table.take_row_ids(list(row_ids)).with_row_id()
        return taken.select(list(columns)).to_arrow()
