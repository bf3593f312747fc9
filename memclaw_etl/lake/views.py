"""SQL over everything: DuckDB in memory, with views over ledger, stage files and memory index.

DuckDB is an engine here and never a store: nothing is written, and no database file is shared.
Views read exactly the files that the ledger names, so a query works while a run is writing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.frames import ITEMS, MASKED_CHUNKS, MINI_REPORTS
from memclaw_etl.lake.ledger import Ledger, Stage, ledger_frame, results
from memclaw_etl.lake.stage_files import StageFiles

LEDGER_VIEWS = (
    "nodes", "windows", "watermarks", "batches", "decisions", "breakers", "leases",
    "model_spending", "model_jobs", "reinterviews",
)  # fmt: skip
_STAGE_VIEWS: Mapping[str, tuple[Stage, pl.Schema]] = {
    "chunks": (Stage.MASKED_CHUNKS, MASKED_CHUNKS),
    "mini_reports": (Stage.MINI_REPORTS, MINI_REPORTS),
    "items": (Stage.MERGED_REPORT, ITEMS),
}
VIEWS = (*LEDGER_VIEWS, *_STAGE_VIEWS, "memories")


def query(
    sql: str, *, ledger: Ledger, files: StageFiles, memories: Callable[[], pa.Table]
) -> pl.DataFrame:
    """Run one SQL statement; returns its result, empty for a statement without one.

    Args:
        sql: DuckDB SQL over the views that `VIEWS` names.
        ledger: the ledger; read once, so that all its tables show one moment.
        files: the stage files; `chunks`, `mini_reports` and `items` also have `partition_key`.
        memories: gives the rows of the memory index, without vectors; asked only when named.

    Raises:
        UsageError: DuckDB refuses the statement; its own message says where.
    """
    with closing(duckdb.connect(":memory:")) as connection:
        named = [view for view in VIEWS if view in sql.lower()]
        for view in named:
            _add_view(connection, view, ledger=ledger, files=files, memories=memories)
        _lock(connection, files.root)
        try:
            answer = connection.sql(sql)
            frame: pl.DataFrame = answer.pl() if answer is not None else pl.DataFrame()
        except duckdb.Error as error:
            raise UsageError(f"{_without_values(error)}\nviews: {', '.join(VIEWS)}") from None
        return frame


def _without_values(error: duckdb.Error) -> str:
    """DuckDB's message; what it quotes from rows is left out."""
    message, mark, statement = str(error).partition("\n\nLINE ")
    if isinstance(error, duckdb.DataError):
        message = re.sub(r"(['\"]).*\1", r"\1…\1", message, flags=re.DOTALL)
    return message + mark + statement


def _add_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    *,
    ledger: Ledger,
    files: StageFiles,
    memories: Callable[[], pa.Table],
) -> None:
    if view in LEDGER_VIEWS:
        connection.register(view, ledger_frame(ledger, view).to_arrow())
    elif view in _STAGE_VIEWS:
        stage, schema = _STAGE_VIEWS[view]
        _add_stage_view(connection, view, schema, _paths(ledger, files, stage))
    else:
        connection.register(view, memories())


def _paths(ledger: Ledger, files: StageFiles, stage: Stage) -> list[tuple[str, str]]:
    """(absolute path, partition key) of the current files of a stage."""
    with ledger.read() as tx:
        keys = results.keys_of_windows(tx)
        current = results.all_files(tx, stage)
    return [(files.absolute(file.path), keys[file.window_id]) for file in current]


def _add_stage_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    schema: pl.Schema,
    paths: Sequence[tuple[str, str]],
) -> None:
    if not paths:
        columns = {"partition_key": pl.String(), **schema}
        connection.register(view, pl.DataFrame(schema=columns).to_arrow())
        return
    names = pl.DataFrame(paths, schema=["file", "partition_key"], orient="row")
    connection.register(f"_{view}_files", names.to_arrow())
    listed = ", ".join(f"'{path.replace(chr(39), chr(39) * 2)}'" for path, _ in paths)
    connection.execute(
        f"create view {view} as select f.partition_key, r.* exclude (filename)"  # noqa: S608 - paths are ours and quoted
        f" from read_parquet([{listed}], filename = true, union_by_name = true) r"
        f" join _{view}_files f on f.file = r.filename"
    )


def _lock(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """From here on the statement can read our stage files and nothing else."""
    folder = str(root).replace("'", "''")
    connection.execute(f"set allowed_directories = ['{folder}/']")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
