"""What people decided about memories: tombstones, and relations that were undone.

They are rows of their own, apply whenever memories are resolved, and survive every re-run.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, update

from memclaw_etl.lake.ledger.database import batched, insert_missing, upsert
from memclaw_etl.lake.ledger.schema import decisions, event_owners, tombstones, windows
from memclaw_etl.lake.ledger.schema_memories import forgotten_events

UNDO, REDO = "undo_relation", "redo_relation"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Everything that tombstones lie over, of all tenants."""

    events: frozenset[tuple[str, str]]
    """(tenant_id, identity)"""
    texts: frozenset[tuple[str, str]]
    """(tenant_id, content hash)"""


def forget(
    connection: Connection,
    *,
    tenant_id: str,
    memory_id: str,
    content_hash: str,
    identities: Collection[str],
    reason: str,
    erase: bool,
    now: datetime,
) -> str:
    """Lay a tombstone over a text and the events that it rests on; returns its id.

    Again for the same memory and text it is the same one: its events are united, and the newer
    reason counts. Events that lie under an older tombstone stay there; to erase is never taken
    back, and neither is to forget.
    """
    before = connection.execute(
        select(tombstones).where(
            tombstones.c.tenant_id == tenant_id,
            tombstones.c.memory_id == memory_id,
            tombstones.c.content_hash == content_hash,
        )
    ).first()
    tombstone_id: str = before.tombstone_id if before else uuid.uuid4().hex
    row = {
        "tombstone_id": tombstone_id, "tenant_id": tenant_id, "memory_id": memory_id,
        "content_hash": content_hash, "created_at": before.created_at if before else now,
        "evidence": sorted({*identities, *(before.evidence if before else ())}),
        "reason": reason or (before.reason if before else ""),
    }  # fmt: skip
    upsert(connection, tombstones, row)
    events = [
        {
            "tenant_id": tenant_id,
            "identity": identity,
            "tombstone_id": tombstone_id,
            "is_erased": erase,
        }
        for identity in sorted(identities)
    ]
    insert_missing(connection, forgotten_events, events)
    if erase:
        for some in batched(sorted(identities)):
            connection.execute(
                update(forgotten_events)
                .where(
                    forgotten_events.c.tenant_id == tenant_id,
                    forgotten_events.c.identity.in_(some),
                )
                .values(is_erased=True)
            )
    return tombstone_id


def forgotten(connection: Connection) -> Forgotten:
    """Everything under a tombstone."""
    events = connection.execute(select(forgotten_events.c.tenant_id, forgotten_events.c.identity))
    texts = connection.execute(select(tombstones.c.tenant_id, tombstones.c.content_hash))
    return Forgotten(
        frozenset((row.tenant_id, row.identity) for row in events),
        frozenset((row.tenant_id, row.content_hash) for row in texts),
    )


def events_of(connection: Connection, tenant_id: str, memory_id: str) -> tuple[set[str], set[str]]:
    """Identities and content hashes under the tombstones of a memory; both empty: there is none."""
    rows = connection.execute(
        select(tombstones.c.evidence, tombstones.c.content_hash).where(
            tombstones.c.tenant_id == tenant_id, tombstones.c.memory_id == memory_id
        )
    ).all()
    return {one for row in rows for one in row.evidence}, {row.content_hash for row in rows}


def erased(connection: Connection, tenant_id: str) -> set[str]:
    """Identities of the tenant's events of which no text may be stored."""
    rows = connection.execute(
        select(forgotten_events.c.identity).where(
            forgotten_events.c.tenant_id == tenant_id, forgotten_events.c.is_erased
        )
    )
    return {row.identity for row in rows}


def erased_texts(connection: Connection, tenant_id: str, events: Collection[str]) -> set[str]:
    """Content hashes of the tenant's statements that rest on nothing but these erased events."""
    gone = set(events)
    if not gone:
        return set()
    rows = connection.execute(
        select(tombstones.c.content_hash, tombstones.c.evidence).where(
            tombstones.c.tenant_id == tenant_id
        )
    )
    return {row.content_hash for row in rows if row.evidence and gone.issuperset(row.evidence)}


def places(connection: Connection) -> set[tuple[str, str, int, int, int]]:
    """(tenant_id, node_id, epoch, seq, part) of every event under a tombstone that has an owner."""
    rows = connection.execute(
        select(
            windows.c.tenant_id,
            windows.c.node_id,
            windows.c.epoch,
            event_owners.c.seq,
            event_owners.c.part,
        )
        .join(event_owners, event_owners.c.window_id == windows.c.window_id)
        .join(
            forgotten_events,
            (forgotten_events.c.tenant_id == event_owners.c.tenant_id)
            & (forgotten_events.c.identity == event_owners.c.identity),
        )
    )
    return {tuple(row) for row in rows}


def memory_ids(connection: Connection) -> set[tuple[str, str]]:
    """(tenant_id, memory_id) of everything that was forgotten."""
    rows = connection.execute(select(tombstones.c.tenant_id, tombstones.c.memory_id).distinct())
    return {(row.tenant_id, row.memory_id) for row in rows}


def is_forgotten(connection: Connection, tenant_id: str, memory_id: str) -> bool:
    """Whether the tenant forgot a memory with this id."""
    return bool(events_of(connection, tenant_id, memory_id)[1])


def undone(connection: Connection) -> frozenset[str]:
    """Relations that a person undid last."""
    rows = connection.execute(
        select(decisions.c.about, decisions.c.action)
        .where(decisions.c.action.in_([UNDO, REDO]))
        .order_by(decisions.c.created_at, decisions.c.decision_id)
    )
    last = {row.about: row.action for row in rows}
    return frozenset(edge_id for edge_id, action in last.items() if action == UNDO)
