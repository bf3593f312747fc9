"""What every interviewer offers, and what it may use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.report import MiniReport


class ResponseCache(Protocol):
    """Answers of earlier calls, so that none is paid twice. Keys are hashes, values are opaque."""

    def get(self, key: str) -> bytes | None:
        """The value that was put under `key`, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Keep `value` under `key`; a kill of this process loses it no more."""

    def drop(self, key: str) -> None:
        """Forget what stands under `key`, if anything does."""


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

    @property
    def near_meaning(self) -> float | None:
        """From which cosine on items of several chunks join; None: meaning is not compared."""

    def interview(self, chunks: Sequence[Chunk], *, cache: ResponseCache) -> list[MiniReport]:
        """Report on each chunk.

        Raises:
            SurroundingsError: a model is down or refuses; nothing was said about the window.
            WindowError: an answer stayed unusable after its repair.
        """


@dataclass(frozen=True, slots=True)
class Asked:
    """The chunks of one window, and what its interview needs beside them."""

    key: str
    chunks: tuple[Chunk, ...]
    cache: ResponseCache
    keystones: tuple[str, ...] = ()
    """Governance rules of the window's scope."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came of one window: a report for each chunk, or why there is none."""

    key: str
    reports: tuple[MiniReport, ...] = ()
    error: Exception | None = None


@runtime_checkable
class ManyAtOnce(Protocol):
    """An interviewer that waits for its answers, and therefore asks for many windows at once."""

    def interview_all(self, asked: Sequence[Asked], *, careful: bool) -> Iterator[Told]:
        """Report on every window; each is told as soon as its last chunk is answered.

        Args:
            asked: the windows, in the order in which they matter.
            careful: ask nothing else until one chunk was answered (the endpoint was down).
        """
