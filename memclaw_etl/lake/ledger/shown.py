"""Which rows of the ledger a tenant, or a reader of some of its namespaces, is shown.

A table without a rule here is shown to nobody but the operator, who asks for everything.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from memclaw_etl.lake.ledger.database import batched
from memclaw_etl.lake.ledger.schema import (
    batch_windows,
    batches,
    decisions,
    live_items,
    metadata,
    nodes,
    stage_files,
    watermarks,
    windows,
)
from memclaw_etl.lake.ledger.schema_governance import governed_items, retention_cutoffs
from memclaw_etl.lake.ledger.schema_memories import statement_edges
from memclaw_etl.lake.ledger.schema_models import reinterviews
from memclaw_etl.lake.ledger.statements import StoredEdge
from memclaw_etl.lake.ledger.values import Stage, WindowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some namespaces of a tenant, in every form in which the ledger knows them.

    A window belongs to a namespace by its project folder and today's path table. Its live items
    carry the namespace that they were made with: a window that holds items of another one (the
    table was changed since) is not shown.
    """

    namespaces: frozenset[str]
    scopes: frozenset[str]
    """As `live_items` names them (`memories.items.scope_of`)."""
    projects: frozenset[str]
    """Project folders that belong to these namespaces today."""
    without_project: bool
    """Whether windows that name no folder belong to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A tenant, or a part of it."""

    tenant_id: str
    part: Part | None = None


def condition(table: str, shown: Shown) -> ColumnElement[bool]:
    """Which rows of a ledger table are shown.

    Raises:
        KeyError: the table is not shown at all.
    """
    return _rules(shown)[table](shown)


def tables(shown: Shown) -> tuple[str, ...]:
    """The tables of which any rows are shown."""
    return tuple(_rules(shown))


def _rules(shown: Shown) -> Mapping[str, "_Rule"]:
    return _OF_TENANT if shown.part is None else _OF_PART


def columns(table: str, shown: Shown) -> tuple[str, ...]:
    """Which columns of a ledger table are shown.

    Whoever may see a part of a node is not told what stands in the rest of it: what the decoder
    carries from window to window, how far the trail goes, what is wrong with it.
    """
    every = tuple(metadata.tables[table].columns.keys())
    if shown.part is None:
        return every
    if table == "nodes":
        return _OF_SHARED_NODE
    return tuple(name for name in every if name != "decoder_state")


def projects(connection: Connection, tenant_id: str) -> set[str | None]:
    """Every project folder that windows of the tenant name; None stands for none."""
    rows = connection.execute(
        select(windows.c.project).where(windows.c.tenant_id == tenant_id).distinct()
    )
    return {row.project for row in rows}


def has_scope(connection: Connection, scope: str) -> bool:
    """Whether any live item is of that scope."""
    found = select(live_items.c.scope).where(live_items.c.scope == scope).limit(1)
    return connection.execute(found).first() is not None


def tenants(connection: Connection) -> set[str]:
    """Every tenant that has a node."""
    return {row.tenant_id for row in connection.execute(select(nodes.c.tenant_id).distinct())}


def paths(connection: Connection, tenant_id: str, chosen: Collection[str]) -> dict[str, str]:
    """Paths of the trails of those of the tenant's nodes, by node id."""
    found: dict[str, str] = {}
    for some in batched(sorted(chosen)):
        rows = connection.execute(
            select(nodes.c.node_id, nodes.c.path).where(
                nodes.c.tenant_id == tenant_id, nodes.c.node_id.in_(some)
            )
        )
        found.update({row.node_id: row.path for row in rows})
    return found


def has_node(connection: Connection, shown: Shown, node_id: str) -> bool:
    """Whether that node is shown."""
    rule = condition("nodes", shown)
    found = select(nodes.c.node_id).where(rule, nodes.c.node_id == node_id)
    return connection.execute(found).first() is not None


def node_ids(connection: Connection, shown: Shown) -> set[str]:
    """Ids of the nodes that are shown."""
    rule = condition("nodes", shown)
    return {row.node_id for row in connection.execute(select(nodes.c.node_id).where(rule))}


def partition_keys(connection: Connection, shown: Shown, keys: Collection[str]) -> set[str]:
    """Those of the windows that are shown."""
    rule = condition("windows", shown)
    found: set[str] = set()
    for some in batched(sorted(keys)):
        rows = connection.execute(
            select(windows.c.partition_key).where(rule, windows.c.partition_key.in_(some))
        )
        found.update(row.partition_key for row in rows)
    return found


def files(connection: Connection, stage: Stage, shown: Shown | None) -> list[tuple[str, str]]:
    """(path, partition key) of a stage's current files whose windows are shown; None: of all."""
    query = (
        select(stage_files.c.path, windows.c.partition_key)
        .join(windows, windows.c.window_id == stage_files.c.window_id)
        .where(stage_files.c.stage == stage, stage_files.c.path != "")
        .order_by(stage_files.c.path)
    )
    rule = condition("windows", shown) if shown is not None else None
    rows = connection.execute(query if rule is None else query.where(rule))
    return [(row.path, row.partition_key) for row in rows]


def edges(connection: Connection, scopes: Collection[str]) -> list[StoredEdge]:
    """Every decision about statements of these scopes, by scope."""
    rows = connection.execute(
        select(statement_edges)
        .where(statement_edges.c.scope.in_(sorted(scopes)))
        .order_by(statement_edges.c.scope, statement_edges.c.edge_id)
    )
    return [StoredEdge(**row._mapping) for row in rows]


def _windows_of_part(shown: Shown) -> ColumnElement[bool]:
    part = shown.part
    if part is None:
        return windows.c.tenant_id == shown.tenant_id
    fits = [windows.c.project.in_(sorted(part.projects))]
    if part.without_project:
        fits.append(windows.c.project.is_(None))
    foreign = select(live_items.c.window_id).where(
        live_items.c.window_id == windows.c.window_id,
        live_items.c.scope.not_in(sorted(part.scopes)),
    )
    return and_(windows.c.tenant_id == shown.tenant_id, or_(*fits), ~foreign.exists())


def _nodes_of_part(shown: Shown) -> ColumnElement[bool]:
    ids = select(windows.c.node_id).where(_windows_of_part(shown))
    return and_(nodes.c.tenant_id == shown.tenant_id, nodes.c.node_id.in_(ids))


def _watermarks_of_part(shown: Shown) -> ColumnElement[bool]:
    """Of nodes whose windows are all shown: another one's would tell how far the rest of it goes.

    Stretches without any event name no project, and belong to whatever stands around them.
    """
    mine = select(windows.c.window_id).where(_windows_of_part(shown))
    is_mine = windows.c.window_id.in_(mine)
    own = select(windows.c.node_id).where(is_mine)
    foreign = select(windows.c.node_id).where(
        windows.c.tenant_id == shown.tenant_id, ~is_mine, windows.c.state != WindowState.NOISE
    )
    return and_(
        watermarks.c.tenant_id == shown.tenant_id,
        watermarks.c.node_id.in_(own),
        watermarks.c.node_id.not_in(foreign),
    )


def _batches_of_tenant(shown: Shown) -> ColumnElement[bool]:
    """Batches of the tenant's windows alone: the counts of a shared one are of others, too."""
    members = select(batch_windows.c.batch_id).join(
        windows, windows.c.window_id == batch_windows.c.window_id
    )
    own = members.where(windows.c.tenant_id == shown.tenant_id)
    foreign = members.where(windows.c.tenant_id != shown.tenant_id)
    return and_(batches.c.batch_id.in_(own), batches.c.batch_id.not_in(foreign))


def _reinterviews_of_tenant(shown: Shown) -> ColumnElement[bool]:
    own = select(windows.c.window_id).where(windows.c.tenant_id == shown.tenant_id)
    return reinterviews.c.window_id.in_(own)


_OF_SHARED_NODE = (
    "tenant_id", "node_id", "kind", "path", "file_session", "fleet_id", "agent_id", "epoch",
    "created_at",
)  # fmt: skip
_Rule = Callable[[Shown], ColumnElement[bool]]
_OF_PART: Mapping[str, _Rule] = {
    "nodes": _nodes_of_part,
    "windows": _windows_of_part,
    "watermarks": _watermarks_of_part,
}
_OF_TENANT: Mapping[str, _Rule] = {
    "nodes": lambda shown: nodes.c.tenant_id == shown.tenant_id,
    "windows": _windows_of_part,
    "watermarks": lambda shown: watermarks.c.tenant_id == shown.tenant_id,
    "batches": _batches_of_tenant,
    "decisions": lambda shown: decisions.c.tenant_id == shown.tenant_id,
    "reinterviews": _reinterviews_of_tenant,
    "governed_items": lambda shown: governed_items.c.tenant_id == shown.tenant_id,
    "retention_cutoffs": lambda shown: retention_cutoffs.c.tenant_id == shown.tenant_id,
}
