"""Where every node stands."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import (
    Node,
    Stage,
    Window,
    WindowState,
    commit,
    nodes,
    results,
    windows,
)
from memclaw_etl.stages.bench import Bench


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node's numbers; counts are of the node's current epoch, `last_seq` None if never done.

    `held` windows are committed ahead of a gap: recallable, only the watermark waits.
    `failed` windows failed in their last try and are tried again by themselves.
    """

    tenant_id: str
    node_id: str
    source: str
    path: str
    epoch: int
    last_seq: int | None
    head_seq: int | None
    lag: int
    committed: int
    held: int
    owed: int
    failed: int
    quarantined: int
    skipped: int
    items: int
    masked_spans: int
    noise_lines: int
    quarantined_lines: int
    last_interview_at: datetime | None
    problem_code: str | None
    problem: str | None
    unknown: dict[str, int]


def status(bench: Bench, *, tenant_id: str | None = None) -> list[NodeStatus]:
    """Every node's status, ordered by tenant and node id."""
    with bench.ledger.read() as tx:
        return [_status(tx, node) for node in nodes.all_nodes(tx, tenant_id=tenant_id)]


def status_of(bench: Bench, chosen: Collection[tuple[str, str]]) -> list[NodeStatus]:
    """The status of some nodes, given as (tenant id, node id)."""
    with bench.ledger.read() as tx:
        found = [nodes.get(tx, tenant_id, node_id) for tenant_id, node_id in sorted(chosen)]
        return [_status(tx, node) for node in found if node is not None]


def _status(tx: Connection, node: Node) -> NodeStatus:
    ordered = windows.of_node(tx, node.tenant_id, node.node_id, node.epoch)
    frontier = commit.frontier_of(ordered)
    stored = commit.watermark(tx, node.tenant_id, node.node_id, node.epoch)
    last_seq = stored.last_seq if stored else None
    ids = [window.window_id for window in ordered]
    masked = results.current(tx, ids, Stage.MASKED_CHUNKS).values()
    items = results.current(tx, ids, Stage.MERGED_REPORT).values()
    states = Counter(window.state for window in ordered)
    return NodeStatus(
        tenant_id=node.tenant_id,
        node_id=node.node_id,
        source=node.kind,
        path=node.path,
        epoch=node.epoch,
        last_seq=last_seq,
        head_seq=node.head_seq,
        lag=_lag(last_seq, node.head_seq),
        committed=states[WindowState.COMMITTED],
        held=frontier.held,
        owed=states[WindowState.PINNED],
        failed=sum(_is_failed(window) for window in ordered),
        quarantined=states[WindowState.QUARANTINED] + states[WindowState.REWRITTEN],
        skipped=states[WindowState.SKIPPED],
        items=sum(file.row_count for file in items),
        masked_spans=sum(int(file.counts["masked_spans"]) for file in masked),
        noise_lines=sum(window.noise_lines for window in ordered),
        quarantined_lines=sum(window.quarantined_lines for window in ordered),
        last_interview_at=stored.last_interview_at if stored else None,
        problem_code=node.problem_code,
        problem=node.problem,
        unknown=dict(node.unknown or {}),
    )


def _lag(last_seq: int | None, head_seq: int | None) -> int:
    """Lines that are not covered by the watermark yet."""
    if head_seq is None:
        return 0
    return max(head_seq - (last_seq if last_seq is not None else -1), 0)


def _is_failed(window: Window) -> bool:
    return window.state is WindowState.PINNED and window.error_code is not None
