"""SQL over everything: DuckDB in memory, with views over ledger, stage files and memory index.

DuckDB is an engine here and never a store: nothing is written, and no database file is shared.
Views read exactly the files that the ledger names, so a query works while a run is writing. They
hold only the rows of whoever asks, and DuckDB itself can open no file: there is nothing to reach
around a view.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.frames import ITEMS, MASKED_CHUNKS, MINI_REPORTS
from memclaw_etl.lake.ledger import Ledger, Stage, ledger_frame, shown
from memclaw_etl.lake.ledger.shown import Shown
from memclaw_etl.lake.memory_rows import ANY_STATUS, Scope
from memclaw_etl.lake.stage_files import StageFiles

LEDGER_VIEWS = (
    "nodes", "windows", "watermarks", "batches", "decisions", "breakers", "leases",
    "model_spending", "model_jobs", "reinterviews", "governed_items", "retention_cutoffs",
)  # fmt: skip
_STAGE_VIEWS: Mapping[str, tuple[Stage, pl.Schema]] = {
    "chunks": (Stage.MASKED_CHUNKS, MASKED_CHUNKS),
    "mini_reports": (Stage.MINI_REPORTS, MINI_REPORTS),
    "items": (Stage.MERGED_REPORT, ITEMS),
}
VIEWS = (*LEDGER_VIEWS, *_STAGE_VIEWS, "memories")
_LOCKS = (
    "set python_enable_replacements = false",  # Python's variables are no tables
    "set allow_persistent_secrets = false",
    "set temp_directory = ''",  # nothing is spilled to a disk
    "set enable_external_access = false",
    "set lock_configuration = true",
)


@dataclass(frozen=True)
class Lake:
    """What the views read."""

    ledger: Ledger
    files: StageFiles
    memories: Callable[[Scope | None], pa.Table]
    """Gives the rows of a scope, or all, without vectors; asked only when they are named."""


def query(sql: str, lake: Lake, *, of: Shown | None) -> pl.DataFrame:
    """Run one SQL statement; returns its result, empty for a statement without one.

    Args:
        sql: DuckDB SQL over `views_of(of)`; `chunks`, `mini_reports` and `items` also have
            `partition_key`, `memories` has no vectors.
        lake: what the views read.
        of: whose rows the views hold. None: every tenant's, and what belongs to none.

    Raises:
        UsageError: DuckDB refuses the statement; its own message says where.
    """
    views = views_of(of)
    with closing(duckdb.connect(":memory:")) as connection:
        for view in views:
            if view in sql.lower():
                connection.register(view, _rows(view, lake, of))
        for lock in _LOCKS:
            connection.execute(lock)
        try:
            answer = connection.sql(sql)
            frame: pl.DataFrame = answer.pl() if answer is not None else pl.DataFrame()
        except duckdb.Error as error:
            raise UsageError(f"{_without_values(error)}\n{_what_there_is(views)}") from None
        return frame


def views_of(of: Shown | None) -> tuple[str, ...]:
    """The views that exist for whoever asks: not every table says whose its rows are."""
    if of is None:
        return VIEWS
    return (*shown.tables(of), *_STAGE_VIEWS, "memories")


def _what_there_is(views: Sequence[str]) -> str:
    kept = [view for view in VIEWS if view not in views]
    beyond = f"\nof the whole home, with --all-tenants: {', '.join(kept)}" if kept else ""
    return f"views: {', '.join(views)}{beyond}"


def _without_values(error: duckdb.Error) -> str:
    """DuckDB's message; what it quotes from rows is left out."""
    message, mark, statement = str(error).partition("\n\nLINE ")
    if isinstance(error, duckdb.DataError):
        message = re.sub(r"(['\"]).*\1", r"\1…\1", message, flags=re.DOTALL)
    return message + mark + statement


def _rows(view: str, lake: Lake, of: Shown | None) -> pa.Table | ds.Dataset:
    """What a view holds, filtered where it is stored."""
    if view in LEDGER_VIEWS and of is None:
        return ledger_frame(lake.ledger, view).to_arrow()
    if view in LEDGER_VIEWS and of is not None:
        frame = ledger_frame(lake.ledger, view, where=shown.condition(view, of))
        return frame.select(shown.columns(view, of)).to_arrow()
    if view in _STAGE_VIEWS:
        return _stage_rows(view, lake, of)
    return lake.memories(_scope(of) if of is not None else None)


def _scope(of: Shown) -> Scope:
    namespaces = of.part.namespaces if of.part is not None else None
    return Scope(tenant_id=of.tenant_id, namespaces=namespaces, status=ANY_STATUS)


def _stage_rows(view: str, lake: Lake, of: Shown | None) -> ds.Dataset:
    """A stage's current files as one lazy table, with the window's `partition_key`.

    A reader of some namespaces sees the files of its own windows, and in them only the window's
    own events: what stands there as context may be of a window of another namespace. Items say
    themselves what they belong to.
    """
    stage, columns = _STAGE_VIEWS[view]
    whole_tenant = Shown(tenant_id=of.tenant_id) if of is not None else None
    with lake.ledger.read() as tx:
        named = shown.files(tx, stage, whole_tenant if view == "items" else of)
    rows = _dataset(lake.files, columns, named)
    if of is None or of.part is None:
        return rows
    if view == "chunks":
        return rows.filter(~ds.field("context"))
    if view == "items":
        return rows.filter(ds.field("namespace").isin(sorted(of.part.namespaces)))
    return rows


def _dataset(
    files: StageFiles, columns: pl.Schema, named: Sequence[tuple[str, str]]
) -> ds.FileSystemDataset:
    """Files of one schema, read when asked; a column that an older file lacks is null."""
    schema = pl.DataFrame(schema={"partition_key": pl.String(), **columns}).to_arrow().schema
    kind, system = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = [
        kind.make_fragment(
            files.absolute(path),
            filesystem=system,
            partition_expression=ds.field("partition_key") == key,
        )
        for path, key in named
    ]
    return ds.FileSystemDataset(fragments, schema, kind, system)
