"""The few columns of the ledger that hold words: folders, messages, reasons. Rewriting them."""

from collections.abc import Callable

from sqlalchemy import Column, Connection, Table, select, update

from memclaw_etl.lake.ledger.database import Ledger
from memclaw_etl.lake.ledger.schema import decisions, nodes, tombstones, windows

_TEXTS: tuple[tuple[Table, Column[str]], ...] = (
    (windows, windows.c.project),
    (windows, windows.c.error),
    (windows, windows.c.reason),
    (nodes, nodes.c.problem),
    (decisions, decisions.c.reason),
    (tombstones, tombstones.c.reason),
)


def rewrite(connection: Connection, change: Callable[[str], str]) -> int:
    """Give every text through `change`; returns how many distinct texts became others."""
    changed = 0
    for table, column in _TEXTS:
        rows = connection.execute(select(column).where(column.is_not(None)).distinct()).all()
        for (text,) in rows:
            other = change(text)
            if other != text:
                connection.execute(update(table).where(column == text).values({column.name: other}))
                changed += 1
    return changed


def wipe(ledger: Ledger) -> None:
    """Remove what rewritten rows have left in the database's file. SQLite only.

    PostgreSQL reuses such space by itself (autovacuum).
    """
    if ledger.engine.dialect.name != "sqlite":
        return
    connection = ledger.engine.raw_connection()
    try:
        connection.cursor().execute("VACUUM")
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
