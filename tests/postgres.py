"""A real PostgreSQL server on loopback for the tests, from the binaries of this machine."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

SERVER_USER = "postgres"
"""PostgreSQL refuses to run as root; this user runs it when the tests run as root."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server with one database, which `emptied_database` empties for each test."""

    port: int

    def emptied_database(self) -> str:
        """Empty every table, which is quicker than making them; returns the SQLAlchemy URL."""
        where = f"host=127.0.0.1 port={self.port} user=memclaw dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            found = connection.execute(
                "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
            )
            names = ", ".join(name for (name,) in found)
            if names:
                connection.execute(f"TRUNCATE {names}")  # type: ignore[arg-type]
        return f"postgresql://memclaw@127.0.0.1:{self.port}/postgres"


def find_binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl`, or None."""
    newest_first = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    for folder in [*newest_first, *folders]:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def why_not() -> str | None:
    """Why no server can be started here, or None."""
    if find_binaries() is None:
        return "no PostgreSQL binaries (initdb, pg_ctl) on this machine"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL refuses to run as root, and there is no runuser"
    return None


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a throw-away server on a free loopback port; stop it and delete its files after."""
    binaries = find_binaries()
    assert binaries is not None
    with tempfile.TemporaryDirectory(prefix="mc-pg-", ignore_cleanup_errors=True) as folder:
        if os.geteuid() == 0:
            shutil.chown(folder, SERVER_USER)
        data, port = Path(folder) / "data", _free_port()
        _run(binaries / "initdb", "-D", data, "-U", "memclaw", "-A", "trust", "-N", "-E", "UTF8")
        options = f"-F -p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=40"
        log = Path(folder) / "log"
        _run(binaries / "pg_ctl", "-D", data, "-l", log, "-w", "-t", "60", "-o", options, "start")
        try:
            yield Server(port)
        finally:
            _run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def _run(program: Path, *arguments: object) -> None:
    command = [str(program), *map(str, arguments)]
    if getpass.getuser() == "root":
        command = ["runuser", "-u", SERVER_USER, "--", *command]
    subprocess.run(
        command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120,
        cwd="/",
    )  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
