"""Which groups of live items are related, so that only touched components are resolved again."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, or_, select

from memclaw_etl.lake.ledger.database import batched, insert_missing
from memclaw_etl.lake.ledger.schema import live_items
from memclaw_etl.lake.ledger.schema_memories import statement_edges, statement_marks


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """Two related groups of one scope, and the rule that related them."""

    edge_id: str
    left_key: str
    right_key: str
    scope: str
    kind: str
    reason: str


def marked(connection: Connection, groups: Collection[str]) -> set[str]:
    """Those of the groups that have marks."""
    found: set[str] = set()
    for some in batched(sorted(groups)):
        rows = connection.execute(
            select(statement_marks.c.group_key)
            .where(statement_marks.c.group_key.in_(some))
            .distinct()
        )
        found.update(row.group_key for row in rows)
    return found


def sharing(connection: Connection, marks: Collection[str]) -> set[str]:
    """Groups with any of these marks."""
    found: set[str] = set()
    for some in batched(sorted(marks)):
        rows = connection.execute(
            select(statement_marks.c.group_key).where(statement_marks.c.mark.in_(some)).distinct()
        )
        found.update(row.group_key for row in rows)
    return found


def add(
    connection: Connection, marks: Mapping[str, Iterable[str]], edges: Sequence[StoredEdge]
) -> None:
    """Store the marks of new groups (group key -> marks), and the edges that they are part of."""
    rows = [{"group_key": key, "mark": mark} for key in sorted(marks) for mark in marks[key]]
    insert_missing(connection, statement_marks, rows)
    columns = StoredEdge.__dataclass_fields__
    insert_missing(
        connection,
        statement_edges,
        [{name: getattr(edge, name) for name in columns} for edge in edges],
    )


def component(connection: Connection, groups: Collection[str]) -> set[str]:
    """These groups and all that are related to them over any number of steps."""
    found, fresh = set(groups), set(groups)
    while fresh:
        near = {
            key for edge in touching(connection, fresh) for key in (edge.left_key, edge.right_key)
        }
        fresh = near - found
        found |= fresh
    return found


def touching(connection: Connection, groups: Collection[str]) -> list[StoredEdge]:
    """Edges of these groups."""
    found: list[StoredEdge] = []
    for some in batched(sorted(groups)):
        rows = connection.execute(
            select(statement_edges).where(
                or_(statement_edges.c.left_key.in_(some), statement_edges.c.right_key.in_(some))
            )
        )
        found += [StoredEdge(**row._mapping) for row in rows]
    return found


def edge(connection: Connection, edge_id: str) -> StoredEdge | None:
    """The edge with that id."""
    row = connection.execute(
        select(statement_edges).where(statement_edges.c.edge_id == edge_id)
    ).first()
    return StoredEdge(**row._mapping) if row is not None else None


def drop_dead(connection: Connection, groups: Collection[str]) -> None:
    """Remove marks and edges of those of the groups that have no live item any more."""
    for some in batched(sorted(groups)):
        rows = connection.execute(
            select(live_items.c.group_key).where(live_items.c.group_key.in_(some)).distinct()
        )
        remove(connection, set(some) - {row.group_key for row in rows})


def remove(connection: Connection, groups: Collection[str]) -> None:
    """Remove marks and edges of these groups, for whoever derives them anew."""
    for some in batched(sorted(groups)):
        connection.execute(delete(statement_marks).where(statement_marks.c.group_key.in_(some)))
        connection.execute(
            delete(statement_edges).where(
                or_(statement_edges.c.left_key.in_(some), statement_edges.c.right_key.in_(some))
            )
        )


def drop_all_dead(connection: Connection) -> None:
    """Remove marks and edges of every group that has no live item."""
    live = select(live_items.c.group_key)
    connection.execute(delete(statement_marks).where(statement_marks.c.group_key.not_in(live)))
    connection.execute(
        delete(statement_edges).where(
            or_(statement_edges.c.left_key.not_in(live), statement_edges.c.right_key.not_in(live))
        )
    )
