"""What a failure does to a window: the three retry classes, written down."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, update

from memclaw_etl.lake.ledger import breakers
from memclaw_etl.lake.ledger.pins import pass_on_claims
from memclaw_etl.lake.ledger.schema import windows
from memclaw_etl.lake.ledger.values import Window, WindowState


def fail_by_own_fault(
    connection: Connection,
    window: Window,
    *,
    stage: str,
    code: str,
    message: str,
    now: datetime,
    max_attempts: int,
    retry_delay_s: float,
) -> WindowState:
    """Count an attempt; quarantine the window after `max_attempts`."""
    attempts = window.attempts + 1
    state = WindowState.QUARANTINED if attempts >= max_attempts else WindowState.PINNED
    delay = timedelta(seconds=retry_delay_s * (2 ** (attempts - 1)))
    _record_failure(
        connection, window, stage=stage, code=code, message=message, now=now,
        attempts=attempts, state=state, not_before=now + delay,
    )  # fmt: skip
    return state


def fail_by_surroundings(
    connection: Connection,
    window: Window,
    *,
    stage: str,
    code: str,
    message: str,
    resource: str,
    now: datetime,
    retry_delay_s: float,
    retry_delay_max_s: float,
    not_before: datetime | None = None,
) -> WindowState:
    """Leave attempts alone; the window waits behind the breaker of what failed."""
    probe_at = breakers.trip(
        connection, resource, now=now, delay_s=retry_delay_s, delay_max_s=retry_delay_max_s,
        not_before=not_before,
    )  # fmt: skip
    _record_failure(
        connection, window, stage=stage, code=code, message=message, now=now,
        attempts=window.attempts, state=WindowState.PINNED, not_before=probe_at,
        waits_for=resource,
    )  # fmt: skip
    return WindowState.PINNED


def fail_by_usage(
    connection: Connection,
    window: Window,
    *,
    stage: str,
    code: str,
    message: str,
    now: datetime,
    retry_delay_s: float,
) -> WindowState:
    """The call or the settings are wrong: attempts stay, and it is asked for again after a delay.

    The delay keeps `run` and the sensor from asking for it in a tight loop.
    """
    _record_failure(
        connection, window, stage=stage, code=code, message=message, now=now,
        attempts=window.attempts, state=WindowState.PINNED,
        not_before=now + timedelta(seconds=retry_delay_s),
    )  # fmt: skip
    return WindowState.PINNED


def fail_as_rewritten(
    connection: Connection, window: Window, *, stage: str, code: str, message: str, now: datetime
) -> WindowState:
    """The pinned bytes are gone: never interviewed under this key, not retried."""
    _record_failure(
        connection, window, stage=stage, code=code, message=message, now=now,
        attempts=window.attempts, state=WindowState.REWRITTEN, not_before=None,
    )  # fmt: skip
    pass_on_claims(connection, [window.window_id])
    return WindowState.REWRITTEN


def _record_failure(
    connection: Connection,
    window: Window,
    *,
    stage: str,
    code: str,
    message: str,
    now: datetime,
    attempts: int,
    state: WindowState,
    not_before: datetime | None,
    waits_for: str | None = None,
) -> None:
    """Note a failure. A hole that a person's run could not close stays the hole that it was."""
    is_hole = window.state in (WindowState.SKIPPED, WindowState.REWRITTEN)
    connection.execute(
        update(windows)
        .where(windows.c.window_id == window.window_id, windows.c.state != WindowState.COMMITTED)
        .values(
            failed_stage=stage, error_code=code, error=message[:2000], failed_at=now,
            attempts=attempts, state=window.state if is_hole else state, not_before=not_before,
            waits_for=waits_for, asked_batch=None, asked_until=None,
        )
    )  # fmt: skip
    if is_hole:
        pass_on_claims(connection, [window.window_id])
