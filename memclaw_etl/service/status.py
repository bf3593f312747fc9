"""Where every node stands."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import (
    Node,
    Stage,
    StageFile,
    Watermark,
    Window,
    WindowState,
    commit,
    nodes,
    results,
    windows,
)
from memclaw_etl.stages.bench import Bench
from memclaw_etl.trails.events import unknown_of


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
    llm_tokens: int
    llm_cost: float
    noise_lines: int
    quarantined_lines: int
    last_interview_at: datetime | None
    problem_code: str | None
    problem: str | None
    unknown: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the ledger holds, by node and epoch or by window."""

    windows: Mapping[tuple[str, str, int], Sequence[Window]]
    watermarks: Mapping[tuple[str, str, int], Watermark]
    masked: Mapping[str, StageFile]
    reports: Mapping[str, StageFile]
    items: Mapping[str, StageFile]


def status(bench: Bench, *, tenant_id: str | None = None) -> list[NodeStatus]:
    """Every node's status, ordered by tenant and node id."""
    with bench.ledger.read() as tx:
        every = nodes.all_nodes(tx, tenant_id=tenant_id)
        known = _known(tx, windows.all_windows(tx))
    return [_status(node, known) for node in every]


def status_of(bench: Bench, chosen: Collection[tuple[str, str]]) -> list[NodeStatus]:
    """The status of some nodes, given as (tenant id, node id)."""
    with bench.ledger.read() as tx:
        found = [nodes.get(tx, tenant_id, node_id) for tenant_id, node_id in sorted(chosen)]
        present = [node for node in found if node is not None]
        known = _known(
            tx,
            [
                window
                for node in present
                for window in windows.of_node(tx, node.tenant_id, node.node_id, node.epoch)
            ],
        )
    return [_status(node, known) for node in present]


def _known(tx: Connection, every: Sequence[Window]) -> _Known:
    by_epoch: defaultdict[tuple[str, str, int], list[Window]] = defaultdict(list)
    for window in every:
        by_epoch[window.tenant_id, window.node_id, window.epoch].append(window)
    ids = [window.window_id for window in every]
    return _Known(
        windows=by_epoch,
        watermarks=commit.all_watermarks(tx),
        masked=results.current(tx, ids, Stage.MASKED_CHUNKS),
        reports=results.current(tx, ids, Stage.MINI_REPORTS),
        items=results.current(tx, ids, Stage.MERGED_REPORT),
    )


def _status(node: Node, known: _Known) -> NodeStatus:
    key = (node.tenant_id, node.node_id, node.epoch)
    ordered = known.windows.get(key, ())
    stored = known.watermarks.get(key)
    last_seq = stored.last_seq if stored else None
    states = Counter(window.state for window in ordered)
    masked = [known.masked[one.window_id] for one in ordered if one.window_id in known.masked]
    items = [known.items[one.window_id] for one in ordered if one.window_id in known.items]
    said = [known.reports[one.window_id] for one in ordered if one.window_id in known.reports]
    asked = [*said, *items]  # a model may help with the merge, too
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
        held=commit.frontier_of(ordered).held,
        owed=states[WindowState.PINNED],
        failed=sum(_is_failed(window) for window in ordered),
        quarantined=states[WindowState.QUARANTINED] + states[WindowState.REWRITTEN],
        skipped=states[WindowState.SKIPPED],
        items=sum(file.row_count for file in items),
        masked_spans=sum(int(file.counts["masked_spans"]) for file in masked),
        llm_tokens=sum(int(file.counts.get("llm_tokens", 0)) for file in asked),
        llm_cost=round(sum(float(file.counts.get("llm_cost", 0)) for file in asked), 6),
        noise_lines=sum(window.noise_lines for window in ordered),
        quarantined_lines=sum(window.quarantined_lines for window in ordered),
        last_interview_at=stored.last_interview_at if stored else None,
        problem_code=node.problem_code,
        problem=node.problem,
        unknown=_unknown(node, ordered),
    )


def _unknown(node: Node, ordered: Sequence[Window]) -> dict[str, int]:
    """What no rule knows, in the node's windows; what only waits for a window yet, too."""
    pinned: Counter[str] = Counter()
    for window in ordered:
        pinned.update(unknown_of(window.noise))
    return {**(node.unknown or {}), **pinned}


def _lag(last_seq: int | None, head_seq: int | None) -> int:
    """Lines that are not covered by the watermark yet."""
    if head_seq is None:
        return 0
    return max(head_seq - (last_seq if last_seq is not None else -1), 0)


def _is_failed(window: Window) -> bool:
    return window.state is WindowState.PINNED and window.error_code is not None
