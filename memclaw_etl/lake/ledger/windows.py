"""Windows: looking them up, what is owed, and what people decide about them."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, literal, or_, select, update

from memclaw_etl.lake.ledger import breakers
from memclaw_etl.lake.ledger.database import batched
from memclaw_etl.lake.ledger.leases import window_lease
from memclaw_etl.lake.ledger.schema import leases, stage_files, windows
from memclaw_etl.lake.ledger.values import Stage, Window, WindowState

_Order = ColumnElement[Any] | None


def by_ids(connection: Connection, window_ids: Sequence[str]) -> list[Window]:
    """The windows with these ids, in the order that was asked for; unknown ids are left out."""
    found: dict[str, Window] = {}
    for some in batched(window_ids):
        for row in connection.execute(select(windows).where(windows.c.window_id.in_(some))):
            found[row.window_id] = Window(**row._mapping)
    return [found[one] for one in window_ids if one in found]


def lock(connection: Connection, window_ids: Sequence[str]) -> None:
    """Hold windows against every other transaction that changes or locks them, until the end.

    What is read after this is what those transactions left (SQLite has one writer anyway).
    """
    connection.execute(
        select(windows.c.window_id)
        .where(windows.c.window_id.in_(window_ids))
        .order_by(windows.c.window_id)
        .with_for_update()
    )


def by_keys(connection: Connection, partition_keys: Sequence[str]) -> list[Window]:
    """The windows with these partition keys, in the order that was asked for."""
    found: dict[str, Window] = {}
    for some in batched(partition_keys):
        for row in connection.execute(select(windows).where(windows.c.partition_key.in_(some))):
            found[row.partition_key] = Window(**row._mapping)
    return [found[one] for one in partition_keys if one in found]


def of_node(connection: Connection, tenant_id: str, node_id: str, epoch: int) -> list[Window]:
    """Every window of one epoch of a node, in trail order."""
    rows = connection.execute(
        select(windows)
        .where(
            windows.c.tenant_id == tenant_id,
            windows.c.node_id == node_id,
            windows.c.epoch == epoch,
        )
        .order_by(windows.c.cursor_from, windows.c.from_part)
    )
    return [Window(**row._mapping) for row in rows]


def all_windows(connection: Connection) -> list[Window]:
    """Every window of every node and epoch, in trail order within each."""
    rows = connection.execute(
        select(windows).order_by(
            windows.c.tenant_id,
            windows.c.node_id,
            windows.c.epoch,
            windows.c.cursor_from,
            windows.c.from_part,
        )
    )
    return [Window(**row._mapping) for row in rows]


def nodes_that_wait(connection: Connection) -> set[tuple[str, str]]:
    """(tenant id, node id) of the nodes that have a window to be done."""
    rows = connection.execute(
        select(windows.c.tenant_id, windows.c.node_id)
        .where(windows.c.state == WindowState.PINNED)
        .distinct()
    )
    return {(row.tenant_id, row.node_id) for row in rows}


def is_owed(now: datetime) -> ColumnElement[bool]:
    """The SQL of "owed": pinned, and neither asked for, leased, nor waiting for its time."""
    return and_(
        windows.c.state == WindowState.PINNED,
        ~_is_in_flight(now),
        or_(windows.c.not_before.is_(None), windows.c.not_before <= now),
    )


def is_idle(now: datetime) -> ColumnElement[bool]:
    """Committed, and neither asked for nor leased, as SQL."""
    return and_(windows.c.state == WindowState.COMMITTED, ~_is_in_flight(now))


def _is_in_flight(now: datetime) -> ColumnElement[bool]:
    leased = exists().where(
        leases.c.name == literal(window_lease("")) + windows.c.window_id,
        leases.c.expires_at > now,
    )
    return or_(and_(windows.c.asked_until.is_not(None), windows.c.asked_until > now), leased)


def is_within_reach(machine12: str) -> ColumnElement[bool]:
    """Windows that a machine can work on, as SQL: those of its own trails, and all masked ones.

    Node ids of trails name the machine that sees the file (`cc:<machine12>:...`).
    """
    is_masked = exists().where(
        stage_files.c.window_id == windows.c.window_id, stage_files.c.stage == Stage.MASKED_CHUNKS
    )
    return or_(windows.c.node_id.contains(f":{machine12}:", autoescape=True), is_masked)


def owed(
    connection: Connection,
    *,
    now: datetime,
    limit: int,
    needs: Collection[str] = (),
    machine12: str | None = None,
) -> list[Window]:
    """What is owed now, oldest pin first; at most `limit`. Call `leases.drop_dead` before.

    With `machine12`, only what that machine can work on; the rest is left to the machines that have
    the trails.

    Windows that wait for a resource whose breaker is open stay out, but for one probe when that is
    due. While a breaker of what all of them need (`needs`) is open, everything waits for one probe:
    each time another window, so that one that never succeeds does not keep it open.
    """
    due = is_owed(now) if machine12 is None else is_owed(now) & is_within_reach(machine12)
    opened = breakers.open_resources(connection)
    needed = [opened[resource] for resource in needs if resource in opened]
    if needed:
        if max(needed) > now or _any_in_flight(connection, now=now):
            return []
        return _oldest(connection, due, limit=1, by=windows.c.failed_at.nulls_first())
    probes = [
        window
        for resource, probe_at in opened.items()
        if probe_at <= now and not _any_in_flight(connection, now=now, waiting_for=resource)
        for window in _oldest(connection, due & (windows.c.waits_for == resource), limit=1)
    ][:limit]
    free = or_(windows.c.waits_for.is_(None), windows.c.waits_for.not_in(opened))
    others = _oldest(connection, due & free, limit=limit - len(probes))
    return sorted(
        probes + others, key=lambda one: (one.pinned_at, one.node_id, one.epoch, one.cursor_from)
    )


def _oldest(
    connection: Connection, chosen: ColumnElement[bool], *, limit: int, by: _Order = None
) -> list[Window]:
    if limit <= 0:
        return []
    place = (windows.c.pinned_at, windows.c.node_id, windows.c.epoch, windows.c.cursor_from)
    order = place if by is None else (by, *place)
    rows = connection.execute(select(windows).where(chosen).order_by(*order).limit(limit))
    return [Window(**row._mapping) for row in rows]


def _any_in_flight(
    connection: Connection, *, now: datetime, waiting_for: str | None = None
) -> bool:
    """Whether a window is asked for or worked on (of those that wait for a resource)."""
    chosen = and_(windows.c.state == WindowState.PINNED, _is_in_flight(now))
    if waiting_for is not None:
        chosen = and_(chosen, windows.c.waits_for == waiting_for)
    first = connection.execute(select(windows.c.window_id).where(chosen).limit(1)).first()
    return first is not None


def next_due(connection: Connection, *, now: datetime) -> datetime | None:
    """When the next waiting window becomes owed by time alone, or None."""
    due: datetime | None = connection.execute(
        select(func.min(windows.c.not_before)).where(
            windows.c.state == WindowState.PINNED, windows.c.not_before > now
        )
    ).scalar_one()
    return due


def give_back(connection: Connection, window_ids: Iterable[str]) -> None:
    """Windows whose run stopped before they were done are owed again at once."""
    for some in batched(list(window_ids)):
        connection.execute(
            update(windows)
            .where(windows.c.window_id.in_(some), windows.c.state == WindowState.PINNED)
            .values(asked_batch=None, asked_until=None)
        )


def set_state(
    connection: Connection,
    window_ids: Sequence[str],
    state: WindowState,
    *,
    only_from: Sequence[WindowState],
    reason: str | None = None,
) -> list[str]:
    """Move windows between states by a person's decision; returns the ids that moved."""
    moved: list[str] = []
    for some in batched(window_ids):
        chosen = and_(windows.c.window_id.in_(some), windows.c.state.in_(only_from))
        moved += [
            row.window_id for row in connection.execute(select(windows.c.window_id).where(chosen))
        ]
        connection.execute(
            update(windows)
            .where(chosen)
            .values(state=state, reason=reason, asked_batch=None, asked_until=None)
        )
    return moved


def ask_again(connection: Connection, window_ids: Sequence[str]) -> list[str]:
    """A person asks for windows: attempts start anew, nothing waits. Returns the ids that moved."""
    waiting = (WindowState.QUARANTINED, WindowState.PAUSED, WindowState.PINNED)
    moved = set_state(connection, window_ids, WindowState.PINNED, only_from=waiting)
    for some in batched(moved):
        connection.execute(
            update(windows)
            .where(windows.c.window_id.in_(some))
            .values(attempts=0, not_before=None, waits_for=None)
        )
    return moved
