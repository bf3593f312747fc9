"""Reading a trail's lines for planning, and a pinned window's lines for work.

Both go through the same functions, so that a window decodes to what was pinned.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import structs

from memclaw_etl.errors import TrailRewrittenError
from memclaw_etl.lake.ledger import Node, Window
from memclaw_etl.settings import NamespaceSettings
from memclaw_etl.trails import decode
from memclaw_etl.trails.discovery import open_trail
from memclaw_etl.trails.errors import unreadable
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    LineOutcome,
    Position,
    RawLine,
    TrailKind,
)
from memclaw_etl.trails.lines import read_lines
from memclaw_etl.trails.opening import as_lines, is_session
from memclaw_etl.trails.stores import open_session
from memclaw_etl.windows.namespaces import named_by
from memclaw_etl.windows.plan import LineFacts

HEAD_BYTES = 4_096
TAIL_BYTES = 256


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line, what it says, and the bytes that it stands on."""

    raw: RawLine
    outcome: LineOutcome


def open_node(node: Node) -> BinaryIO:
    """Open a node's trail read-only, as lines.

    Raises:
        TrailUnreadableError: it is gone, is no regular file, or may not be read.
    """
    path, root = Path(node.real_path), Path(node.root)
    if is_session(path):
        return open_session(path, root=root, node_id=node.node_id)
    file = open_trail(path, root=root, node_id=node.node_id)
    return as_lines(TrailKind(node.kind), file, real_path=path, node_id=node.node_id)


@contextmanager
def reading(node: Node) -> Iterator[BinaryIO]:
    """A node's trail for reading. Whatever the disk refuses meanwhile becomes one kind of error.

    Raises:
        TrailUnreadableError: it cannot be opened, or not be read to the end.
    """
    try:
        with open_node(node) as file:
            yield file
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unreadable(Path(node.real_path), node.node_id, reason) from error


def state_of(stored: object) -> DecoderState:
    """The decoder state from its stored form (an empty object is the state at a trail's start)."""
    values: dict[str, Any] = dict(stored) if isinstance(stored, dict) else {}
    known: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one
        for name, one in values.items()
        if name in DecoderState.__dataclass_fields__
    }
    return DecoderState(**known)


def stored_form(state: DecoderState) -> dict[str, object]:
    """The stored form of a decoder state; free of trail text."""
    return asdict(state)


def read_from(
    kind: TrailKind,
    file: BinaryIO,
    start: Position,
    state: DecoderState,
    *,
    limit_bytes: int | None = None,
) -> Iterator[ReadLine]:
    """The lines of a trail from a position on, streaming.

    A buffer is read from its first byte (it is replaced as a whole when it is pruned) and lines
    below the position are passed over; so are lines whose seq is not above the line before.
    """
    if kind is TrailKind.BUFFER:
        yield from _read_buffer(file, start)
        return
    last: list[RawLine] = []

    def kept() -> Iterator[RawLine]:
        for raw in read_lines(file, start, limit_bytes=limit_bytes):
            last.append(raw)
            yield raw

    for outcome in decode.look_lines(kind, kept(), state):
        yield ReadLine(raw=last.pop(0), outcome=outcome)


def _read_buffer(file: BinaryIO, start: Position) -> Iterator[ReadLine]:
    last: list[RawLine] = []

    def kept() -> Iterator[RawLine]:
        for raw in read_lines(file, Position()):
            last.append(raw)
            yield raw

    reached = start.seq
    for outcome in decode.look_lines(TrailKind.BUFFER, kept(), DecoderState()):
        raw = last.pop(0)
        if outcome.seq >= reached:
            reached = outcome.seq
            yield ReadLine(raw=raw, outcome=outcome)


def facts_of(
    line: ReadLine, *, message_chars: int, namespaces: Sequence[NamespaceSettings]
) -> LineFacts:
    """What planning needs of a line; messages count up to the cap that follows masking."""
    outcome = line.outcome
    events = list(outcome.events())
    namespace, header_namespace = named_by(outcome, namespaces) if namespaces else (None, None)
    return LineFacts(
        seq=outcome.seq,
        next_part=outcome.next_part,
        byte_end=outcome.byte_end,
        length_bytes=outcome.byte_end - outcome.byte_start,
        terminated=outcome.terminated,
        whole=takeable(line),
        events=len(events),
        chars=sum(min(event.chars, message_chars) for event in events),
        namespace=namespace,
        header_namespace=header_namespace,
    )


def takeable(line: ReadLine) -> bool:
    """Whether the line parses, so that it may be taken although it has no newline yet."""
    return line.outcome.whole and line.outcome.next_part > line.outcome.first_part


def last_buffer_seq(file: BinaryIO) -> int | None:
    """The highest seq that a buffer's records carry; None when it holds none."""
    lines = _read_buffer(file, Position())
    seqs = [line.outcome.own_seqs[1] for line in lines if line.outcome.own_seqs]
    return max(seqs, default=None)


def closed(file: BinaryIO, start: Position) -> Position:
    """Step over the newline that a line got after it was taken without one."""
    if not start.open_line:
        return start
    file.seek(start.byte)
    if file.read(1) != b"\n":
        return start
    return Position(seq=start.seq + 1, part=0, byte=start.byte + 1)


def digest(lines: Iterable[ReadLine]) -> str:
    """SHA-256 of the bytes that the lines stand on."""
    hasher = hashlib.sha256()
    for line in lines:
        hasher.update(line.raw.data)
        if line.raw.terminated:
            hasher.update(b"\n")
    return hasher.hexdigest()


def read_window(node: Node, window: Window) -> Assembled:
    """Decode exactly the lines that were pinned.

    Raises:
        TrailUnreadableError: the trail cannot be opened now.
        TrailRewrittenError: its bytes are no longer those that were pinned.
    """
    kind = TrailKind(node.kind)
    state = state_of(window.decoder_state)
    with reading(node) as file:
        lines = list(_pinned_lines(kind, file, window, state))
    if kind is TrailKind.BUFFER:
        lines = _as_pinned(lines, window)
    if digest(lines) != window.sha256:
        raise TrailRewrittenError(
            f"window {window.partition_key}: bytes {window.byte_from}-{window.byte_to} of"
            f" {node.path} are not the ones that were pinned (sha256 {window.sha256[:12]});"
            " the trail was rewritten, its new content gets windows of its own"
        )
    outcomes = [line.outcome for line in lines]
    return decode.assemble(kind, outcomes, state, file_session=node.file_session)


def _pinned_lines(
    kind: TrailKind, file: BinaryIO, window: Window, state: DecoderState
) -> Iterator[ReadLine]:
    start = Position(
        seq=window.cursor_from, part=window.from_part, byte=window.byte_from,
        open_line=window.opens_line,
    )  # fmt: skip
    if kind is TrailKind.BUFFER:
        for line in _read_buffer(file, start):
            if line.outcome.seq > window.cursor_to:
                return
            yield line
        return
    file.seek(window.byte_from)
    data = BytesIO(file.read(window.byte_to - window.byte_from))
    shifted = Position(seq=start.seq, part=start.part, byte=0, open_line=start.open_line)
    yield from read_from(kind, data, shifted, state)


def _as_pinned(lines: Sequence[ReadLine], window: Window) -> list[ReadLine]:
    """A buffer's lines as they were when the window was pinned.

    Only a seq says where a window ends: the line that was last may have got its newline since, and
    pieces without a seq of their own, which carry the last one's, may have come behind it.
    """
    for count in range(len(lines), 0, -1):
        last = lines[count - 1]
        unended = ReadLine(structs.replace(last.raw, terminated=False), last.outcome)
        for end in (last, unended):
            found = [*lines[: count - 1], end]
            if digest(found) == window.sha256:
                return found
        if last.outcome.seq != window.cursor_to or last.outcome.own_seqs is not None:
            break
    return list(lines)


def fingerprints(file: BinaryIO, end_byte: int) -> tuple[str, str]:
    """Hashes of the first and the last bytes before `end_byte`, by which a rewrite is noticed.

    The file stays where it is read: planning streams its lines while windows are pinned.
    """
    at = file.tell()
    file.seek(0)
    head = hashlib.sha256(file.read(min(HEAD_BYTES, end_byte))).hexdigest()
    file.seek(max(end_byte - TAIL_BYTES, 0))
    tail = hashlib.sha256(file.read(min(TAIL_BYTES, end_byte))).hexdigest()
    file.seek(at)
    return head, tail
