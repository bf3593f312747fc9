"""What an error in a stage does to its window. The one place that decides."""

import errno
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from memclaw_etl.errors import (
    InvariantError,
    MemclawError,
    Retry,
    SurroundingsError,
    UsageError,
    WindowError,
)
from memclaw_etl.lake.ledger import Ledger, Stage, Window, failing, leases
from memclaw_etl.masking import open_masker
from memclaw_etl.settings import Limits
from memclaw_etl.stages.report import Failed

_SURROUNDINGS = {
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM,
    errno.EACCES, errno.EPERM, errno.ENOLCK, errno.ESTALE, errno.ETIMEDOUT,
}  # fmt: skip


def as_ours(error: Exception) -> MemclawError:
    """Rewrap what is not ours, without its message: that may hold trail text."""
    if isinstance(error, MemclawError):
        return error
    if isinstance(error, OSError) and error.errno in _SURROUNDINGS:
        return SurroundingsError(
            f"the system refused: {errno.errorcode[error.errno]}", resource="disk"
        )
    if isinstance(error, SQLAlchemyError):
        return SurroundingsError(f"the ledger refused: {type(error).__name__}", resource="ledger")
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return WindowError(
        f"unexpected {type(error).__name__} at {place}; this is a bug, please report it"
    )


def message_of(error: MemclawError) -> str:
    """An error's message as it may be stored: ours hold no trail text, and are masked all the same.

    The ledger, Dagster's event store and terminals keep it, and `remask` cannot reach all of them.
    """
    return open_masker().session().mask(str(error)).text


def record(
    ledger: Ledger,
    window: Window,
    stage: Stage,
    error: MemclawError,
    *,
    run_id: str,
    limits: Limits,
) -> Failed:
    """Write a window's failure into the ledger and give its lease back."""
    with ledger.write() as tx:
        _change_window(tx, window, str(stage), error, now=ledger.now(), limits=limits)
        leases.release(tx, [leases.window_lease(window.window_id)], run_id=run_id)
    return Failed(window=window, code=error.code, message=message_of(error))


def record_all(
    ledger: Ledger,
    held: Sequence[Window],
    stage: Stage,
    error: MemclawError,
    *,
    run_id: str,
    limits: Limits,
) -> list[Failed]:
    """Write down that a stage failed for all of its windows at once.

    Which of them is to blame is not known: each counts an attempt, and each runs alone next time,
    so that one bad window cannot take the others with it.
    """
    if isinstance(error, InvariantError) and len(held) > 1:
        error = WindowError(str(error))
    return [record(ledger, window, stage, error, run_id=run_id, limits=limits) for window in held]


def _change_window(
    tx: Connection,
    window: Window,
    stage: str,
    error: MemclawError,
    *,
    now: datetime,
    limits: Limits,
) -> None:
    if isinstance(error, UsageError):
        failing.fail_by_usage(
            tx, window, stage=stage, code=error.code, message=message_of(error), now=now,
            retry_delay_s=limits.retry_delay_s,
        )  # fmt: skip
    elif isinstance(error, SurroundingsError):
        failing.fail_by_surroundings(
            tx, window, stage=stage, code=error.code, message=message_of(error), now=now,
            resource=error.resource, retry_delay_s=limits.retry_delay_s,
            retry_delay_max_s=limits.retry_delay_max_s, not_before=error.not_before,
        )  # fmt: skip
    elif error.retry is Retry.REREAD:
        failing.fail_as_rewritten(
            tx, window, stage=stage, code=error.code, message=message_of(error), now=now
        )
    else:
        at_once = isinstance(error, InvariantError)
        failing.fail_by_own_fault(
            tx, window, stage=stage, code=error.code, message=message_of(error), now=now,
            max_attempts=1 if at_once else limits.max_attempts,
            retry_delay_s=limits.retry_delay_s,
        )  # fmt: skip
