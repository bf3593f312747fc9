"""Pinning: a window's row and its claims on events, in one transaction.

A window is inserted once; claims are insert-only. Whoever comes second reads what is stored.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, exists, func, literal, select, update

from memclaw_etl.lake.ledger import nodes
from memclaw_etl.lake.ledger.database import batched, insert_all, insert_missing
from memclaw_etl.lake.ledger.leases import WINDOW_LEASE
from memclaw_etl.lake.ledger.schema import (
    event_copies,
    event_owners,
    leases,
    stage_files,
    windows,
)
from memclaw_etl.lake.ledger.values import Claim, Node, Stage, WindowState


def pin(
    connection: Connection,
    node: Node,
    window: Mapping[str, Any],
    claims: Sequence[Claim],
    *,
    frontier: Mapping[str, Any],
) -> WindowState | None:
    """Insert a window, claim its events, and move the node's frontier behind it.

    Args:
        connection: an open write transaction.
        node: the node as the planner read it; the pin happens only if its frontier is unmoved.
        window: columns of the row, without state and event counts.
        claims: the events of the window, in order.
        frontier: columns of `nodes` that say where the next window starts.

    Returns:
        The state that the window got (`noise` when none of its events is its own), or None when
        another planner was faster and nothing was changed.
    """
    if not nodes.move_frontier(connection, node, **frontier):
        return None
    owned = claim(connection, node.tenant_id, window["window_id"], claims)
    state = WindowState.PINNED if owned else WindowState.NOISE
    insert_all(
        connection,
        windows,
        [{**window, "state": state, "events": owned, "replayed": len(claims) - owned}],
    )
    return state


def claim(connection: Connection, tenant_id: str, window_id: str, claims: Sequence[Claim]) -> int:
    """Claim events for a window; copies of events that have an owner are noted as replays.

    Returns the number of events that the window owns now.
    """
    rows = [
        {
            "tenant_id": tenant_id,
            "identity": one.identity,
            "window_id": window_id,
            "seq": one.seq,
            "part": one.part,
        }
        for one in sorted(claims, key=lambda one: one.identity)  # one order: no deadlocks
    ]
    insert_missing(connection, event_owners, rows)
    mine = owned_events(connection, window_id)
    copies = [row for row in rows if (row["seq"], row["part"]) not in mine]
    insert_missing(connection, event_copies, copies)
    return len(mine)


def owned_events(connection: Connection, window_id: str) -> dict[tuple[int, int], str]:
    """(seq, part) -> identity of the events that a window owns."""
    rows = connection.execute(
        select(event_owners.c.seq, event_owners.c.part, event_owners.c.identity).where(
            event_owners.c.window_id == window_id
        )
    )
    return {(row.seq, row.part): row.identity for row in rows}


def windows_of_copies(
    connection: Connection, tenant_id: str, identities: Collection[str]
) -> list[str]:
    """Windows whose lines hold copies of any of these events."""
    return _windows_in(event_copies, connection, tenant_id, identities)


def _windows_in(
    table: Table, connection: Connection, tenant_id: str, identities: Collection[str]
) -> list[str]:
    found: set[str] = set()
    for some in batched(sorted(identities)):
        rows = connection.execute(
            select(table.c.window_id)
            .where(table.c.tenant_id == tenant_id, table.c.identity.in_(some))
            .distinct()
        )
        found.update(row.window_id for row in rows)
    return sorted(found)


def events_without_owner(connection: Connection) -> dict[str, int]:
    """window_id -> how many events a committed window holds that no window owns.

    They were left by a window that was given up while a run worked on this one, so that it could
    not inherit them. Whoever works on it again takes them (`reclaim`).
    """
    rows = connection.execute(
        select(
            event_copies.c.window_id,
            func.count(event_copies.c.identity.distinct()).label("events"),
        )
        .join(windows, windows.c.window_id == event_copies.c.window_id)
        .outerjoin(
            event_owners,
            (event_owners.c.tenant_id == event_copies.c.tenant_id)
            & (event_owners.c.identity == event_copies.c.identity),
        )
        .where(windows.c.state == WindowState.COMMITTED, event_owners.c.identity.is_(None))
        .group_by(event_copies.c.window_id)
        .order_by(event_copies.c.window_id)
    )
    return {row.window_id: row.events for row in rows}


def windows_of_events(
    connection: Connection, tenant_id: str, identities: Collection[str]
) -> list[str]:
    """Windows that own any of these events."""
    return _windows_in(event_owners, connection, tenant_id, identities)


def pass_on_claims(connection: Connection, window_ids: Sequence[str]) -> int:
    """Give the events of lost windows to their next copy; how many found a new owner.

    Only windows that were never masked lose their claims: what is masked can still be interviewed.
    A window that was noise because all it held were copies becomes owed by what it inherits. What
    nobody inherits is free for the next copy that is pinned, or for `reclaim`.
    """
    passed = 0
    for window_id in _never_masked(connection, window_ids):
        mine = connection.execute(
            select(event_owners).where(event_owners.c.window_id == window_id)
        ).all()
        connection.execute(delete(event_owners).where(event_owners.c.window_id == window_id))
        insert_missing(connection, event_copies, [dict(row._mapping) for row in mine])
        for some in batched([row.identity for row in mine]):
            passed += _inherit(connection, mine[0].tenant_id, some, lost=window_id)
    return passed


def reclaim(connection: Connection, window_ids: Sequence[str]) -> None:
    """Let windows that are about to be worked on own the events that they hold and nobody owns.

    Such events were left behind by a lost window when no copy could inherit them.
    """
    gained: set[str] = set()
    for some in batched(window_ids):
        copies = connection.execute(
            select(event_copies)
            .outerjoin(
                event_owners,
                (event_owners.c.tenant_id == event_copies.c.tenant_id)
                & (event_owners.c.identity == event_copies.c.identity),
            )
            .where(event_copies.c.window_id.in_(some), event_owners.c.identity.is_(None))
            .order_by(event_copies.c.identity, event_copies.c.seq, event_copies.c.part)
        ).all()
        for row in {row.identity: row for row in reversed(copies)}.values():
            gained |= _become_owner(connection, row)
    _recount(connection, sorted(gained))


def _never_masked(connection: Connection, window_ids: Sequence[str]) -> list[str]:
    masked: set[str] = set()
    for some in batched(window_ids):
        rows = connection.execute(
            select(stage_files.c.window_id).where(
                stage_files.c.window_id.in_(some), stage_files.c.stage == Stage.MASKED_CHUNKS
            )
        )
        masked.update(row.window_id for row in rows)
    return [one for one in window_ids if one not in masked]


def _inherit(
    connection: Connection, tenant_id: str, identities: Sequence[str], *, lost: str
) -> int:
    """Make the oldest copy in a window that can still be interviewed the owner.

    A window that is being worked on is none of these: its chunks may be stored already.
    """
    leased = exists().where(leases.c.name == literal(WINDOW_LEASE) + windows.c.window_id)
    copies = connection.execute(
        select(event_copies)
        .join(windows, windows.c.window_id == event_copies.c.window_id)
        .where(
            event_copies.c.tenant_id == tenant_id,
            event_copies.c.identity.in_(identities),
            event_copies.c.window_id != lost,
            windows.c.state.in_([WindowState.PINNED, WindowState.NOISE]),
            ~leased,
        )
        .order_by(windows.c.pinned_at, windows.c.window_id, event_copies.c.seq)
    ).all()
    heirs = {row.identity: row for row in reversed(copies)}
    gained: set[str] = set()
    for row in heirs.values():
        gained |= _become_owner(connection, row)
    _recount(connection, sorted(gained))
    connection.execute(
        update(windows)
        .where(windows.c.window_id.in_(gained), windows.c.state == WindowState.NOISE)
        .values(state=WindowState.PINNED)
    )
    return len(heirs)


def _become_owner(connection: Connection, copy: Row[Any]) -> set[str]:
    """Turn a copy of an event that nobody owns into its owner; the window that gained it."""
    if not insert_missing(connection, event_owners, [dict(copy._mapping)]):
        return set()
    connection.execute(
        delete(event_copies).where(
            event_copies.c.tenant_id == copy.tenant_id,
            event_copies.c.identity == copy.identity,
            event_copies.c.window_id == copy.window_id,
            event_copies.c.seq == copy.seq,
            event_copies.c.part == copy.part,
        )
    )
    return {copy.window_id}


def _recount(connection: Connection, window_ids: Sequence[str]) -> None:
    for window_id in window_ids:
        owned = len(owned_events(connection, window_id))
        replayed = connection.execute(
            select(func.count())
            .select_from(event_copies)
            .where(event_copies.c.window_id == window_id)
        ).scalar_one()
        connection.execute(
            update(windows)
            .where(windows.c.window_id == window_id)
            .values(events=owned, replayed=replayed)
        )


def copies_of(
    connection: Connection, tenant_id: str, identities: Sequence[str]
) -> list[tuple[str, str, int, int]]:
    """(identity, partition key, seq, part) of the replays of events, for lineage."""
    rows = connection.execute(
        select(
            event_copies.c.identity,
            windows.c.partition_key,
            event_copies.c.seq,
            event_copies.c.part,
        )
        .join(windows, windows.c.window_id == event_copies.c.window_id)
        .where(event_copies.c.tenant_id == tenant_id, event_copies.c.identity.in_(identities))
        .order_by(event_copies.c.identity, windows.c.partition_key)
    )
    return [(row.identity, row.partition_key, row.seq, row.part) for row in rows]
