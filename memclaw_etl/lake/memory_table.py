"""The LanceDB table behind the memory index. This is the only module that imports `lancedb`."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import lancedb
import pyarrow as pa
from lancedb.background_loop import LOOP
from lancedb.index import FTS, Bitmap, BTree, IvfFlat, LabelList
from lancedb.query import AsyncVectorQuery, MatchQuery
from lancedb.table import AsyncTable, LanceTable

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.memory_rows import VECTOR

Answer = TypeVar("Answer")

__all__ = [
    "AsyncTable",
    "AsyncVectorQuery",
    "LanceTable",
    "add_indexes",
    "newest",
    "open_or_create",
    "remake",
    "rewrite",
    "schema_of",
    "start",
    "unindexed_rows",
    "wait",
    "words_query",
]

TABLE = "memories"
PARTITION_ROWS = 512
"""Of the vector index. `optimize` joins and splits partitions to keep near it; with a number of
partitions instead it joins them to 14,000 rows each, and a search reads every vector."""
VECTOR_PARTS_MAX = 4
"""With more the vector index is made anew (5 s of one core at 100,000 rows): a search goes through
every part, 14 ms with 1 and 50 with 40 (30,000 rows)."""
SAMPLES_PER_PARTITION = 64
"""A quarter of the default makes the index in a quarter of the time and finds as much."""
_AT_ONCE = timedelta(milliseconds=1)
"""Zero would do the same, with a warning about what `rewrite` says, too."""

_SCALAR_INDEXES: Mapping[str, BTree | Bitmap | LabelList] = {
    "memory_id": BTree(),
    "group_key": BTree(),
    "tenant_id": Bitmap(),
    "namespace": Bitmap(),
    "memory_type": Bitmap(),
    "status": Bitmap(),
    "node_ids": LabelList(),
    "ts_valid_end": BTree(),
    "end_day": Bitmap(),
}


SEARCH_TEXT = "search_text"
_WORDS = FTS(
    base_tokenizer="whitespace",
    lower_case=False,
    stem=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=100,
)
"""The words come stemmed from the caller (`memories.wording`); here they are only divided."""


def open_or_create(uri: str, schema: pa.Schema) -> LanceTable:
    """Open the table, or make it, with the primary key and full-text index that it must have.

    A process that died in between may have left either out. Every read sees the commits that were
    made before it. When another process makes the table at the same moment this fails with an error
    that `memory_races.CREATE_RACES` knows.

    Raises:
        UsageError: the address names a LanceDB service and no folder or object store.
    """
    database = lancedb.connect(uri, read_consistency_interval=timedelta(0))
    if TABLE not in database.list_tables().tables:
        database.create_table(TABLE, schema=schema)
    table = database.open_table(TABLE)
    if not isinstance(table, LanceTable):
        raise UsageError("memory index: give a folder or an object-store URL")
    if not table.schema.field("memory_id").metadata:
        table.set_unenforced_primary_key("memory_id")
    if not any(index.columns == [SEARCH_TEXT] for index in table.list_indices()):
        table.create_index(SEARCH_TEXT, config=_WORDS)
    return table


def schema_of(uri: str) -> pa.Schema | None:
    """The schema of the table with its metadata; None when there is no table."""
    database = lancedb.connect(uri)
    return database.open_table(TABLE).schema if TABLE in database.list_tables().tables else None


def newest(uri: str) -> Callable[[], AsyncTable]:
    """Give a function that opens the table as its last commit left it; what it gives stays so.

    Opening takes half a millisecond. All that were opened share what they have read.
    """
    database = wait(lancedb.connect_async(uri))
    return lambda: wait(database.open_table(TABLE))


def start(answer: Coroutine[object, object, Answer]) -> Future[Answer]:
    """Begin what LanceDB's own loop does; any thread may, with a loop of its own or without.

    LanceDB's blocking queries go to that loop and back five times: 1.2 ms a query that this saves.
    """
    return asyncio.run_coroutine_threadsafe(answer, LOOP.loop)


def wait(answer: Coroutine[object, object, Answer]) -> Answer:
    """Do it, and give what it gives."""
    return start(answer).result()


def remake(uri: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
    """Make these the only rows of the table, in one commit; readers see the old ones until then.

    What is there may be of another schema. What cannot even be opened is dropped first. An error
    that `batches` raises is raised here, and nothing was changed.
    """
    database = lancedb.connect(uri, read_consistency_interval=timedelta(0))
    if not _is_readable(database):
        database.drop_table(TABLE)
    _remove_half_written(uri)
    raised: list[BaseException] = []
    reader = pa.RecordBatchReader.from_batches(schema, _keeping_errors(batches, raised))
    try:
        database.create_table(TABLE, data=reader, schema=schema, mode="overwrite")
    except RuntimeError:
        if raised:
            raise raised[0] from None
        raise
    open_or_create(uri, schema)


def _keeping_errors(
    batches: Iterator[pa.RecordBatch], raised: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """Keep what is raised: on its way through Rust an error becomes a text."""
    try:
        yield from batches
    except BaseException as error:
        raised.append(error)
        raise


def _is_readable(database: lancedb.DBConnection) -> bool:
    """Whether there is no table, or one whose newest version can be opened."""
    if TABLE not in database.list_tables().tables:
        return True
    try:
        database.open_table(TABLE)
    except (OSError, RuntimeError, ValueError):
        return False
    return True


def rewrite(uri: str) -> None:
    """Write every row into new files, and remove all that older versions hold.

    Rows that were deleted or replaced, and their words in the full-text index, are on the disk no
    more. No other process may write meanwhile; one that reads an old version fails.
    """
    database = lancedb.connect(uri, read_consistency_interval=timedelta(0))
    if TABLE not in database.list_tables().tables:
        return
    old = database.open_table(TABLE)
    rows = old.search().to_batches()
    table = database.create_table(TABLE, data=rows, schema=old.schema, mode="overwrite")
    table.create_index(SEARCH_TEXT, config=_WORDS)
    table.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)
    _remove_half_written(uri)


def unindexed_rows(table: LanceTable) -> int:
    """How many rows a search reads one by one, since no index knows them yet."""
    names = [index.name for index in table.list_indices() if index.columns == [SEARCH_TEXT]]
    stats = table.index_stats(names[0]) if names else None
    return stats.num_unindexed_rows if stats is not None else table.count_rows()


def _remove_half_written(uri: str) -> None:
    """Remove files that a killed writer of a folder left: rows stand in them, and no cleanup does.

    An object store shows whole objects only.
    """
    if "://" not in uri:
        for file in Path(uri, f"{TABLE}.lance").rglob(".tmp*"):
            file.unlink(missing_ok=True)


def add_indexes(table: LanceTable, *, count: int, with_vectors: bool) -> None:
    """Make the indexes that are missing and worth it for `count` rows."""
    indexed = {column for index in table.list_indices() for column in index.columns}
    for column, kind in _SCALAR_INDEXES.items():
        if count and column not in indexed:
            table.create_index(column, config=kind)
    is_missing = with_vectors and VECTOR not in indexed
    if is_missing or _vector_parts(table) > VECTOR_PARTS_MAX:
        config = IvfFlat(
            distance_type="cosine",
            target_partition_size=PARTITION_ROWS,
            sample_rate=SAMPLES_PER_PARTITION,
        )
        table.create_index(VECTOR, config=config)


def _vector_parts(table: LanceTable) -> int:
    """How many parts the vector index has: every `optimize` with new rows adds one."""
    names = [index.name for index in table.list_indices() if index.columns == [VECTOR]]
    stats = table.index_stats(names[0]) if names else None
    return stats.num_indices if stats is not None and stats.num_indices is not None else 0


def words_query(words: Sequence[str]) -> MatchQuery:
    """A query for rows with any of these words; one that is given twice weighs twice.

    All words stand in one match. Two matches of different weight, joined in a boolean query, gave
    the same scores in four times the time (17 ms against 4 at 100,000 rows, lancedb 0.40).
    """
    return MatchQuery(" ".join(words), SEARCH_TEXT)  # type: ignore[call-arg]  # mypy reads no defaults
