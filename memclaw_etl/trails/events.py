"""The values that flow out of a trail: lines, what one line says, and events.

Values that exist once per physical line are named tuples: they cost a third of a frozen dataclass.

Text in these values is raw. Nothing of it is written anywhere before `masking` has seen it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class TrailKind(StrEnum):
    """The formats that we read."""

    CLAUDE_CODE = "claude_code"
    CURSOR = "cursor"
    BUFFER = "buffer"


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """How a prompt came into the trail."""

    HUMAN = "human"
    PROGRAM = "program"
    """Sent through an SDK: the text of a program, not of a person."""
    QUEUED = "queued"
    """Typed while the agent worked."""
    STEERING = "steering"
    """Stands beside a tool result."""
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Position:
    """Where the reading of a trail goes on: everything before it was consumed.

    `seq`, `part` name the next record to read. `byte` is the offset of the next unread byte. With
    `open_line`, the last consumed line had no newline yet: if the byte at `byte` is a newline it
    only closes that line, anything else continues line `seq` with part `part`.
    """

    seq: int = 0
    part: int = 0
    byte: int = 0
    open_line: bool = False


class RawLine(NamedTuple):
    """One physical line (bytes split on 0x0A only), without its newline.

    `byte_end` is exclusive and includes the newline where there is one, so that the bytes
    [byte_start, byte_end) of consecutive lines tile the file.
    """

    seq: int
    first_part: int
    byte_start: int
    byte_end: int
    terminated: bool
    data: bytes
    too_long: bool = False
    """The line is longer than we hold in memory; `data` is empty and the line is quarantined."""

    @property
    def data_start(self) -> int:
        """Byte offset of the first byte of `data` in the file."""
        return self.byte_end - self.terminated - len(self.data)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A piece of a line that is no JSON record. Never carries its text."""

    seq: int
    byte_start: int
    length_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Event:
    """One real user prompt or assistant reply, unmasked.

    `ts` stands as in the trail (ISO 8601, any offset) or is None; `ts_inferred` says that it was
    inherited and not written on the line. `identity` is what makes this event the same event in a
    fork or a resumed copy (the line's uuid, else a hash); unique within a tenant.
    """

    seq: int
    part: int
    ts: str | None
    ts_inferred: bool
    session_id: str | None
    role: Role
    kind: str
    content: str
    identity: str
    origin: Origin
    tool: str | None = None
    outcome: str | None = None
    project: str | None = None
    """Working folder that the line names (`cwd`), for the namespace table."""

    @property
    def chars(self) -> int:
        """Length of the content in characters."""
        return len(self.content)


@dataclass(frozen=True, slots=True)
class QueueOp:
    """A change of the client's prompt queue; `assemble` decides what it means.

    `event` is the prompt that an `enqueue` would give; `content` is what `popAll` hands back.
    """

    operation: str
    event: Event | None
    content: str | None = None


class LineOutcome(NamedTuple):
    """What one physical line says on its own, before its window is known.

    A pure function of the line. `next_part` counts the records of the line so far; `whole` is False
    when something of the line could not be parsed (an unterminated line is only taken when whole).
    """

    seq: int
    first_part: int
    next_part: int
    byte_start: int
    byte_end: int
    terminated: bool
    whole: bool
    said: tuple[Event | QueueOp, ...] = ()
    noise: tuple[str, ...] = ()
    """One reason per record that is no event, for example `tool_result` or `unknown:frame-link`."""
    quarantined: tuple[Quarantined, ...] = ()
    client_version: str | None = None
    ts_mark: str | None = None
    """Time that the line sets for the lines after it, even where it is no event (Cursor)."""
    own_seqs: tuple[int, int] | None = None
    """First and last seq that the records of the line carry themselves (buffer)."""

    @property
    def max_events(self) -> int:
        """Upper bound of the events that this line can give to a window."""
        return sum(1 for said in self.said if isinstance(said, Event) or said.event is not None)


@dataclass(frozen=True, slots=True)
class DecoderState:
    """What the lines before a window leave for it. Serialisable, and free of trail text.

    `last_ts`: Cursor's inherited time. `emitted_queue`: hashes of queued prompts that were emitted
    by an earlier window, so that the user line that repeats one is a replay. `last_seq`: the last
    own seq of a buffer, by which holes and restarts are seen.
    """

    last_ts: str | None = None
    emitted_queue: tuple[str, ...] = ()
    last_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """The events of one window: a pure function of its lines and the state before them."""

    events: tuple[Event, ...]
    noise: Mapping[str, int]
    quarantined: tuple[Quarantined, ...]
    state: DecoderState
    versions: Mapping[str, int] = field(default_factory=dict)
