"""The life of memories: which policies were applied, what people deleted, what has expired.

Deletions lie over statements (group keys): they hold for these words in their scope, whoever says
them again, and survive every re-run. Cutoffs only ever move forward.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, or_, select

from memclaw_etl.lake.ledger.database import batched, insert_missing, upsert
from memclaw_etl.lake.ledger.schema import decisions, live_items, stage_files, windows
from memclaw_etl.lake.ledger.schema_governance import (
    deleted_groups,
    governed_items,
    governed_windows,
    retention_cutoffs,
)
from memclaw_etl.lake.ledger.values import Stage, Window

DELETE, UNDELETE = "delete_memory", "undelete_memory"
Cutoffs = Mapping[tuple[str, str], datetime]
"""(tenant_id, memory type) -> what ended before has expired."""


def keep_governed(
    connection: Connection,
    window: Window,
    *,
    policies: str,
    records: Sequence[tuple[str, str, str]],
) -> None:
    """Note by which policies the window's live items were chosen, and what became of others.

    Args:
        connection: the transaction that also replaces the live items.
        window: the window.
        policies: the policies' fingerprint; empty for none.
        records: (item_id, policy, action).
    """
    mine = governed_windows.c.window_id == window.window_id
    connection.execute(delete(governed_windows).where(mine))
    connection.execute(delete(governed_items).where(governed_items.c.window_id == window.window_id))
    if not policies:
        return
    known = {"window_id": window.window_id, "tenant_id": window.tenant_id}
    connection.execute(insert(governed_windows).values({**known, "policies": policies}))
    rows = [
        {**known, "item_id": item_id, "policy": policy, "action": action}
        for item_id, policy, action in records
    ]
    insert_missing(connection, governed_items, rows)


def governed_otherwise(connection: Connection, tenant_id: str, *, policies: str) -> list[str]:
    """Windows of a tenant whose live items were chosen by other policies than these."""
    ours = governed_windows.c.policies
    is_other = or_(ours.is_(None), ours != policies) if policies else ours.is_not(None)
    rows = connection.execute(
        select(windows.c.window_id)
        .join(stage_files, stage_files.c.window_id == windows.c.window_id)
        .outerjoin(governed_windows, governed_windows.c.window_id == windows.c.window_id)
        .where(windows.c.tenant_id == tenant_id)
        .where(stage_files.c.stage == Stage.MERGED_REPORT)
        .where(is_other)
        .order_by(windows.c.window_id)
    )
    return [row.window_id for row in rows]


def counts(connection: Connection, window_id: str) -> dict[str, dict[str, int]]:
    """What policies did to a window's items: `by policy <action>` -> policy -> how many."""
    rows = connection.execute(
        select(governed_items.c.action, governed_items.c.policy, func.count())
        .where(governed_items.c.window_id == window_id)
        .group_by(governed_items.c.action, governed_items.c.policy)
        .order_by(governed_items.c.action, governed_items.c.policy)
    )
    found: dict[str, dict[str, int]] = {}
    for action, policy, count in rows:
        found.setdefault(f"by policy {action}", {})[policy] = count
    return found


def totals(connection: Connection, window_ids: Sequence[str]) -> dict[str, int]:
    """What policies did to the items of these windows: `by policy <action>` -> how many."""
    found: Counter[str] = Counter()
    for some in batched(window_ids):
        rows = connection.execute(
            select(governed_items.c.action, func.count())
            .where(governed_items.c.window_id.in_(some))
            .group_by(governed_items.c.action)
        )
        found.update({f"by policy {action}": count for action, count in rows})
    return dict(found)


def groups_of_items(connection: Connection, window_id: str) -> dict[str, set[str]]:
    """item_id -> group keys of a window's live items."""
    rows = connection.execute(
        select(live_items.c.item_id, live_items.c.group_key).where(
            live_items.c.window_id == window_id
        )
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row.item_id, set()).add(row.group_key)
    return found


def delete_groups(
    connection: Connection, groups: Collection[str], *, tenant_id: str, memory_id: str
) -> None:
    """Lay a deletion over statements; those that lie under one stay there."""
    rows = [
        {"group_key": key, "tenant_id": tenant_id, "memory_id": memory_id} for key in sorted(groups)
    ]
    insert_missing(connection, deleted_groups, rows)


def restore_groups(
    connection: Connection, groups: Collection[str], *, tenant_id: str, memory_id: str
) -> int:
    """Take a deletion from statements, and from all that the memory's name lies over; how many."""
    mine = deleted_groups.c.tenant_id == tenant_id
    restored = connection.execute(
        delete(deleted_groups).where(mine, deleted_groups.c.memory_id == memory_id)
    ).rowcount
    for some in batched(sorted(groups)):
        restored += connection.execute(
            delete(deleted_groups).where(mine, deleted_groups.c.group_key.in_(some))
        ).rowcount
    return restored


def carry_over(
    connection: Connection, before: Mapping[str, set[str]], after: Mapping[str, set[str]]
) -> None:
    """A statement that a policy words otherwise stays deleted.

    Args:
        connection: the transaction that replaces the live items.
        before: item_id -> group keys of a window's live items.
        after: the same, from now on.
    """
    moved = {key for one, keys in before.items() if one in after for key in keys - after[one]}
    if not moved:
        return
    rows = [
        row
        for some in batched(sorted(moved))
        for row in connection.execute(
            select(deleted_groups).where(deleted_groups.c.group_key.in_(some))
        )
    ]
    for row in rows:
        for item_id, keys in before.items():
            if row.group_key in keys and item_id in after:
                delete_groups(
                    connection, after[item_id] - keys,
                    tenant_id=row.tenant_id, memory_id=row.memory_id,
                )  # fmt: skip


def deleted(connection: Connection) -> frozenset[str]:
    """Group keys under a deletion."""
    return frozenset(
        row.group_key for row in connection.execute(select(deleted_groups.c.group_key))
    )


def deletions(connection: Connection, tenant_id: str) -> list[tuple[str, str]]:
    """(memory_id, reason) of every deletion that stands, the first decided first."""
    rows = connection.execute(
        select(decisions)
        .where(decisions.c.tenant_id == tenant_id, decisions.c.action.in_([DELETE, UNDELETE]))
        .order_by(decisions.c.created_at, decisions.c.decision_id)
    )
    last = {row.about: row for row in rows}
    return [(row.about, row.reason) for row in last.values() if row.action == DELETE]


def cutoffs(connection: Connection) -> dict[tuple[str, str], datetime]:
    """Every cutoff that holds."""
    return {
        (row.tenant_id, row.memory_type): row.cutoff
        for row in connection.execute(select(retention_cutoffs))
    }


def move_cutoffs(connection: Connection, forward: Cutoffs) -> None:
    """Store cutoffs; the caller has chosen those that move forward."""
    for (tenant_id, memory_type), cutoff in sorted(forward.items()):
        row = {"tenant_id": tenant_id, "memory_type": memory_type, "cutoff": cutoff}
        upsert(connection, retention_cutoffs, row)


def windows_between(
    connection: Connection, tenant_id: str, *, after: datetime | None, before: datetime
) -> list[str]:
    """Windows of a tenant with events in that time: those that hold what has expired since.

    Args:
        connection: a transaction.
        tenant_id: whose windows.
        after: the cutoff until now; None: there was none.
        before: the cutoff from now on.
    """
    query = select(windows.c.window_id).where(
        windows.c.tenant_id == tenant_id, windows.c.ts_first < before
    )
    if after is not None:
        query = query.where(windows.c.ts_last >= after)
    return sorted(row.window_id for row in connection.execute(query))
