"""Frozen values that the ledger gives out and takes in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class WindowState(StrEnum):
    """Where a pinned window stands."""

    PINNED = "pinned"
    """Owed until it is committed."""
    NOISE = "noise"
    """Holds no event of its own: no partition, the watermark passes it."""
    COMMITTED = "committed"
    SKIPPED = "skipped"
    """A permanent hole, by a person's decision."""
    QUARANTINED = "quarantined"
    """Failed `max_attempts` times by its own fault; waits for a person."""
    PAUSED = "paused"
    """Its run was cancelled by a person."""
    REWRITTEN = "rewritten"
    """Its bytes are no longer in the trail."""


PASSABLE = (WindowState.COMMITTED, WindowState.SKIPPED, WindowState.NOISE)
"""States that the watermark may cross."""


class Stage(StrEnum):
    """The stages of a window, in order; the names of the assets."""

    MASKED_CHUNKS = "masked_chunks"
    MINI_REPORTS = "mini_reports"
    MERGED_REPORT = "merged_report"
    MEMORIES = "memories"
    WATERMARK = "watermark"


@dataclass(frozen=True, slots=True)
class Node:
    """One capture stream and where its next window starts."""

    tenant_id: str
    node_id: str
    kind: str
    path: str
    real_path: str
    root: str
    file_session: str
    fleet_id: str | None
    agent_id: str | None
    epoch: int
    frontier_seq: int
    frontier_part: int
    frontier_byte: int
    frontier_open: bool
    decoder_state: Mapping[str, Any]
    head_hash: str | None
    tail_hash: str | None
    seen_size: int | None
    seen_mtime_ns: int | None
    seen_inode: int | None
    still_since: datetime | None
    settled: bool
    """Nothing is left to plan until the file changes."""
    at_end: bool
    """The last look reached the end of the file."""
    scanned_at: datetime | None
    head_seq: int | None
    problem_code: str | None
    problem: str | None
    unknown: Mapping[str, int] | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Window:
    """A pinned slice of a trail. The first block never changes after the pin."""

    window_id: str
    partition_key: str
    attempt_id: str
    tenant_id: str
    node_id: str
    epoch: int
    cursor_from: int
    from_part: int
    cursor_to: int
    byte_from: int
    byte_to: int
    opens_line: bool
    """The window starts inside a physical line whose head an earlier window holds."""
    ends_open: bool
    """Its last line had no newline when it was pinned."""
    end_part: int
    sha256: str
    decoder_state: Mapping[str, Any]
    events: int
    replayed: int
    noise_lines: int
    quarantined_lines: int
    noise: Mapping[str, int]
    ts_first: datetime | None
    ts_last: datetime | None
    project: str | None
    pinned_at: datetime

    state: WindowState
    attempts: int
    not_before: datetime | None
    waits_for: str | None
    failed_stage: str | None
    error_code: str | None
    error: str | None
    failed_at: datetime | None
    asked_batch: str | None
    asked_until: datetime | None
    interviewer: str | None
    prompt_version: str | None
    reason: str | None
    committed_at: datetime | None


@dataclass(frozen=True, slots=True)
class StageFile:
    """The current result of a stage for one window."""

    window_id: str
    stage: str
    path: str
    input_hash: str
    content_hash: str
    row_count: int
    counts: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Watermark:
    """The wire's watermark document of a node, for one epoch."""

    tenant_id: str
    node_id: str
    epoch: int
    doc_id: str
    agent_id: str | None
    last_seq: int
    last_interview_at: datetime
    last_command_id: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One event's identity, and where a window holds it."""

    identity: str
    seq: int
    part: int
