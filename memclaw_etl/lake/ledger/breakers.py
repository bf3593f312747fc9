"""Breakers: one per resource that failed. While it is open, one window at a time probes it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select

from memclaw_etl.lake.ledger.database import upsert
from memclaw_etl.lake.ledger.schema import breakers, windows
from memclaw_etl.lake.ledger.values import WindowState


def trip(
    connection: Connection,
    resource: str,
    *,
    now: datetime,
    delay_s: float,
    delay_max_s: float,
    not_before: datetime | None = None,
) -> datetime:
    """Open the breaker, or keep it open for twice as long; returns when it may be probed.

    `not_before`: when the resource itself says that it can be had again, if it does.
    """
    stored = connection.execute(
        select(breakers).where(breakers.c.resource == resource)
    ).one_or_none()
    if stored is not None and stored.probe_at > now:
        story_so_far: datetime = stored.probe_at  # other windows of one batch tell the same
        return story_so_far
    failures = (stored.failures if stored is not None else 0) + 1
    delay = min(delay_s * 2.0 ** min(failures - 1, 30), delay_max_s)
    probe_at = not_before or now + timedelta(seconds=delay)
    upsert(
        connection,
        breakers,
        {
            "resource": resource,
            "failures": failures,
            "opened_at": stored.opened_at if stored is not None else now,
            "probe_at": probe_at,
        },
    )
    return probe_at


def close(connection: Connection, resources: Sequence[str]) -> None:
    """The resource works: everything that waits for it is owed again."""
    if not resources:
        return
    connection.execute(delete(breakers).where(breakers.c.resource.in_(resources)))
    connection.execute(
        windows.update()
        .where(windows.c.waits_for.in_(resources), windows.c.state == WindowState.PINNED)
        .values(waits_for=None, not_before=None)
    )


def open_resources(connection: Connection) -> dict[str, datetime]:
    """Resource -> when it is probed next."""
    return {row.resource: row.probe_at for row in connection.execute(select(breakers))}
