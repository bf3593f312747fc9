"""Calling the command line in tests: in this process, with streams of its own."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from memclaw_etl.cli import main, show


@dataclass(frozen=True)
class Called:
    """What a command left behind."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def json(self) -> Any:
        """The one document on stdout; a test fails when there is anything else."""
        return orjson.loads(self.stdout)

    @property
    def rows(self) -> list[Any]:
        """The JSON value of every line on stdout."""
        return [orjson.loads(line) for line in self.stdout.splitlines()]

    @property
    def said(self) -> str:
        """Standard error as text."""
        return self.stderr.decode()


def call(*arguments: object, stdin: bytes = b"") -> Called:
    """Run one command as a shell in a pipe would."""
    out, err = io.BytesIO(), io.BytesIO()
    with _streams(out, err, stdin):
        try:
            main([str(one) for one in arguments])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        return Called(code, out.getvalue(), err.getvalue())


@contextmanager
def _streams(out: io.BytesIO, err: io.BytesIO, stdin: bytes) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8"))
        patch.setattr(show.out, "_width", show.PIPE_COLUMNS)
        patch.setattr(show.errors, "_width", show.PIPE_COLUMNS)
        patch.setenv("MEMCLAW_HOME", "")
        patch.setenv("DAGSTER_HOME", "")
        yield


def copied(path: Path, to: Path) -> Path:
    """A copy of a file under a new name, its folders made."""
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(path.read_bytes())
    return to
