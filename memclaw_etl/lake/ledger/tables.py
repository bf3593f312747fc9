"""The ledger's tables as frames, for SQL."""

import json
from typing import Any

import polars as pl
from sqlalchemy import JSON, BigInteger, Boolean, Column, ColumnElement, Float, Integer, select

from memclaw_etl.lake.ledger import schema
from memclaw_etl.lake.ledger.database import Ledger
from memclaw_etl.lake.ledger.schema import UtcDateTime


def ledger_frame(
    ledger: Ledger, name: str, *, where: ColumnElement[bool] | None = None
) -> pl.DataFrame:
    """One table of the ledger, or some rows of it; JSON columns are JSON text, times are UTC."""
    table = schema.metadata.tables[name]
    query = select(table) if where is None else select(table).where(where)
    with ledger.read() as tx:
        rows = tx.execute(query).all()
    columns = {column.name: _type(column) for column in table.columns}
    values = [tuple(_plain(value) for value in row) for row in rows]
    return pl.DataFrame(values, schema=columns, orient="row")


def _type(column: Column[Any]) -> pl.DataType:
    kinds: tuple[tuple[type, pl.DataType], ...] = (
        (UtcDateTime, pl.Datetime("us", "UTC")),
        (Boolean, pl.Boolean()),
        (Float, pl.Float64()),
        (BigInteger, pl.Int64()),
        (Integer, pl.Int64()),
        (JSON, pl.String()),
    )
    for kind, frame_type in kinds:
        if isinstance(column.type, kind):
            return frame_type
    return pl.String()


def _plain(value: object) -> object:
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True)
    return str(value) if isinstance(value, str) else value
