"""What an interviewer says: items in six sections, per chunk and per window."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from memclaw_etl.interview.events import EventRef

Result = Literal["success", "failure", "partial"]
TITLE_CHARS: Final = 80


class Section(StrEnum):
    """The six sections of a report."""

    WORKED_ON = "worked_on"
    DECISIONS = "decisions"
    OUTCOMES = "outcomes"
    BLOCKERS = "blockers"
    OPEN_QUESTIONS = "open_questions"
    PREFERENCES_LEARNED = "preferences_learned"


MEMORY_TYPE: Final[Mapping[Section, str]] = MappingProxyType(
    {
        Section.WORKED_ON: "episode",
        Section.DECISIONS: "decision",
        Section.OUTCOMES: "outcome",
        Section.BLOCKERS: "task",
        Section.OPEN_QUESTIONS: "fact",
        Section.PREFERENCES_LEARNED: "preference",
    }
)
"""The type of the memory that an item of a section becomes (DESIGN, section 2)."""


class Flag(StrEnum):
    """What is doubtful about an item; such an item is kept, and says so."""

    UNSUPPORTED_FIGURE = "unsupported_figure"
    """It names a figure that its evidence does not hold."""
    UNSUPPORTED_NAME = "unsupported_name"
    """It names code, a path or an acronym that its evidence does not hold."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ReportItem(_Value):
    """One statement of a report, with the events that it rests on.

    `evidence` is non-empty, sorted and without repeats. `ts_start` and `ts_end` are the event times
    of the evidence (aware), None where the trail has no time.
    """

    section: Section
    summary: str = Field(min_length=1)
    rationale: str | None = None
    alternative: str | None = None
    result: Result | None = None
    ts_start: AwareDatetime | None = None
    ts_end: AwareDatetime | None = None
    session_id: str | None = None
    evidence: tuple[EventRef, ...] = Field(min_length=1)
    importance: int = 0
    """Which items stay first where a section has too many: the higher ones."""
    flags: tuple[Flag, ...] = ()

    @field_validator("evidence")
    @classmethod
    def _in_order(cls, evidence: tuple[EventRef, ...]) -> tuple[EventRef, ...]:
        return tuple(sorted(set(evidence)))

    @property
    def memory_type(self) -> str:
        """The type of the memory that this item becomes."""
        return MEMORY_TYPE[self.section]

    @property
    def content(self) -> str:
        """The item as one text: what is stored, embedded and recalled."""
        parts = [f"[{self.result}] {self.summary}" if self.result else self.summary]
        if self.alternative:
            parts.append(f"(instead of: {self.alternative})")
        if self.rationale:
            parts.append(f"Why: {self.rationale}")
        return " ".join(parts)

    @property
    def title(self) -> str:
        """The summary on one line, at most TITLE_CHARS characters, cut at a word."""
        return title_of(self.summary)


class Usage(_Value):
    """What the answers cost. All zero for interviewers without a model."""

    calls: int = 0
    cache_hits: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the settings' prices; 0 where they name none."""

    def __add__(self, other: "Usage") -> "Usage":
        """Both together."""
        mine, theirs = self.model_dump(), other.model_dump()
        return Usage(**{name: mine[name] + theirs[name] for name in mine})


class Grounding(_Value):
    """What was taken out of a report, or flagged in it, because its chunk does not bear it."""

    items_dropped: int = 0
    """Items without any valid evidence."""
    evidence_dropped: int = 0
    times_removed: int = 0
    unsupported_figures: int = 0
    unsupported_names: int = 0


class MiniReport(_Value):
    """The items of one chunk."""

    chunk_index: int
    items: tuple[ReportItem, ...] = ()
    usage: Usage = Usage()
    grounding: Grounding = Grounding()


class MergedReport(_Value):
    """The items of one window.

    `joined` counts the items that went into another one, `capped` those beyond the limit of their
    section: `len(items) + joined + capped` is the number of items that the mini-reports had.
    """

    items: tuple[ReportItem, ...] = ()
    joined: int = 0
    capped: int = 0


def title_of(summary: str) -> str:
    """A summary on one line, at most TITLE_CHARS characters, cut at a word."""
    line = " ".join(summary.split())
    if len(line) <= TITLE_CHARS:
        return line
    head = line[: TITLE_CHARS - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head) + "…"


def time_span(times: list[datetime]) -> tuple[datetime | None, datetime | None]:
    """First and last of `times`; both None when there are none."""
    return (min(times), max(times)) if times else (None, None)
