"""Batches: exact sets of windows that were asked for as one run."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, func, select, update

from memclaw_etl.lake.ledger import leases, pins
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.lake.ledger.database import batched, insert_all
from memclaw_etl.lake.ledger.leases import Holder, window_lease
from memclaw_etl.lake.ledger.schema import batch_windows, batches, windows
from memclaw_etl.lake.ledger.values import Window, WindowState

BACKFILL = "backfill"
"""Who asked for a batch of committed windows, to interview them again."""


def are_owed(connection: Connection, wanted: Sequence[Window], *, now: datetime) -> bool:
    """Whether all of these windows are owed still, and no other planner was faster."""
    return _are_all(connection, wanted, window_table.is_owed(now))


def are_idle(connection: Connection, wanted: Sequence[Window], *, now: datetime) -> bool:
    """Whether all of these windows are committed, and nobody works on them or is to."""
    return _are_all(connection, wanted, window_table.is_idle(now))


def _are_all(connection: Connection, wanted: Sequence[Window], so: ColumnElement[bool]) -> bool:
    """Whether they are so, and stay so until the transaction ends: no other planner may ask now."""
    ids = sorted(window.window_id for window in wanted)  # one order: no deadlocks
    count = 0
    for some in batched(ids):
        window_table.lock(connection, some)
        count += connection.execute(
            select(func.count()).select_from(windows).where(windows.c.window_id.in_(some), so)
        ).scalar_one()
    return count == len(wanted)


def ask(
    connection: Connection,
    asked: Sequence[Window],
    *,
    asked_by: str,
    interviewer: str,
    now: datetime,
    deadline_s: float,
) -> str:
    """Mark windows as asked for, as one batch; returns its id. Past the deadline they are owed."""
    batch_id = uuid.uuid4().hex
    deadline = now + timedelta(seconds=deadline_s)
    insert_all(
        connection,
        batches,
        [
            {
                "batch_id": batch_id,
                "asked_by": asked_by,
                "interviewer": interviewer,
                "asked_at": now,
                "deadline": deadline,
            }
        ],
    )
    ids = [window.window_id for window in asked]
    insert_all(connection, batch_windows, [{"batch_id": batch_id, "window_id": one} for one in ids])
    for some in batched(ids):
        connection.execute(
            update(windows)
            .where(windows.c.window_id.in_(some))
            .values(asked_batch=batch_id, asked_until=deadline)
        )
    return batch_id


def take(
    connection: Connection,
    *,
    batch_id: str,
    holder: Holder,
    now: datetime,
    lease_s: float,
    by_person: bool,
) -> list[Window]:
    """Turn "asked" into leases for a starting run; returns the windows that the run holds.

    A late run (its windows were asked for by a younger batch, or are done) gets none of them. When
    a person starts the run again, waiting, paused and quarantined windows are taken, too. A batch
    of a backfill takes committed windows.
    """
    ids = window_ids_of(connection, batch_id)
    workable = _workable(connection, batch_id)
    connection.execute(
        update(batches)
        .where(batches.c.batch_id == batch_id, batches.c.run_id.is_(None))
        .values(run_id=holder.run_id, started_at=now)
    )
    if by_person:
        _ask_again_unless_leased(connection, ids, now=now)
    mine = leases.held(connection, [window_lease(one) for one in ids], run_id=holder.run_id)
    free = [
        window.window_id
        for window in window_table.by_ids(connection, ids)
        if window_lease(window.window_id) in mine
        or (window.state in workable and (by_person or window.asked_batch == batch_id))
    ]
    return _lease(connection, free, holder=holder, now=now, lease_s=lease_s)


def _workable(connection: Connection, batch_id: str) -> tuple[WindowState, ...]:
    asked_by = connection.execute(
        select(batches.c.asked_by).where(batches.c.batch_id == batch_id)
    ).scalar_one_or_none()
    if asked_by == BACKFILL:
        return (WindowState.PINNED, WindowState.COMMITTED)
    return (WindowState.PINNED,)


def take_keys(
    connection: Connection,
    partition_keys: Sequence[str],
    *,
    holder: Holder,
    now: datetime,
    lease_s: float,
) -> list[Window]:
    """A person's run from the UI: lease exactly the windows of its partition keys.

    Windows that are quarantined or paused are asked for again by that. Committed and skipped ones
    are taken, too: their finished stages are skipped by input hash.
    """
    ids = [window.window_id for window in window_table.by_keys(connection, partition_keys)]
    _ask_again_unless_leased(connection, ids, now=now)
    return _lease(connection, ids, holder=holder, now=now, lease_s=lease_s)


def _ask_again_unless_leased(connection: Connection, ids: Sequence[str], *, now: datetime) -> None:
    leases.drop_dead(connection, now=now)
    leased = leases.held(connection, [window_lease(one) for one in ids])
    window_table.ask_again(connection, [one for one in ids if window_lease(one) not in leased])


def _lease(
    connection: Connection, ids: Sequence[str], *, holder: Holder, now: datetime, lease_s: float
) -> list[Window]:
    leases.drop_dead(connection, now=now)
    names = [window_lease(one) for one in ids]
    had = leases.held(connection, names, run_id=holder.run_id)
    got = leases.acquire(connection, names, holder=holder, now=now, lease_s=lease_s)
    taken = [one for one in ids if window_lease(one) in got]
    pins.reclaim(connection, [one for one in taken if window_lease(one) not in had])
    for some in batched(taken):
        connection.execute(
            update(windows).where(windows.c.window_id.in_(some)).values(asked_until=None)
        )
    return window_table.by_ids(connection, taken)


def interviewer_of(connection: Connection, batch_id: str) -> str | None:
    """Which interviewer the batch was asked for with; None when the ledger has no such batch."""
    return connection.execute(
        select(batches.c.interviewer).where(batches.c.batch_id == batch_id)
    ).scalar_one_or_none()


def asked_at_of(connection: Connection, batch_id: str) -> datetime:
    """When the batch was asked for."""
    asked_at: datetime = connection.execute(
        select(batches.c.asked_at).where(batches.c.batch_id == batch_id)
    ).scalar_one()
    return asked_at


def waiting(connection: Connection, *, now: datetime) -> int:
    """Batches that were asked for and have not started before their deadline."""
    return connection.execute(
        select(func.count())
        .select_from(batches)
        .where(batches.c.run_id.is_(None), batches.c.deadline > now)
    ).scalar_one()


def window_ids_of(connection: Connection, batch_id: str) -> list[str]:
    """The windows of a batch, in the order in which they were pinned."""
    rows = connection.execute(
        select(windows.c.window_id)
        .join(batch_windows, batch_windows.c.window_id == windows.c.window_id)
        .where(batch_windows.c.batch_id == batch_id)
        .order_by(windows.c.pinned_at, windows.c.node_id, windows.c.epoch, windows.c.cursor_from)
    )
    return [row.window_id for row in rows]


def add_counts(connection: Connection, batch_id: str, counts: Mapping[str, int]) -> None:
    """Add to what a batch did to the index (rows added, updated, unchanged, deleted)."""
    before = counts_of(connection, batch_id)
    total = {name: before.get(name, 0) + count for name, count in counts.items()}
    connection.execute(update(batches).where(batches.c.batch_id == batch_id).values(counts=total))


def counts_of(connection: Connection, batch_id: str) -> dict[str, int]:
    """What a batch did to the index so far."""
    stored = connection.execute(
        select(batches.c.counts).where(batches.c.batch_id == batch_id)
    ).scalar_one_or_none()
    return dict(stored or {})
