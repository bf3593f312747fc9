"""What an error is to us: whose fault, and never its text."""

import errno
import json

import pytest
from sqlalchemy.exc import OperationalError

from memclaw_etl.errors import (
    BusyError,
    HomeMismatchError,
    InvariantError,
    LeaseLostError,
    MemclawError,
    Retry,
    SettingsError,
    SurroundingsError,
    TrailRewrittenError,
    TrailUnreadableError,
    UnknownWindowError,
    UsageError,
    WindowError,
)
from memclaw_etl.lake.ledger import Ledger, Stage, Window, WindowState
from memclaw_etl.settings import Limits
from memclaw_etl.stages import failures
from tests.conftest import Clock
from tests.ledger_rows import again, ask, owed_keys, pin_many, take

TEXT = "words of a trail"


def throw(error: Exception) -> None:
    raise error


def raised(error: Exception) -> Exception:
    try:
        throw(error)
    except Exception as caught:  # noqa: BLE001 - that is what as_ours is given
        return caught
    raise AssertionError


def json_error() -> Exception:
    try:
        json.loads(TEXT)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    "error",
    [
        ValueError(TEXT),
        KeyError(TEXT),
        UnicodeDecodeError("utf-8", TEXT.encode(), 0, 1, TEXT),
        RuntimeError(TEXT),
        AssertionError(TEXT),
        RecursionError(TEXT),
        MemoryError(TEXT),
        OSError(errno.ENOENT, TEXT, TEXT),
        OSError(TEXT),
    ],
)
def test_what_we_did_not_raise_is_the_windows_fault_and_loses_its_text(error: Exception) -> None:
    ours = failures.as_ours(raised(error))
    assert type(ours) is WindowError
    assert TEXT not in str(ours)
    assert type(error).__name__ in str(ours)
    assert "test_stages_failures.py:" in str(ours)
    assert ours.__cause__ is None


def test_a_json_error_loses_its_document() -> None:
    ours = failures.as_ours(json_error())
    assert TEXT not in repr(ours)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_what_the_system_refuses_is_nobodys_fault(number: int) -> None:
    ours = failures.as_ours(raised(OSError(number, TEXT, TEXT)))
    assert isinstance(ours, SurroundingsError)
    assert ours.resource == "disk"
    assert TEXT not in str(ours)
    assert errno.errorcode[number] in str(ours)


def test_what_the_ledger_refuses_is_nobodys_fault() -> None:
    ours = failures.as_ours(raised(OperationalError(TEXT, {"a": TEXT}, Exception(TEXT))))
    assert isinstance(ours, SurroundingsError)
    assert ours.resource == "ledger"
    assert TEXT not in str(ours)


def test_our_own_errors_stay() -> None:
    error = WindowError("m")
    assert failures.as_ours(raised(error)) is error


@pytest.mark.parametrize(
    ("error", "retry", "exit_code", "code"),
    [
        (MemclawError("m"), Retry.NEVER, 1, "Memclaw"),
        (UsageError("m"), Retry.NEVER, 2, "Usage"),
        (SettingsError("m"), Retry.NEVER, 2, "Settings"),
        (UnknownWindowError("m"), Retry.NEVER, 2, "UnknownWindow"),
        (HomeMismatchError("m"), Retry.NEVER, 2, "HomeMismatch"),
        (InvariantError("m"), Retry.NEVER, 1, "Invariant"),
        (WindowError("m"), Retry.NEVER, 1, "Window"),
        (TrailRewrittenError("m"), Retry.REREAD, 1, "TrailRewritten"),
        (TrailUnreadableError("m", resource="r"), Retry.LATER, 75, "TrailUnreadable"),
        (BusyError("m", resource="r"), Retry.LATER, 75, "Busy"),
        (LeaseLostError("m", resource="r"), Retry.LATER, 75, "LeaseLost"),
    ],
)
def test_every_error_says_whether_to_try_again(
    error: MemclawError, retry: Retry, exit_code: int, code: str
) -> None:
    assert (error.retry, error.exit_code, error.code) == (retry, exit_code, code)


@pytest.fixture
def held(sqlite_ledger: Ledger) -> list[Window]:
    return take(sqlite_ledger, ask(sqlite_ledger, pin_many(sqlite_ledger, 3)), "run-1")


def record(ledger: Ledger, one: Window, error: MemclawError) -> Window:
    failed = failures.record(
        ledger, again(ledger, one), Stage.MINI_REPORTS, error, run_id="run-1", limits=Limits()
    )
    assert (failed.code, failed.message) == (error.code, str(error))
    return again(ledger, one)


@pytest.mark.parametrize(
    ("error", "state", "attempts", "waits_s", "waits_for"),
    [
        (WindowError("m"), WindowState.PINNED, 1, 30, None),
        (InvariantError("m"), WindowState.QUARANTINED, 1, 30, None),
        (TrailRewrittenError("m"), WindowState.REWRITTEN, 0, None, None),
        (TrailUnreadableError("m", resource="trail:x"), WindowState.PINNED, 0, 30, "trail:x"),
        (UsageError("m"), WindowState.PINNED, 0, 30, None),
    ],
)
def test_what_an_error_does_to_its_window(
    sqlite_ledger: Ledger, clock: Clock, held: list[Window], error: MemclawError,
    state: WindowState, attempts: int, waits_s: float | None, waits_for: str | None,
) -> None:  # fmt: skip
    stored = record(sqlite_ledger, held[0], error)
    assert (stored.state, stored.attempts, stored.waits_for) == (state, attempts, waits_for)
    assert (stored.failed_stage, stored.error_code) == ("mini_reports", error.code)
    assert stored.failed_at == clock.at
    waited = (stored.not_before - clock.at).total_seconds() if stored.not_before else None
    assert waited == waits_s


def test_a_failure_gives_the_lease_back_and_only_that(
    sqlite_ledger: Ledger, clock: Clock, held: list[Window]
) -> None:
    record(sqlite_ledger, held[0], WindowError("m"))
    clock.move(seconds=30)
    assert owed_keys(sqlite_ledger) == [held[0].partition_key]


def test_a_long_message_is_cut_to_the_column(sqlite_ledger: Ledger, held: list[Window]) -> None:
    assert len(record(sqlite_ledger, held[0], WindowError("m" * 9_000)).error or "") == 2_000


def test_of_many_nobody_is_quarantined_for_what_one_may_have_done(
    sqlite_ledger: Ledger, held: list[Window]
) -> None:
    """A broken promise quarantines at once, but only where it is clear whose it is."""
    broken = InvariantError("m")
    common = {"run_id": "run-1", "limits": Limits()}
    failures.record_all(sqlite_ledger, held, Stage.MEMORIES, broken, **common)  # type: ignore[arg-type]
    assert {again(sqlite_ledger, one).state for one in held} == {WindowState.PINNED}
    alone = [again(sqlite_ledger, held[0])]
    failures.record_all(sqlite_ledger, alone, Stage.MEMORIES, broken, **common)  # type: ignore[arg-type]
    assert again(sqlite_ledger, held[0]).state is WindowState.QUARANTINED


def test_a_committed_window_keeps_its_commit(sqlite_ledger: Ledger, held: list[Window]) -> None:
    from tests.ledger_rows import commit_all

    commit_all(sqlite_ledger, held[:1])
    assert record(sqlite_ledger, held[0], WindowError("m")).state is WindowState.COMMITTED
