"""The values that flow out of a trail: lines, what one line says, and events.

Values that exist once per physical line are msgspec structs: made in C, they cost a fraction of a
frozen dataclass. Change one with `msgspec.structs.replace`.

Text in these values is raw. Nothing of it is written anywhere before `masking` has seen it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class TrailKind(StrEnum):
    """The formats that we read."""

    CLAUDE_CODE = "claude_code"
    CURSOR = "cursor"
    OPENCLAW = "openclaw"
    BUFFER = "buffer"
    CODEX = "codex"
    GEMINI = "gemini"


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


class Branch(StrEnum):
    """Where an event stands when the person went back in the conversation.

    Decided from the lines up to the end of the window, never from later ones: an event of an
    earlier window that is left behind stays `main`, and the prompt that leaves it is `restart`.
    """

    MAIN = "main"
    REWOUND = "rewound"
    """Left behind: the person went back to before it and said something else."""
    RESTART = "restart"
    """Said after going back; what followed the line that it hangs on no longer holds."""


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


class RawLine(msgspec.Struct, frozen=True, gc=False):
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


class LineRun(msgspec.Struct, frozen=True, gc=False):
    """Complete physical lines that follow each other in a block of bytes, not copied.

    The first of them has number `seq`, begins at `begin` in the block and at `byte_start` of the
    file; `newlines` says where in the block each ends.
    """

    seq: int
    byte_start: int
    block: bytes
    begin: int
    newlines: list[int]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A piece of a line that is no JSON record. Never carries its text."""

    seq: int
    byte_start: int
    length_bytes: int
    reason: str


class Event(msgspec.Struct, frozen=True, gc=False):
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
    branch: Branch = Branch.MAIN
    message_id: str | None = None
    """Of the message that this is a block of, where a trail writes each block as a line."""
    source: str = ""
    """Which of several copies in one trail this is (Codex writes every message twice)."""

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
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """What a trail says of itself; holds for the lines after it.

    `forked_from`: the session whose history is told again first. `side`: written by a subagent.
    """

    session_id: str | None = None
    project: str | None = None
    forked_from: str | None = None
    side: bool = False


Said = Event | QueueOp | Header


class LineOutcome(msgspec.Struct, frozen=True, gc=False):
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
    said: tuple[Said, ...] = ()
    noise: tuple[str, ...] = ()
    """One reason per record that is no event, for example `tool_result` or `unknown:frame-link`."""
    quarantined: tuple[Quarantined, ...] = ()
    client_version: str | None = None
    ts_mark: str | None = None
    """Time of the line, even where it is no event (Cursor: it sets it for the lines after it)."""
    own_seqs: tuple[int, int] | None = None
    """First and last seq that the records of the line carry themselves (buffer)."""
    odd_fields: tuple[str, ...] = ()
    """Fields of its records that no rule knows, where the record was looked at as a whole."""
    lines: int = 1
    """How many lines this is: more than one where lines that are certainly noise were joined."""
    links: tuple[tuple[str, str | None], ...] = ()
    """(uuid, parent uuid) of its records, by which the conversation is a tree (Claude Code)."""

    def events(self) -> Iterator[Event]:
        """Every event that this line may give to a window; which of them it does is decided later.

        Their number is an upper bound.
        """
        for said in self.said:
            if isinstance(said, Event):
                yield said
            elif isinstance(said, QueueOp) and said.event is not None:
                yield said.event


@dataclass(frozen=True, slots=True)
class DecoderState:
    """What the lines before a window leave for it. Serialisable, and free of trail text.

    Each kind uses the fields that it needs.
    """

    last_ts: str | None = None
    """Cursor: the time that later lines inherit. Codex: the time of the last line."""
    emitted_queue: tuple[str, ...] = ()
    """Claude Code: what is still in the client's queue, or just left it (see `prompt_queue`)."""
    last_seq: int | None = None
    """Buffer: the last own seq, by which holes and restarts are seen."""
    session_id: str | None = None
    """The session that the last header named."""
    project: str | None = None
    """The working folder that the last header named."""
    own_session: str | None = None
    """Codex: the session of the file itself; set once its first header was read."""
    forked_from: str | None = None
    """Codex: the session whose history is being told again; None when that is over."""
    side: bool = False
    """Codex: the whole file is a subagent's."""
    chain: str | None = None
    """Codex: hash of everything said so far, the parent of the next event's identity."""
    recent: tuple[str, ...] = ()
    """Codex: hashes of the last messages, by which the second copy of each is known."""
    tips: tuple[str, ...] = ()
    """Claude Code: ends of the uuids of the last lines, by which going back is noticed."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The events of one window: a pure function of its lines and the state before them."""

    events: tuple[Event, ...]
    noise: Mapping[str, int]
    quarantined: tuple[Quarantined, ...]
    state: DecoderState
    versions: Mapping[str, int] = field(default_factory=dict)
    odd_fields: Mapping[str, int] = field(default_factory=dict)
    """Fields that no rule knows, as `unknown_field:<name>`."""


def unknown_of(noise: Mapping[str, int]) -> dict[str, int]:
    """What of these counts is new to us: types and fields that no rule knows."""
    return {reason: count for reason, count in noise.items() if reason.startswith("unknown")}
