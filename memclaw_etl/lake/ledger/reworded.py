"""Relations that a person undid stay undone when a statement gets other words.

A relation is named by its two texts, so that the decision holds in every re-run. When a policy or a
newer masker words one of them otherwise, the decision is copied to the new pair; the old one stays,
since the old words may come back.
"""

import uuid
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, select

from memclaw_etl.lake.ledger import statements, tombstones
from memclaw_etl.lake.ledger.database import insert_all
from memclaw_etl.lake.ledger.identifiers import relation_id
from memclaw_etl.lake.ledger.schema import decisions
from memclaw_etl.lake.ledger.statements import StoredEdge


def carry_undone(
    connection: Connection, before: Mapping[str, set[str]], after: Mapping[str, set[str]]
) -> None:
    """Copy what was undone to the pairs that take the places of old ones.

    Args:
        connection: the transaction that replaces the live items.
        before: item_id -> group keys of a window's live items.
        after: the same, from now on.
    """
    moved: dict[str, set[str]] = {}
    for item_id in before.keys() & after.keys():
        for key in before[item_id] - after[item_id]:
            moved.setdefault(key, set()).update(after[item_id])
    if not moved:
        return
    undone = tombstones.undone(connection)
    for edge in statements.touching(connection, moved):
        if edge.edge_id in undone:
            for new in _in_new_words(edge, moved):
                if new.edge_id not in undone:
                    _copy_decision(connection, edge.edge_id, new.edge_id)
                    statements.add(connection, {}, [new])


def _in_new_words(edge: StoredEdge, moved: Mapping[str, set[str]]) -> Iterator[StoredEdge]:
    """The pairs that say now what these two said."""
    for one in sorted(moved.get(edge.left_key, {edge.left_key})):
        for other in sorted(moved.get(edge.right_key, {edge.right_key})):
            if one != other:
                left, right = sorted((one, other))
                name = relation_id(left, right)
                yield StoredEdge(name, left, right, edge.scope, edge.kind, edge.reason)


def _copy_decision(connection: Connection, old: str, new: str) -> None:
    """The last decision about a relation, about another one as well: same person, reason, time."""
    last = connection.execute(
        select(decisions)
        .where(decisions.c.about == old)
        .order_by(decisions.c.created_at.desc(), decisions.c.decision_id.desc())
        .limit(1)
    ).one()
    row = {**last._mapping, "decision_id": uuid.uuid4().hex, "about": new}
    insert_all(connection, decisions, [row])
