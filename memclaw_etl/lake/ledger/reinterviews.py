"""Committed windows whose new interview failed: they keep their old report.

A target names what the new report was to be made by. After a few attempts a window is left alone
until the target changes, so that a backfill does not pay for it every night.
"""

from datetime import datetime

from sqlalchemy import Connection, select

from memclaw_etl.lake.ledger.database import upsert
from memclaw_etl.lake.ledger.schema_models import reinterviews


def count_failure(
    connection: Connection, window_id: str, target: str, *, code: str, now: datetime
) -> int:
    """Count an attempt; returns how many there were."""
    attempts = attempts_of(connection, target).get(window_id, 0) + 1
    row = {
        "window_id": window_id,
        "target": target,
        "attempts": attempts,
        "error_code": code,
        "failed_at": now,
    }
    upsert(connection, reinterviews, row)
    return attempts


def attempts_of(connection: Connection, target: str) -> dict[str, int]:
    """window_id -> failed attempts at this target."""
    rows = connection.execute(
        select(reinterviews.c.window_id, reinterviews.c.attempts).where(
            reinterviews.c.target == target
        )
    )
    return {row.window_id: row.attempts for row in rows}
