"""The commit: windows become committed and the watermark moves, in one transaction.

The watermark of a node's epoch is the end of the contiguous run of windows from its start that are
committed, skipped or noise. It only moves forward. A window committed ahead of a gap is *held*: its
memories are recallable, only the watermark waits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, update

from memclaw_etl.errors import LeaseLostError
from memclaw_etl.lake.ledger import breakers, leases, nodes
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.lake.ledger.database import upsert
from memclaw_etl.lake.ledger.identifiers import watermark_doc_id
from memclaw_etl.lake.ledger.leases import window_lease
from memclaw_etl.lake.ledger.schema import watermarks, windows
from memclaw_etl.lake.ledger.values import PASSABLE, Watermark, Window, WindowState


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far a node's epoch is done."""

    last_seq: int | None
    """Highest seq below which everything is done; None when nothing is."""
    held: int
    """Windows that are committed ahead of a gap."""


def commit(
    connection: Connection, done: Sequence[Window], *, run_id: str, now: datetime
) -> list[str]:
    """Commit windows whose lease this run holds, move the watermarks, give the leases back.

    Returns the ids of the windows that were committed now (not those that already were).

    Raises:
        LeaseLostError: a lease is no longer this run's; nothing was committed.
    """
    names = [window_lease(window.window_id) for window in done]
    leases.keep(connection, names, run_id=run_id)
    mine = leases.held(connection, names, run_id=run_id)
    lost = [window for window in done if window_lease(window.window_id) not in mine]
    if lost:
        raise LeaseLostError(
            f"run {run_id} lost the lease of {len(lost)} windows, first {lost[0].partition_key};"
            " another run has them now",
            resource="lease",
        )
    committed = [window for window in done if window.state is not WindowState.COMMITTED]
    for window in committed:
        connection.execute(
            update(windows)
            .where(windows.c.window_id == window.window_id)
            .values(
                state=WindowState.COMMITTED, committed_at=now, not_before=None, error_code=None,
                error=None, failed_stage=None, asked_until=None, waits_for=None,
            )
        )  # fmt: skip
    breakers.close(connection, [window.waits_for for window in committed if window.waits_for])
    advance_all(connection, committed, now=now)
    leases.release(connection, names, run_id=run_id)
    return [window.window_id for window in committed]


def advance_all(connection: Connection, changed: Iterable[Window], *, now: datetime) -> None:
    """Move the watermark of every node epoch that the windows belong to."""
    for tenant_id, node_id, epoch in sorted(
        {(window.tenant_id, window.node_id, window.epoch) for window in changed}
    ):
        advance(connection, tenant_id, node_id, epoch, now=now)


def advance(
    connection: Connection, tenant_id: str, node_id: str, epoch: int, *, now: datetime
) -> Frontier:
    """Move one watermark to its frontier, forward only.

    One at a time for a node: two commits that do not see each other would both stop short of what
    they finished together.
    """
    node = nodes.lock(connection, tenant_id, node_id)
    frontier = frontier_of(window_table.of_node(connection, tenant_id, node_id, epoch))
    stored = watermark(connection, tenant_id, node_id, epoch)
    if frontier.last_seq is None or (stored and stored.last_seq >= frontier.last_seq):
        return frontier
    upsert(
        connection,
        watermarks,
        {
            "tenant_id": tenant_id,
            "node_id": node_id,
            "epoch": epoch,
            "doc_id": watermark_doc_id(node_id),
            "agent_id": node.agent_id if node else None,
            "last_seq": frontier.last_seq,
            "last_interview_at": now,
        },
    )
    return frontier


def frontier_of(ordered: Sequence[Window]) -> Frontier:
    """The frontier of windows in trail order (pure)."""
    last: int | None = None
    for position, window in enumerate(ordered):
        if window.state not in PASSABLE or not _follows(ordered, position):
            held = sum(one.state is WindowState.COMMITTED for one in ordered[position:])
            return Frontier(last_seq=last, held=held)
        last = window.cursor_to
    return Frontier(last_seq=last, held=0)


def _follows(ordered: Sequence[Window], position: int) -> bool:
    """Whether a window starts where the one before it ended."""
    window = ordered[position]
    if position == 0:
        return window.cursor_from == 0 and window.from_part == 0
    before = ordered[position - 1]
    if window.cursor_from == before.cursor_to:
        return before.ends_open and window.from_part == before.end_part
    return window.cursor_from == before.cursor_to + 1


def watermark(connection: Connection, tenant_id: str, node_id: str, epoch: int) -> Watermark | None:
    """The stored watermark, or None for a node that was never interviewed."""
    row = connection.execute(
        select(watermarks).where(
            watermarks.c.tenant_id == tenant_id,
            watermarks.c.node_id == node_id,
            watermarks.c.epoch == epoch,
        )
    ).one_or_none()
    return Watermark(**row._mapping) if row is not None else None


def all_watermarks(connection: Connection) -> dict[tuple[str, str, int], Watermark]:
    """Every watermark, by tenant, node and epoch."""
    rows = connection.execute(select(watermarks))
    found = [Watermark(**row._mapping) for row in rows]
    return {(one.tenant_id, one.node_id, one.epoch): one for one in found}
