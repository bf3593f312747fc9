"""What people decided, recorded with reason and actor; and what they decide about windows."""

import uuid
from datetime import datetime

from sqlalchemy import Connection, select

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import commit, leases, pins
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.lake.ledger.database import insert_all
from memclaw_etl.lake.ledger.schema import decisions
from memclaw_etl.lake.ledger.values import Window, WindowState

_SKIPPABLE = (
    WindowState.PINNED,
    WindowState.QUARANTINED,
    WindowState.PAUSED,
    WindowState.REWRITTEN,
)


def _record(
    connection: Connection, window: Window, *, action: str, reason: str, actor: str, now: datetime
) -> None:
    record(
        connection, window.partition_key, action=action, tenant_id=window.tenant_id,
        reason=reason, actor=actor, now=now,
    )  # fmt: skip


def skip(connection: Connection, window: Window, *, reason: str, actor: str, now: datetime) -> None:
    """Record a permanent hole that the watermark may cross. A later success closes it.

    Raises:
        UsageError: the window is done already, or a live run works on it.
    """
    leases.drop_dead(connection, now=now)
    if leases.is_held(connection, leases.window_lease(window.window_id)):
        raise UsageError(f"window {window.partition_key} is being worked on; wait for its run")
    moved = window_table.set_state(
        connection,
        [window.window_id],
        WindowState.SKIPPED,
        only_from=_SKIPPABLE,
        reason=reason,
    )
    if not moved:
        raise UsageError(f"window {window.partition_key} is {window.state}; nothing to skip")
    pins.pass_on_claims(connection, moved)
    _record(connection, window, action="skip", reason=reason, actor=actor, now=now)
    commit.advance_all(connection, [window], now=now)


def retry(connection: Connection, window: Window, *, actor: str, now: datetime) -> None:
    """Ask for a quarantined, paused or waiting window again, with fresh attempts.

    Raises:
        UsageError: the window is in another state.
    """
    if not window_table.ask_again(connection, [window.window_id]):
        raise UsageError(
            f"window {window.partition_key} is {window.state}; only quarantined, paused and"
            " waiting windows can be asked for again"
        )
    _record(connection, window, action="retry", reason="", actor=actor, now=now)


def record(
    connection: Connection,
    about: str,
    *,
    action: str,
    tenant_id: str,
    reason: str,
    actor: str,
    now: datetime,
) -> None:
    """Append to the audit trail of decisions.

    Args:
        connection: the transaction of the decision itself.
        about: partition key of a window, id of a memory or of a relation.
        action: what was decided.
        tenant_id: whose it is.
        reason: why.
        actor: who decided.
        now: when.
    """
    row = {
        "decision_id": uuid.uuid4().hex, "tenant_id": tenant_id, "about": about,
        "action": action, "reason": reason, "actor": actor, "created_at": now,
    }  # fmt: skip
    insert_all(connection, decisions, [row])


def about(connection: Connection, partition_key: str) -> list[tuple[str, str, str, datetime]]:
    """(action, reason, actor, time) of the decisions about a window, oldest first."""
    rows = connection.execute(
        select(decisions).where(decisions.c.about == partition_key).order_by(decisions.c.created_at)
    )
    return [(row.action, row.reason, row.actor, row.created_at) for row in rows]
