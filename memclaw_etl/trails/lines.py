"""Bytes of a trail -> physical lines -> JSON records, whatever the bytes are.

A line is what stands between two bytes 0x0A; nothing else ends one. Real trails hold glued records,
cut-off records with the next one glued on, runs of NUL bytes, a BOM, lone surrogates, NaN and bad
UTF-8. A damaged line never costs another line its events, and no input raises.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import msgspec
import orjson

from memclaw_etl.trails.events import LineRun, Position, Quarantined, RawLine
from memclaw_etl.trails.lenient import LenientError, decode_at, decode_text

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""A longer physical line is quarantined without being held in memory."""

_BLOCK_BYTES: Final = 256 * 1024
_BOM: Final = b"\xef\xbb\xbf"
_NEWLINE: Final = 0x0A
_EDGE: Final = b"\x00\r\t "
_BLANK: Final = re.compile(r"[\x00\r\t ]*")
_RECORD_START: Final = re.compile(r'\{"(?:parentUuid|type|role|seq)"')
_RECOVERY_CHARS: Final = 256 * 1024 * 1024
_MAX_RECOVERIES: Final = 1000


class ParsedLine(msgspec.Struct, frozen=True, gc=False):
    """The records of one physical line.

    `records` are (part, value) in order; a broken piece uses up a part number and stands in
    `quarantined`. `next_part` is the part number after the last; `whole` says that nothing broke.
    """

    records: tuple[tuple[int, object], ...]
    next_part: int
    whole: bool
    quarantined: tuple[Quarantined, ...] = ()

    @property
    def last_value(self) -> object:
        """The value of the last record, None where there is none."""
        return self.records[-1][1] if self.records else None


def read_lines(
    file: BinaryIO, start: Position, *, limit_bytes: int | None = None
) -> Iterator[RawLine]:
    """Yield the physical lines from `start`, streaming, at most `limit_bytes` of the file.

    The bytes [byte_start, byte_end) of the lines tile what was read. The last line may be
    unterminated. With `start.open_line`, a newline at `start.byte` only closes the line that was
    consumed before (it becomes part of the next line's range, and yields nothing alone); any other
    byte continues that line under the same seq.

    Raises:
        OSError: as the file raises it.
    """
    for piece in read_runs(file, start, limit_bytes=limit_bytes):
        if isinstance(piece, RawLine):
            yield piece
            continue
        shift = piece.byte_start - piece.begin
        begin = piece.begin
        for seq, newline in enumerate(piece.newlines, start=piece.seq):
            data, end = piece.block[begin:newline], newline + 1
            yield RawLine(seq, 0, begin + shift, end + shift, True, data)  # noqa: FBT003
            begin = end


def read_runs(
    file: BinaryIO, start: Position, *, limit_bytes: int | None = None
) -> Iterator[RawLine | LineRun]:
    """The lines of `read_lines`, those that lie within one block together.

    Raises:
        OSError: as the file raises it.
    """
    file.seek(start.byte)
    seq, part, at, line_start = start.seq, start.part, start.byte, start.byte
    may_close = start.open_line
    held = _Held()
    for block in _blocks(file, limit_bytes):
        begin = 0
        if may_close and block[0] == _NEWLINE:
            seq, part, at, begin = seq + 1, 0, at + 1, 1
        may_close = False
        newlines = _newlines(block, begin)
        if newlines:
            newline = newlines.pop(0)
            first = held.joined_with(block[begin:newline])
            at += newline - begin + 1
            yield RawLine(seq, part, line_start, at, True, first, held.too_long)  # noqa: FBT003
            held, seq, part = _Held(), seq + 1, 0
            begin = newline + 1
            if newlines:
                yield LineRun(seq, at, block, begin, newlines)
                seq += len(newlines)
                at += newlines[-1] + 1 - begin
                begin = newlines[-1] + 1
            line_start = at
        at += len(block) - begin
        held.add(block[begin:])
    if held.length_bytes:
        yield RawLine(seq, part, line_start, at, False, held.joined_with(b""), held.too_long)  # noqa: FBT003


def _newlines(block: bytes, begin: int) -> list[int]:
    """Where the newlines of a block stand."""
    found: list[int] = []
    find, at = block.find, block.find(b"\n", begin)
    while at >= 0:
        found.append(at)
        at = find(b"\n", at + 1)
    return found


@dataclass(slots=True)
class _Held:
    """The beginning of a line whose end was not read yet. Forgets what grows too long."""

    pieces: list[bytes] = field(default_factory=list)
    length_bytes: int = 0

    @property
    def too_long(self) -> bool:
        """Whether the line is longer than we hold in memory."""
        return self.length_bytes > MAX_LINE_BYTES

    def add(self, piece: bytes) -> None:
        """Hold one more piece of the line."""
        self.length_bytes += len(piece)
        if self.too_long:
            self.pieces.clear()
        elif piece:
            self.pieces.append(piece)

    def joined_with(self, last: bytes) -> bytes:
        """The whole line, empty if too long."""
        if not self.length_bytes and len(last) <= MAX_LINE_BYTES:
            return last
        self.add(last)
        return b"".join(self.pieces)


def _blocks(file: BinaryIO, limit_bytes: int | None) -> Iterator[bytes]:
    """Read on in blocks until the end or the limit."""
    left = limit_bytes
    while left is None or left > 0:
        block = file.read(_BLOCK_BYTES if left is None else min(_BLOCK_BYTES, left))
        if not block:
            return
        if left is not None:
            left -= len(block)
        yield block


def parse_records(line: RawLine) -> ParsedLine:
    """Parse every JSON value on one physical line. Never raises.

    orjson first; what it refuses goes through the lenient path: NaN, lone surrogates and bad UTF-8
    (both become U+FFFD), glued records, and a record that starts after a broken one. A number or
    word at an unterminated end is not `whole`: more of it may come.
    """
    try:
        value = orjson.loads(line.data)
    except orjson.JSONDecodeError:
        return _parse_unclean(line)
    part = line.first_part
    whole = line.terminated or isinstance(value, dict)
    return ParsedLine(((part, value),), part + 1, whole)


def _parse_unclean(line: RawLine) -> ParsedLine:
    """Parse what is not one JSON value as it stands."""
    part = line.first_part
    if line.too_long:
        length = line.byte_end - line.byte_start - line.terminated
        lost = Quarantined(line.seq, line.byte_start, length, "line_too_long")
        return ParsedLine((), part + 1, whole=False, quarantined=(lost,))
    data = line.data.strip(_EDGE).removeprefix(_BOM).strip(_EDGE)
    if not data:
        return ParsedLine((), part, whole=True)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        parsed = _parse_damaged(line, data)
    else:
        parsed = ParsedLine(((part, value),), part + 1, whole=True)
    ends_in_record = line.terminated or isinstance(parsed.last_value, dict)
    return parsed if ends_in_record else msgspec.structs.replace(parsed, whole=False)


def _parse_damaged(line: RawLine, data: bytes) -> ParsedLine:
    """Take every record of a line that is not one clean JSON value."""
    text = decode_text(data)
    offset = line.data_start + line.data.find(data)
    records: list[tuple[int, object]] = []
    lost: list[Quarantined] = []
    part, at = line.first_part, 0
    while at < len(text):
        try:
            value, end = decode_at(text, at)
        except LenientError as error:
            end = _next_record(text, at)
            start_bytes = _length_bytes(text[:at])
            length = _length_bytes(text[at:end])
            lost.append(Quarantined(line.seq, offset + start_bytes, length, error.reason))
        else:
            records.append((part, value))
        part += 1
        at = _skip_blank(text, end)
    return ParsedLine(tuple(records), part, whole=not lost, quarantined=tuple(lost))


def _next_record(text: str, at: int) -> int:
    """Where the next complete record starts after the broken one at `at`; the end if nowhere.

    A record counts only when nothing, or another record, follows it: what is nested in a broken
    record is followed by a comma or a bracket.
    """
    tries = max(16, min(_MAX_RECOVERIES, _RECOVERY_CHARS // len(text)))
    for _, match in zip(range(tries), _RECORD_START.finditer(text, at + 1), strict=False):
        try:
            _, end = decode_at(text, match.start())
        except LenientError:
            continue
        end = _skip_blank(text, end)
        if end == len(text) or _RECORD_START.match(text, end):
            return match.start()
    return len(text)


def _skip_blank(text: str, at: int) -> int:
    """Index of the next character that is neither white space nor NUL."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _length_bytes(text: str) -> int:
    """Length in the file of text that `decode_text` gave."""
    return len(text.encode("utf-8", "surrogateescape"))
