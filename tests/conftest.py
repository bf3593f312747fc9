"""What every test gets: no network outside loopback, no real model, clocks and homes to use."""

import ipaddress
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from memclaw_etl.lake.ledger import Ledger, open_ledger
from tests.postgres import Server, running_server, why_not

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class NetworkForbiddenError(AssertionError):
    """A test tried to leave this machine."""


def _is_local(family: int, address: Any) -> bool:
    if family == socket.AF_UNIX:
        return True
    host = str(address[0])
    if host in {"localhost", ""}:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _fused(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: socket.socket, address: Any) -> Any:
        if not _is_local(self.family, address):
            raise NetworkForbiddenError(f"a test tried to reach {address!r}")
        return original(self, address)

    return connect


def pytest_configure(config: pytest.Config) -> None:
    """Blow the fuse for the whole session, before any test module is imported."""
    del config
    socket.socket.connect = _fused(socket.socket.connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = _fused(socket.socket.connect_ex)  # type: ignore[method-assign]
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        os.environ.pop(name, None)


@pytest.fixture(autouse=True)
def _settings_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests does not reach them."""
    for name in [one for one in os.environ if one.startswith("MEMCLAW_")]:
        monkeypatch.delenv(name)


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    at: datetime = field(default=START)

    def __call__(self) -> datetime:
        return self.at

    def move(self, **step: float) -> datetime:
        self.at += timedelta(**step)
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    if reason := why_not():
        pytest.skip(reason)
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty ledger, on each of the databases that we support."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    server: Server = request.getfixturevalue("postgres")
    return server.emptied_database()


def opened_without_fsync(url: str, clock: Callable[[], datetime]) -> Ledger:
    """A ledger that does not wait for the disk: these tests do not pull the plug."""
    ledger = open_ledger(url, clock=clock)
    if url.startswith("sqlite"):
        event.listen(ledger.engine, "connect", _do_not_wait)
    return ledger


def _do_not_wait(connection: sqlite3.Connection, record: object) -> None:
    del record
    connection.execute("PRAGMA synchronous=OFF")


@pytest.fixture
def ledger(ledger_url: str, clock: Clock) -> Iterator[Ledger]:
    opened = opened_without_fsync(ledger_url, clock)
    yield opened
    opened.engine.dispose()


@pytest.fixture
def sqlite_ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    """For tests whose subject is not the database."""
    opened = opened_without_fsync(f"sqlite:///{tmp_path / 'home' / 'ledger.sqlite'}", clock)
    yield opened
    opened.engine.dispose()
