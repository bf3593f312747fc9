"""The response cache: what an interviewer answered, by the hash of everything that it depends on.

Content-addressed files in the lake, shared by every window and every run. Losing it costs time or
money, never correctness.
"""

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
        """Store an answer durably; an answer that is there already stays."""
        file = self._file(key)
        if not file.exists():
            put(file, value)

    def _file(self, key: str) -> Path:
        if not key or not all(letter in "0123456789abcdef" for letter in key):
            raise ValueError("a cache key is a hex digest")
        return self.root / key[:2] / f"{key}.json"
