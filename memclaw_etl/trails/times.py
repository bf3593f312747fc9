"""Trail times: text as it stands on the line -> aware UTC datetimes."""

from datetime import UTC, datetime


def utc_time(ts: str | None) -> datetime | None:
    """Parse an ISO 8601 time; a time without a zone is read as UTC. None stays None.

    A text that is no time, or one that UTC cannot hold, is None, too: the event then has no time.
    """
    if ts is None:
        return None
    try:
        at = datetime.fromisoformat(ts)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
