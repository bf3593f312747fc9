"""Nodes: registering a trail, what the planner saw of it, epochs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from memclaw_etl.errors import SettingsError
from memclaw_etl.lake.ledger.database import insert_missing
from memclaw_etl.lake.ledger.schema import nodes
from memclaw_etl.lake.ledger.values import Node


def register(connection: Connection, row: Mapping[str, Any]) -> Node:
    """Insert a node if it is new; the stored one wins.

    Raises:
        SettingsError: another node of the tenant already reads the same real path.
    """
    insert_missing(connection, nodes, [row])
    stored = get(connection, row["tenant_id"], row["node_id"])
    if stored is not None:
        return stored
    other = connection.execute(
        select(nodes.c.node_id).where(
            nodes.c.tenant_id == row["tenant_id"], nodes.c.real_path == row["real_path"]
        )
    ).scalar_one()
    raise SettingsError(
        f"two sources read the same file: node {other} and node {row['node_id']}"
        f" both at {row['real_path']}; remove one of the sources (if these are two machines, or one"
        " whose id has changed: give both one MEMCLAW_MACHINE_ID where they see the same files)"
    )


def is_of(node: Node, machine12: str | None) -> bool:
    """Whether a node's trail is seen by that machine (None: there is only one machine).

    Node ids of trails name it: `<kind>:<machine12>:...`.
    """
    return machine12 is None or f":{machine12}:" in node.node_id


def get(connection: Connection, tenant_id: str, node_id: str) -> Node | None:
    """One node, or None."""
    row = connection.execute(
        select(nodes).where(nodes.c.tenant_id == tenant_id, nodes.c.node_id == node_id)
    ).one_or_none()
    return Node(**row._mapping) if row is not None else None


def lock(connection: Connection, tenant_id: str, node_id: str) -> Node | None:
    """One node, held against every other transaction that changes or locks it, until the end.

    What is read after this is what those transactions left (SQLite has one writer anyway).
    """
    row = connection.execute(
        select(nodes)
        .where(nodes.c.tenant_id == tenant_id, nodes.c.node_id == node_id)
        .with_for_update()
    ).one_or_none()
    return Node(**row._mapping) if row is not None else None


def all_nodes(connection: Connection, *, tenant_id: str | None = None) -> list[Node]:
    """Every node, ordered by tenant and id."""
    query = select(nodes).order_by(nodes.c.tenant_id, nodes.c.node_id)
    if tenant_id is not None:
        query = query.where(nodes.c.tenant_id == tenant_id)
    return [Node(**row._mapping) for row in connection.execute(query)]


def change(connection: Connection, node: Node, **values: Any) -> None:  # noqa: ANN401 - column values
    """Overwrite droppable columns of a node (what was seen, problems)."""
    connection.execute(
        update(nodes)
        .where(nodes.c.tenant_id == node.tenant_id, nodes.c.node_id == node.node_id)
        .values(**values)
    )


def move_frontier(connection: Connection, node: Node, **values: Any) -> bool:  # noqa: ANN401 - column values
    """Compare-and-set: move the frontier only if it still is where `node` says.

    Returns False when another planner was faster; nothing was changed then.
    """
    changed = connection.execute(
        update(nodes)
        .where(
            nodes.c.tenant_id == node.tenant_id,
            nodes.c.node_id == node.node_id,
            nodes.c.epoch == node.epoch,
            nodes.c.frontier_seq == node.frontier_seq,
            nodes.c.frontier_part == node.frontier_part,
            nodes.c.frontier_byte == node.frontier_byte,
        )
        .values(**values)
    )
    return changed.rowcount == 1


def open_epoch(connection: Connection, node: Node, *, now: datetime, why: str) -> bool:
    """Start the node's next epoch at seq 0, because its trail was rewritten or rotated.

    Compare-and-set like `move_frontier`. `why` is shown in `status` and carries no trail text.
    """
    return move_frontier(
        connection,
        node,
        epoch=node.epoch + 1,
        frontier_seq=0,
        frontier_part=0,
        frontier_byte=0,
        frontier_open=False,
        decoder_state={},
        head_hash=None,
        tail_hash=None,
        head_seq=None,
        settled=False,
        still_since=now,
        problem_code="rewritten",
        problem=why,
    )
