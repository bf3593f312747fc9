"""Leases: who works on what right now. A live lease is the only meaning of "in flight".

A lease of a dead process on this host is free at once; any other lease after its time.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, update

from memclaw_etl.lake.ledger.database import batched, host_name, insert_missing
from memclaw_etl.lake.ledger.schema import leases

WINDOW_LEASE = "window:"


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds leases: its id, and the process that works for it."""

    run_id: str
    host: str
    pid: int

    @classmethod
    def here(cls, run_id: str) -> "Holder":
        """This process, for a run."""
        return cls(run_id=run_id, host=host_name(), pid=os.getpid())


def window_lease(window_id: str) -> str:
    """Name of the lease on a window."""
    return f"{WINDOW_LEASE}{window_id}"


def run_lease(run_id: str) -> str:
    """Name of the lease that a run holds until its process is done, so that it counts as alive."""
    return f"run:{run_id}"


def pid_is_alive(pid: int) -> bool:
    """Whether a process with that pid runs on this host."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no Path for a hot, tiny read
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False  # no /proc (macOS), or gone since


def drop_dead(connection: Connection, *, now: datetime) -> int:
    """Free the leases that have expired or whose process on this host is gone; how many."""
    rows = connection.execute(select(leases.c.holder, leases.c.pid, leases.c.host).distinct()).all()
    dead_pids = [row.pid for row in rows if row.host == host_name() and not pid_is_alive(row.pid)]
    gone = or_(
        leases.c.expires_at <= now,
        (leases.c.host == host_name()) & leases.c.pid.in_(dead_pids),
    )
    free = select(leases.c.name).where(gone).with_for_update(skip_locked=True)
    return connection.execute(delete(leases).where(leases.c.name.in_(free))).rowcount


def acquire(
    connection: Connection,
    names: Sequence[str],
    *,
    holder: Holder,
    now: datetime,
    lease_s: float,
) -> set[str]:
    """Take the free leases among `names`, renew those that this run holds; return all it holds.

    Call `drop_dead` first in the same transaction.
    """
    expires_at = now + timedelta(seconds=lease_s)
    insert_missing(
        connection,
        leases,
        [
            {
                "name": name,
                "holder": holder.run_id,
                "host": holder.host,
                "pid": holder.pid,
                "expires_at": expires_at,
            }
            for name in sorted(names)  # one order: no deadlocks
        ],
    )
    renew(connection, holder=holder, now=now, lease_s=lease_s)
    return held(connection, names, run_id=holder.run_id)


def renew(connection: Connection, *, holder: Holder, now: datetime, lease_s: float) -> int:
    """Heartbeat: move the end of every lease of this run, and name the process that works now."""
    _lock(connection, leases.c.holder == holder.run_id)
    return connection.execute(
        update(leases)
        .where(leases.c.holder == holder.run_id)
        .values(expires_at=now + timedelta(seconds=lease_s), host=holder.host, pid=holder.pid)
    ).rowcount


def keep(connection: Connection, names: Sequence[str], *, run_id: str) -> None:
    """Let nobody drop those of the leases that this run holds before the transaction ends."""
    for some in batched(sorted(names)):
        _lock(connection, leases.c.name.in_(some) & (leases.c.holder == run_id))


def _lock(connection: Connection, which: ColumnElement[bool]) -> None:
    """Lock rows in one order, so that a heartbeat and a release cannot stand in each other's way.

    SQLite has one writer anyway.
    """
    connection.execute(select(leases.c.name).where(which).order_by(leases.c.name).with_for_update())


def held(connection: Connection, names: Sequence[str], *, run_id: str | None = None) -> set[str]:
    """Which of `names` the run holds, or anybody (call `drop_dead` first)."""
    mine: set[str] = set()
    for some in batched(names):
        query = select(leases.c.name).where(leases.c.name.in_(some))
        if run_id is not None:
            query = query.where(leases.c.holder == run_id)
        rows = connection.execute(query)
        mine.update(row.name for row in rows)
    return mine


def release(connection: Connection, names: Iterable[str], *, run_id: str) -> None:
    """Give leases of this run back."""
    for some in batched(sorted(names)):
        _lock(connection, leases.c.name.in_(some) & (leases.c.holder == run_id))
        connection.execute(delete(leases).where(leases.c.name.in_(some), leases.c.holder == run_id))


def release_all(connection: Connection, *, run_id: str) -> int:
    """Give back everything that the run holds."""
    _lock(connection, leases.c.holder == run_id)
    return connection.execute(delete(leases).where(leases.c.holder == run_id)).rowcount


def live_holders(connection: Connection) -> set[str]:
    """Run ids that hold at least one lease. Call `drop_dead` first."""
    return {row.holder for row in connection.execute(select(leases.c.holder).distinct())}


def others_hold(connection: Connection, prefix: str, *, run_id: str) -> bool:
    """Whether another run holds a lease whose name begins so. Call `drop_dead` first."""
    begins = func.substr(leases.c.name, 1, len(prefix)) == prefix  # LIKE would fold case
    found = connection.execute(select(leases.c.name).where(begins, leases.c.holder != run_id))
    return found.first() is not None


def is_held(connection: Connection, name: str) -> bool:
    """Whether anybody holds the lease. Call `drop_dead` first."""
    return (
        connection.execute(select(leases.c.name).where(leases.c.name == name)).first() is not None
    )
