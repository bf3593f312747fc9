"""Long changes that must be finished before they count, whoever begins them and whoever dies."""

from hashlib import sha1

from sqlalchemy import Connection, delete, select

from memclaw_etl.lake.ledger.database import insert_missing
from memclaw_etl.lake.ledger.schema import meta

REMASK = "unfinished:remask"
"""Stored texts were masked again; what older versions of the stores hold is not yet removed."""
FORGET = "unfinished:forget:"
"""A tombstone lies over events; memories that rest on them may still be in the index."""
ERASE = "unfinished:erase:"
"""Of what was forgotten, some store may still hold the text."""


def about(what: str, *ids: str) -> str:
    """A change of something: `FORGET` or `ERASE`, and whose."""
    return what + sha1("\0".join(ids).encode(), usedforsecurity=False).hexdigest()


def begin(connection: Connection, what: str) -> None:
    """Note that a change has begun."""
    insert_missing(connection, meta, [{"key": what, "value": "begun"}])


def is_begun(connection: Connection, what: str) -> bool:
    """Whether a change has begun and not ended."""
    return connection.execute(select(meta.c.key).where(meta.c.key == what)).first() is not None


def begun(connection: Connection, what: str) -> list[str]:
    """Every change that begins so and has not ended, sorted."""
    rows = connection.execute(select(meta.c.key).where(meta.c.key.startswith(what)))
    return sorted(row.key for row in rows)


def end(connection: Connection, what: str) -> None:
    """Note that a change is done, to the end."""
    connection.execute(delete(meta).where(meta.c.key == what))
