"""Long changes that must be finished before they count, whoever begins them and whoever dies."""

from sqlalchemy import Connection, delete, select

from memclaw_etl.lake.ledger.database import insert_missing
from memclaw_etl.lake.ledger.schema import meta

REMASK = "unfinished:remask"
"""Stored texts were masked again; what older versions of the stores hold is not yet removed."""


def begin(connection: Connection, what: str) -> None:
    """Note that a change has begun."""
    insert_missing(connection, meta, [{"key": what, "value": "begun"}])


def is_begun(connection: Connection, what: str) -> bool:
    """Whether a change has begun and not ended."""
    return connection.execute(select(meta.c.key).where(meta.c.key == what)).first() is not None


def end(connection: Connection, what: str) -> None:
    """Note that a change is done, to the end."""
    connection.execute(delete(meta).where(meta.c.key == what))
