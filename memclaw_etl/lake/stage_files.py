"""Immutable Parquet files: one per stage, window and attempt, one put, never overwritten.

A file that the ledger does not name does not count. When `write` returns, file and folder entry
are on disk (fsync), so that the ledger may point to it.
"""

import hashlib
import io
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from memclaw_etl.errors import InvariantError, SurroundingsError

_WINDOW_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Written:
    """A durable file: its path below the root, and the SHA-256 of its bytes."""

    path: str
    content_hash: str
    row_count: int


@dataclass(frozen=True, slots=True)
class StageFiles:
    """The folder of stage files of one lake."""

    root: Path

    def write(
        self, frame: pl.DataFrame, schema: pl.Schema, *, stage: str, window_id: str
    ) -> Written:
        """Write a frame as a new file.

        Raises:
            InvariantError: the frame does not have the stage's schema.
            SurroundingsError: the disk refuses.
        """
        if frame.schema != schema:
            raise InvariantError(f"a {stage} frame of window {window_id} has another schema")
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", statistics=False)
        data = buffer.getvalue()
        name = f"{stage}/{window_id[:2]}/{window_id}-{uuid.uuid4().hex[:12]}.parquet"
        try:
            put(self.root / name, data)
        except OSError as error:
            raise SurroundingsError(
                f"cannot write a {stage} file: {os.strerror(error.errno or 0)}", resource="disk"
            ) from error
        return Written(
            path=name, content_hash=hashlib.sha256(data).hexdigest(), row_count=frame.height
        )

    def read(self, path: str) -> pl.DataFrame:
        """Read one file.

        Raises:
            InvariantError: the ledger names a file that is not there, or it is no Parquet.
        """
        try:
            return pl.read_parquet(self.root / path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InvariantError(
                f"stage file {path} is missing or damaged ({type(error).__name__});"
                " run the window again from masked_chunks"
            ) from error

    def is_intact(self, path: str, content_hash: str) -> bool:
        """Whether the file is there, with the bytes that were written."""
        try:
            data = (self.root / path).read_bytes()
        except OSError:
            return False
        return hashlib.sha256(data).hexdigest() == content_hash

    def names(self) -> Iterator[str]:
        """Every file below the root, half-written ones too, whether the ledger names it or not."""
        for file in sorted(self.root.glob("*/*/*")):
            yield str(file.relative_to(self.root))

    def remove(self, path: str) -> None:
        """Remove a file that the ledger does not name; nothing happens if it is gone."""
        (self.root / path).unlink(missing_ok=True)

    def absolute(self, path: str) -> str:
        """Where a file is, for readers that open it themselves."""
        return str(self.root / path)


def window_id_in(path: str) -> str | None:
    """Id of the window that a stage file was written for, from its name."""
    found = _WINDOW_ID.search(path.rpartition("/")[2])
    return found[0] if found else None


def put(path: Path, data: bytes) -> None:
    """Write a new file durably: temporary name, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
