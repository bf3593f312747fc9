"""The memory index: one LanceDB table of memories with vectors and full text.

It is derived state: `rebuild` makes it anew. `lancedb` takes over a second to import, and most
commands never ask the index: `memory_table`, the only module that imports it, is imported late.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from memclaw_etl.errors import InvariantError
from memclaw_etl.lake.memory_pin import MadeBy, check_pin, in_schema, made_by, pinned_schema
from memclaw_etl.lake.memory_races import CREATE_RACES, again
from memclaw_etl.lake.memory_rows import (
    CREATED_AT,
    UNSHOWN,
    UTC_TIME,
    VECTOR,
    Scope,
    in_list,
    quoted,
)
from memclaw_etl.lake.memory_search import VECTOR_INDEX_ROWS, Snapshot

if TYPE_CHECKING:
    from memclaw_etl.lake.memory_table import AsyncTable, LanceTable

IN_LIST_MAX = 2_000
"""Longer key lists are looked up by scanning the key column instead of an IN list."""
UPKEEP_VERSIONS = 32
"""After so many commits, about. The rows of each cost a search 0.3 ms until they are indexed, and
indexing them costs 5 s of one core at 100,000 rows, however few they are (measured)."""
UNINDEXED_ROWS = 5_000
KEEP_VERSIONS = timedelta(hours=1)
"""Older versions go on `optimize`; must exceed the longest reader."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What one `replace_groups` did. `version` is the table's version after it."""

    added: int
    updated: int
    unchanged: int
    deleted: int
    version: int


class MemoryIndex:
    """The table of one home. Safe for several processes; one writer per scope is the caller's rule.

    Reads see every commit that was made before them, by any process.
    """

    def __init__(
        self,
        table: "LanceTable",
        *,
        newest: "Callable[[], AsyncTable]",
        clock: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._newest = newest
        self._clock = clock

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        dimension: int,
        model_id: str,
        ledger_id: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Self:
        """Open the index at `uri`, a folder or an object-store URL; make an empty one if absent.

        The index is pinned to the embedding model, its dimension and the ledger.

        Raises:
            HomeMismatchError: another model, dimension, ledger or version made this index.
            BusyError: every try lost against processes that make it at the same moment.
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        schema = pinned_schema(dimension=dimension, model_id=model_id, ledger_id=ledger_id)
        table = again(lambda: memory_table.open_or_create(uri, schema), races=CREATE_RACES)
        check_pin(table.schema, schema)
        return cls(table, newest=memory_table.newest(uri), clock=clock)

    @staticmethod
    def remake(
        uri: str, rows: Iterator[pa.Table], *, dimension: int, model_id: str, ledger_id: str
    ) -> None:
        """Make these the only rows of the index, whatever it was made with, in one commit.

        Rows as `replace_groups` takes them, `created_at` included. Until the last one is given,
        readers find the old index; if this is stopped before, they go on to. The caller keeps all
        writers away.
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        schema = pinned_schema(dimension=dimension, model_id=model_id, ledger_id=ledger_id)
        batches = (batch for some in rows for batch in in_schema(some, schema).to_batches())
        memory_table.remake(uri, batches, schema)

    @staticmethod
    def rewrite(uri: str) -> None:
        """Write every row anew; nothing that was deleted or replaced is left on the disk.

        The caller keeps all writers away. Readers of an older version fail and read again.
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        memory_table.rewrite(uri)

    @property
    def made_by(self) -> MadeBy:
        """The embedding model of its vectors, as of the newest commit."""
        return made_by(self._table.schema)

    @property
    def version(self) -> int:
        """Version of the newest commit."""
        return int(self._table.version)

    def count(self, *, tenant_id: str | None = None) -> int:
        """Count the memories, of one tenant or of all."""
        where = None if tenant_id is None else f"tenant_id = {quoted(tenant_id)}"
        return int(self._table.count_rows(where))

    def all_rows(self, *, tenant_id: str | None = None, with_vectors: bool = False) -> pa.Table:
        """Give every row, of one tenant or of all, in no order. For SQL, audit and rebuild."""
        where = None if tenant_id is None else f"tenant_id = {quoted(tenant_id)}"
        return self._rows(where, self._columns(with_vectors=with_vectors))

    def every_row(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Give these columns of every row, in no order; without a choice all but the vector."""
        names = [name for name in self._table.schema.names if name != VECTOR]
        return self._rows(None, columns or names)

    def rows_in(self, scope: Scope) -> pa.Table:
        """Give every row of a scope, in no order, without vectors."""
        return self._rows(scope.predicate(), self._columns(with_vectors=False))

    def existing(self, groups: Collection[str]) -> pa.Table:
        """Give the rows of these groups, with vectors, so that an unchanged text keeps its own."""
        return self._of_groups(groups, self._columns(with_vectors=True))

    def replace_groups(self, rows: pa.Table, groups: Collection[str]) -> Replaced:
        """Make `rows` the only rows of `groups`, in one commit; no commit when nothing changes.

        `rows` has `MEMORY_FIELDS` and `vector`. Where it has no `created_at`, that is stamped on
        rows that are new and kept on others. On return the rows are durable.

        Raises:
            InvariantError: a memory id is given twice, or a row belongs to none of `groups`.
            BusyError: every try lost against another writer.
        """
        _check_batch(rows, groups)
        return again(lambda: self._replace(rows, groups))

    def snapshot(self) -> Snapshot:
        """The index as its last commit left it, for reads that belong together."""
        return Snapshot(self._newest())

    def by_id(
        self, memory_ids: Collection[str], *, tenant_id: str, columns: Sequence[str]
    ) -> pa.Table:
        """Give the tenant's rows with these ids, in no order; unknown ids are absent."""
        where = f"{in_list('memory_id', memory_ids)} AND tenant_id = {quoted(tenant_id)}"
        return self._rows(where, columns)

    def by_id_in(
        self, scope: Scope, memory_ids: Collection[str], *, columns: Sequence[str]
    ) -> pa.Table:
        """Give those of a scope's rows that have these ids, in no order."""
        return self._rows(f"{in_list('memory_id', memory_ids)} AND {scope.predicate()}", columns)

    @property
    def needs_upkeep(self) -> bool:
        """Whether it is time to `optimize`: for whoever has just committed.

        It is at one version in UPKEEP_VERSIONS, and when UNINDEXED_ROWS wait for it.
        """
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        unindexed = memory_table.unindexed_rows(self._table)
        due = self.version % UPKEEP_VERSIONS == 0
        return unindexed >= UNINDEXED_ROWS or (due and unindexed > 0)

    def optimize(self, *, keep_versions: timedelta = KEEP_VERSIONS) -> None:
        """Compact files, bring the indexes up to date and drop versions older than given.

        Scalar indexes are made with the first rows, the vector index above VECTOR_INDEX_ROWS.

        Raises:
            BusyError: every try lost against another writer.
        """
        again(lambda: self._optimize(keep_versions))

    def _optimize(self, keep_versions: timedelta) -> None:
        """One try of `optimize`."""
        from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

        count = self.count()
        memory_table.add_indexes(self._table, count=count, with_vectors=count >= VECTOR_INDEX_ROWS)
        self._table.optimize(cleanup_older_than=keep_versions)

    def _replace(self, rows: pa.Table, groups: Collection[str]) -> Replaced:
        """Compare with what is there, then merge only the groups that differ."""
        known = self._of_groups(groups, ["memory_id", "group_key", "row_hash", CREATED_AT])
        before = {row["memory_id"]: row for row in known.to_pylist()}
        after = dict(zip(_texts(rows, "memory_id"), _texts(rows, "row_hash"), strict=True))
        gone = {row["group_key"] for key, row in before.items() if key not in after}
        differs = {key for key, digest in after.items() if _hash_of(before, key) != digest}
        counts = {
            "added": len(differs - before.keys()),
            "updated": len(differs & before.keys()),
            "unchanged": len(after) - len(differs),
            "deleted": len(before.keys() - after.keys()),
        }
        if differs or gone:
            group_of = dict(zip(_texts(rows, "memory_id"), _texts(rows, "group_key"), strict=True))
            touched = gone | {group_of[key] for key in differs}
            batch = rows.filter(pc.is_in(rows["group_key"], pa.array(sorted(touched), pa.string())))
            self._merge(self._stamped(batch, before), gone)
        return Replaced(**counts, version=self.version)

    def _merge(self, batch: pa.Table, gone: Collection[str]) -> None:
        """One commit: update, insert, and delete what the batch no longer names in `gone`."""
        merge = self._table.merge_insert("memory_id")
        merge = merge.when_matched_update_all().when_not_matched_insert_all()
        if gone:
            merge = merge.when_not_matched_by_source_delete(in_list("group_key", gone))
        merge.execute(batch)

    def _stamped(self, batch: pa.Table, before: Mapping[str, Mapping[str, object]]) -> pa.Table:
        """Add `created_at` if need be; in the table's column order and exact types."""
        if CREATED_AT not in batch.column_names:
            now = self._clock()
            stamps = [
                before[key][CREATED_AT] if key in before else now
                for key in _texts(batch, "memory_id")
            ]
            batch = batch.append_column(CREATED_AT, pa.array(stamps, UTC_TIME))
        return in_schema(batch, self._table.schema)

    def _of_groups(self, groups: Collection[str], columns: Sequence[str]) -> pa.Table:
        """Rows of these groups. Long lists read the column once instead of a long IN list."""
        if len(groups) <= IN_LIST_MAX:
            return self._rows(in_list("group_key", groups), columns)
        rows = self._rows(None, columns)
        return rows.filter(pc.is_in(rows["group_key"], pa.array(sorted(groups), pa.string())))

    def _rows(self, where: str | None, columns: Sequence[str]) -> pa.Table:
        """Plain scan, without ranking or limit."""
        query = self._table.search().select(list(columns))
        if where is not None:
            query = query.where(where)
        return query.to_arrow()

    def _columns(self, *, with_vectors: bool) -> list[str]:
        """Column names, in schema order, without those that only recall reads."""
        unshown = UNSHOWN - {VECTOR} if with_vectors else UNSHOWN
        return [name for name in self._table.schema.names if name not in unshown]


def _check_batch(rows: pa.Table, groups: Collection[str]) -> None:
    """Refuse what the merge would silently store twice or never delete again."""
    ids = _texts(rows, "memory_id")
    if len(set(ids)) != len(ids):
        raise InvariantError(f"memory index: {len(ids) - len(set(ids))} memory ids given twice")
    strangers = set(_texts(rows, "group_key")) - set(groups)
    if strangers:
        raise InvariantError(
            f"memory index: {len(strangers)} rows belong to no group being replaced"
        )


def _texts(rows: pa.Table, column: str) -> list[str]:
    """Values of a text column."""
    values: list[str] = rows[column].to_pylist()
    return values


def _hash_of(rows: Mapping[str, Mapping[str, object]], memory_id: str) -> object:
    """Stored hash of a row; None when there is no such row."""
    return rows[memory_id]["row_hash"] if memory_id in rows else None
