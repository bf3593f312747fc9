"""SQL over what a grant shows, or over everything."""

import polars as pl
import pyarrow as pa

from memclaw_etl.lake.memory_rows import Scope
from memclaw_etl.lake.views import Lake, query
from memclaw_etl.service.forgetting import finish_forgets
from memclaw_etl.service.grants import Grant, shown_to
from memclaw_etl.stages.bench import Bench


def sql(bench: Bench, grant: Grant, statement: str) -> pl.DataFrame:
    """Run one SQL statement over views that hold only what the grant shows.

    What belongs to no tenant (leases, breakers, what a model cost) is no part of any grant.

    Raises:
        UsageError: DuckDB refuses the statement.
    """
    return query(statement, _lake(bench), of=shown_to(bench, grant))


def sql_over_everything(bench: Bench, statement: str) -> pl.DataFrame:
    """Run one SQL statement over all tenants and the home's own tables: for its operator.

    Raises:
        UsageError: DuckDB refuses the statement.
    """
    return query(statement, _lake(bench), of=None)


def _lake(bench: Bench) -> Lake:
    def memories(scope: Scope | None) -> pa.Table:
        finish_forgets(bench)
        return bench.index.all_rows() if scope is None else bench.index.rows_in(scope)

    return Lake(bench.ledger, bench.files, memories)
