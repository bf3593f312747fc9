"""What resolving decided about statements, and what people decided about that."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import (
    decisions,
    governance,
    results,
    shown,
    statements,
    tombstones,
    windows,
)
from memclaw_etl.lake.ledger.statements import StoredEdge
from memclaw_etl.memories.catalogue import memory_by_id
from memclaw_etl.memories.items import group_key, scopes_prefix
from memclaw_etl.service.forgetting import finish_forgets
from memclaw_etl.service.grants import Grant
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.remember import live_items, remember, rulings

_OUTCOMES = {
    "same": "joined (NOOP)",
    "update": "replaced (UPDATE)",
    "invalidate": "contradicted (INVALIDATE)",
}


DELETED = "deleted by a person"


@dataclass(frozen=True, slots=True)
class Ruling:
    """One decision: of resolving about two statements, or of a person about a memory, and why.

    A deletion is named by the memory's id: `undelete` takes it back, not `undo`.
    """

    decision_id: str
    scope: str
    outcome: str
    reason: str
    statements: tuple[str, ...]
    """Masked texts; the order says nothing about time. None when the memory is no more."""
    undone: bool


def decided(bench: Bench, grant: Grant) -> list[Ruling]:
    """Every decision between live statements that the grant shows, and deletions that stand."""
    finish_forgets(bench)
    prefix = scopes_prefix(grant.tenant_id)
    with bench.ledger.read() as tx:
        scopes = (
            results.scopes(tx, prefix)
            if grant.namespaces is None
            else [prefix + namespace for namespace in grant.namespaces]
        )
        found = shown.edges(tx, scopes)
        undone = tombstones.undone(tx)
    keys = {key for edge in found for key in (edge.left_key, edge.right_key)}
    forgets = rulings(bench).forgets
    text_of = {
        group_key(item): item.content for item in live_items(bench, keys) if not forgets(item)
    }
    return [
        _ruling(edge, text_of, is_undone=edge.edge_id in undone)
        for edge in found
        if edge.left_key in text_of and edge.right_key in text_of
    ] + list(_deletions(bench, grant))


def _deletions(bench: Bench, grant: Grant) -> Iterator[Ruling]:
    """Memories that people deleted; to a reader of some namespaces only theirs."""
    tenant_id, namespaces = grant.tenant_id, grant.namespaces
    with bench.ledger.read() as tx:
        found = governance.deletions(tx, tenant_id)
    for memory_id, reason in found:
        memory = memory_by_id(bench.index, memory_id, tenant_id=tenant_id, namespaces=namespaces)
        if memory is not None or namespaces is None:
            yield Ruling(
                decision_id=memory_id,
                scope=scopes_prefix(tenant_id) + (memory.namespace if memory else ""),
                outcome=DELETED,
                reason=reason,
                statements=(memory.content,) if memory else (),
                undone=False,
            )


def _ruling(edge: StoredEdge, text_of: dict[str, str], *, is_undone: bool) -> Ruling:
    return Ruling(
        decision_id=edge.edge_id,
        scope=edge.scope,
        outcome=_OUTCOMES[edge.kind],
        reason=edge.reason,
        statements=(text_of[edge.left_key], text_of[edge.right_key]),
        undone=is_undone,
    )


FORGOTTEN = (
    "that memory was forgotten, and a forget cannot be undone: what it rests on never makes a"
    " memory again"
)


def undo(
    bench: Bench, decision_id: str, *, tenant_id: str, reason: str, actor: str, back: bool = False
) -> int:
    """Let two statements stand side by side, for good; with `back`, take that back.

    Returns how many memories changed. It holds for these two texts in every re-run and rebuild.

    Raises:
        UsageError: the tenant has no such decision.
        HomeMismatchError: the index cannot be written as it is; nothing was changed.
        BusyError: a run kept writing memories; what was decided is kept, the next run applies it.
    """
    _ = bench.index
    with bench.ledger.write() as tx:
        edge = statements.edge(tx, decision_id)
        if edge is None or not edge.scope.startswith(scopes_prefix(tenant_id)):
            is_forgotten = tombstones.is_forgotten(tx, tenant_id, decision_id)
            why = FORGOTTEN if is_forgotten else "`memclaw-etl decisions` lists them"
            raise UsageError(f"there is no decision {decision_id}: {why}")
        action = tombstones.REDO if back else tombstones.UNDO
        decisions.record(
            tx, decision_id, action=action, tenant_id=tenant_id, reason=reason, actor=actor,
            now=bench.ledger.now(),
        )  # fmt: skip
        ids = results.windows_of_groups(tx, [edge.left_key, edge.right_key])
        results.touch(tx, ids)
        touched = windows.by_ids(tx, ids)
    totals = remember(bench, touched, run_id=f"undo-{uuid.uuid4().hex}", batch_id=None).totals
    return sum(totals.get(name, 0) for name in ("added", "updated", "deleted"))
