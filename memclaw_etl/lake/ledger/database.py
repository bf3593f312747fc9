"""Opening the ledger: engine, transactions, schema version, identity."""

import socket
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from memclaw_etl.errors import BusyError, HomeMismatchError, SettingsError, SurroundingsError
from memclaw_etl.lake.ledger import schema

Clock = Callable[[], datetime]
Row = Mapping[str, Any]

BUSY_TIMEOUT_S = 30
ROWS_A_STATEMENT = 500
"""Bound parameters of one statement stay far below SQLite's limit of 32,766."""


_READ: Mapping[str, Mapping[str, Any]] = {
    "sqlite": {"memclaw_read": True},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}
"""What makes all statements of one read see the same moment."""


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one lake. Cheap to hold; connections are opened per transaction."""

    engine: Engine
    ledger_id: str
    clock: Clock = utc_now

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One write transaction: everything or nothing; on SQLite the only writer from its start.

        Raises:
            BusyError: another process kept the lock for longer than `BUSY_TIMEOUT_S`.
            SurroundingsError: the disk or the server refuses, or went away; nothing was changed.
        """
        try:
            with self.engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise _busy_or_gone(error) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent read; never blocks a writer.

        Raises:
            SurroundingsError: the disk or the server refuses, or went away.
        """
        options = _READ[self.engine.dialect.name]
        try:
            with self.engine.connect().execution_options(**options) as connection:
                yield connection
        except OperationalError as error:
            raise _busy_or_gone(error) from error

    @property
    def is_shared(self) -> bool:
        """Whether other machines may use it, too, whose trails this one cannot read."""
        return self.engine.dialect.name != "sqlite"

    def now(self) -> datetime:
        """The ledger's clock (UTC)."""
        return self.clock()


def open_ledger(url: str, *, clock: Clock = utc_now) -> Ledger:
    """Open the ledger at a SQLAlchemy URL, creating the tables when they are missing.

    Raises:
        SettingsError: the URL is unusable or names a database that we cannot open.
        HomeMismatchError: the tables were written by another schema version.
    """
    try:
        return _opened(_engine(url), clock)
    except (ImportError, OSError, ValueError, SQLAlchemyError) as error:
        reason = type(error).__name__
        raise SettingsError(
            f"the ledger at {_without_secrets(url)} cannot be opened ({reason}); check `ledger_url`"
            " in the settings, and that its server is running"
        ) from None  # the cause may repeat the URL


def _opened(engine: Engine, clock: Clock) -> Ledger:
    try:
        _create_tables(engine)
        return Ledger(engine=engine, ledger_id=_ledger_id(engine), clock=clock)
    except BaseException:
        engine.dispose()
        raise


def _without_secrets(url: str) -> str:
    """The URL as it may be shown: passwords stand in its user part or in its query."""
    try:
        address = make_url(url)
        return address.difference_update_query(address.query).render_as_string(hide_password=True)
    except (ValueError, SQLAlchemyError):
        return "a URL that SQLAlchemy cannot read"


def _create_tables(engine: Engine, *, tries: int = 20) -> None:
    """Create what is missing. Two processes may do so at once: the loser finds it done."""
    for left in reversed(range(tries)):
        try:
            schema.metadata.create_all(engine)
        except SQLAlchemyError:
            if not left:
                raise
            time.sleep(0.1)
        else:
            return


def _engine(url: str) -> Engine:
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        if address.database:
            Path(address.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(
            address,
            connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
            hide_parameters=True,
        )
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if address.get_backend_name() == "postgresql":
        return create_engine(
            address.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_size=2,
            hide_parameters=True,
        )
    raise SettingsError(
        f"ledger_url names {address.get_backend_name()!r}; SQLite and PostgreSQL are supported"
    )


def _configure_sqlite(connection: sqlite3.Connection, record: object) -> None:
    del record
    connection.isolation_level = None  # we say BEGIN ourselves, see _begin_sqlite
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("memclaw_read", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _ledger_id(engine: Engine) -> str:
    """Read the ledger's id; give it one, and the schema version, when it is new."""
    with engine.begin() as connection:
        insert_missing(
            connection,
            schema.meta,
            [
                {"key": "ledger_id", "value": uuid.uuid4().hex},
                {"key": "schema_version", "value": str(schema.SCHEMA_VERSION)},
            ],
        )
        rows = connection.execute(select(schema.meta.c.key, schema.meta.c.value)).all()
    found = {row.key: row.value for row in rows}
    if found["schema_version"] != str(schema.SCHEMA_VERSION):
        raise HomeMismatchError(
            f"the ledger has schema version {found['schema_version']}, this program reads"
            f" {schema.SCHEMA_VERSION}; use the version of memclaw-etl that wrote it"
        )
    return str(found["ledger_id"])


def _busy_or_gone(error: OperationalError) -> SurroundingsError:
    text = str(error.orig)
    if "locked" in text or "busy" in text:
        return BusyError(
            f"the ledger stayed locked for {BUSY_TIMEOUT_S} s; is another process stuck?",
            resource="ledger",
        )
    if "deadlock" in text:
        return BusyError(
            "the ledger undid a transaction that stood in another's way; nothing was changed",
            resource="ledger",
        )
    return SurroundingsError(
        f"the ledger cannot be used now ({type(error.orig).__name__}); is its disk full, or its"
        " server stopped? Nothing is lost: run the same command again to go on",
        resource="ledger",
    )


def insert_missing(connection: Connection, table: Table, rows: Sequence[Row]) -> int:
    """Insert rows whose keys are new; leave the stored ones alone. Returns how many were new."""
    if not rows:
        return 0
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).on_conflict_do_nothing()
    return connection.execute(statement, [dict(row) for row in rows]).rowcount


def insert_all(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows, all of them new."""
    if rows:
        connection.execute(insert(table), [dict(row) for row in rows])


def upsert(connection: Connection, table: Table, row: Row) -> None:
    """Insert a row or overwrite the stored row with the same primary key."""
    keys = [column.name for column in table.primary_key]
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).values(dict(row))
    changed = {name: statement.excluded[name] for name in row if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))


def batched(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Slices of at most `ROWS_A_STATEMENT` values, for `IN (...)`."""
    for start in range(0, len(values), ROWS_A_STATEMENT):
        yield values[start : start + ROWS_A_STATEMENT]


def host_name() -> str:
    """This host, as leases name it."""
    return socket.gethostname()
