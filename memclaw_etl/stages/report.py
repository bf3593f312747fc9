"""What a stage says about the windows that it worked on: counts and hashes, never text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memclaw_etl.lake.ledger import Stage, Window


@dataclass(frozen=True, slots=True)
class Done:
    """A window whose stage is done: now, or already before (`unchanged`)."""

    window: Window
    counts: Mapping[str, Any]
    path: str
    content_hash: str
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """A window that failed in this stage; the failure is in the ledger already."""

    window: Window
    code: str
    message: str


@dataclass(slots=True)
class StageReport:
    """The outcome of one stage over the windows of a run."""

    stage: Stage
    done: list[Done] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    """Counts that belong to the batch and to no single window (rows added to the index)."""
