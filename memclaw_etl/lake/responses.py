"""The response cache: what an interviewer answered, by the hash of everything that it depends on.

Content-addressed files in the lake, shared by every window and every run. Losing it costs time or
money, never correctness: an answer is on its way to the disk at once, and the disk is not waited
for, so that a killed process loses nothing and a power cut at most the last answers.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memclaw_etl.lake.stage_files import put


@dataclass(frozen=True, slots=True)
class FileResponseCache:
    """A folder of answers. Keys are hex digests; values are masked text only."""

    root: Path

    def get(self, key: str) -> bytes | None:
        """The stored answer, or None when there is none."""
        try:
            return self._file(key).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, key: str, value: bytes) -> None:
        """Store an answer; one that is there already stays."""
        file = self._file(key)
        if file.exists():
            return
        try:
            _place(file, value)
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
            _place(file, value)

    def drop(self, key: str) -> None:
        """Forget an answer."""
        self._file(key).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """Every stored answer and every half-written one, by its path below the root."""
        for file in sorted(self.root.glob("*/*")):
            yield str(file.relative_to(self.root))

    def read(self, name: str) -> bytes | None:
        """One of `names`; None when it is gone."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def replace(self, name: str, value: bytes) -> None:
        """Put another text in the place of a stored one; all or nothing."""
        put(self.root / name, value)

    def remove(self, name: str) -> None:
        """Remove one of `names`; nothing happens if it is gone."""
        (self.root / name).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        if not key or not all(letter in "0123456789abcdef" for letter in key):
            raise ValueError("a cache key is a hex digest")
        return self.root / key[:2] / f"{key}.json"


def _place(file: Path, value: bytes) -> None:
    """Write a whole file or none, without waiting for the disk."""
    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:8]}")
    try:
        temporary.write_bytes(value)
        temporary.rename(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
