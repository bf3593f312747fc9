"""What every interviewer offers, and what it may use."""

from collections.abc import Sequence
from typing import Protocol

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.report import MiniReport


class ResponseCache(Protocol):
    """Answers of earlier calls, so that none is paid twice. Keys are hashes, values are opaque."""

    def get(self, key: str) -> bytes | None:
        """The value that was put under `key`, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Keep `value` under `key`; durable when this returns."""


class Interviewer(Protocol):
    """Turns chunks into mini-reports: one for each chunk, in the order of the chunks."""

    @property
    def name(self) -> str:
        """Stable name, recorded with every item."""

    @property
    def version(self) -> str:
        """Version of the prompt or of the rules; another version is another report."""

    @property
    def model(self) -> str | None:
        """The model that is asked, None where there is none."""

    @property
    def max_per_section(self) -> int | None:
        """How many items of a section `merge` keeps of its reports; None: all."""

    @property
    def near_overlap(self) -> float | None:
        """From which overlap of words on `merge` joins two of its items; None: only equal ones."""

    def interview(self, chunks: Sequence[Chunk], *, cache: ResponseCache) -> list[MiniReport]:
        """Report on each chunk.

        Raises:
            SurroundingsError: a model is down or refuses; nothing was said about the window.
            WindowError: an answer stayed unusable after its repair.
        """
