"""Lines of any trail kind -> events. The one place that knows which module reads which kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Final, Protocol

from memclaw_etl.trails import (
    buffer,
    claude_code,
    codex,
    cursor,
    gemini,
    openclaw,
    rollout,
    session,
)
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    LineOutcome,
    Position,
    RawLine,
    TrailKind,
)
from memclaw_etl.trails.lines import read_lines


class _Assemble(Protocol):
    def __call__(
        self, outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
    ) -> Assembled: ...


_LOOK: Final[dict[TrailKind, Callable[[RawLine], LineOutcome]]] = {
    TrailKind.CLAUDE_CODE: claude_code.look,
    TrailKind.CURSOR: cursor.look,
    TrailKind.OPENCLAW: openclaw.look,
    TrailKind.BUFFER: buffer.look,
    TrailKind.CODEX: codex.look,
    TrailKind.GEMINI: gemini.look,
}
_ASSEMBLE: Final[dict[TrailKind, _Assemble]] = {
    TrailKind.CLAUDE_CODE: session.assemble,
    TrailKind.CURSOR: cursor.assemble,
    TrailKind.OPENCLAW: openclaw.assemble,
    TrailKind.BUFFER: buffer.assemble,
    TrailKind.CODEX: rollout.assemble,
    TrailKind.GEMINI: gemini.assemble,
}


def look(kind: TrailKind, line: RawLine) -> LineOutcome:
    """Judge one physical line on its own. Pure; never raises on any bytes."""
    return _LOOK[kind](line)


def look_lines(
    kind: TrailKind, lines: Iterable[RawLine], state: DecoderState
) -> Iterator[LineOutcome]:
    """Judge lines one after the other; in a buffer, `seq` becomes the records' own.

    Streams. Use it instead of `look` wherever windows are cut: (seq, part) of what it yields is
    where a window starts and ends.
    """
    outcomes = map(_LOOK[kind], lines)
    if kind is TrailKind.BUFFER:
        return buffer.renumber(outcomes, last_seq=state.last_seq)
    return outcomes


def assemble(
    kind: TrailKind, outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Turn the outcomes of one window into its events and the state after it. Pure."""
    odd_fields: Counter[str] = Counter()
    assembled = _ASSEMBLE[kind](_noting(outcomes, odd_fields), state, file_session=file_session)
    return replace(assembled, odd_fields=dict(odd_fields)) if odd_fields else assembled


def _noting(outcomes: Iterable[LineOutcome], odd_fields: Counter[str]) -> Iterator[LineOutcome]:
    """Pass the outcomes on and count the fields that no rule knows."""
    for outcome in outcomes:
        if outcome.odd_fields:
            odd_fields.update(f"unknown_field:{name}" for name in outcome.odd_fields)
        yield outcome


def after(outcome: LineOutcome) -> Position:
    """The position behind a line that was consumed."""
    if outcome.terminated:
        return Position(seq=outcome.seq + 1, byte=outcome.byte_end)
    return Position(seq=outcome.seq, part=outcome.next_part, byte=outcome.byte_end, open_line=True)


def decode_bytes(
    kind: TrailKind,
    file: BinaryIO,
    *,
    start: Position,
    byte_end: int | None,
    state: DecoderState,
    file_session: str,
) -> tuple[Assembled, Position]:
    """Decode the trail from `start` to exactly `byte_end` (None: to the end of the file).

    An unterminated last line is taken when it is whole, and left where it is otherwise. Returns the
    events and the position behind the last line that was consumed.

    Raises:
        OSError: as the file raises it.
    """
    limit = None if byte_end is None else max(byte_end - start.byte, 0)
    taken = _Taken(start)
    outcomes = taken.each(look_lines(kind, read_lines(file, start, limit_bytes=limit), state))
    return assemble(kind, outcomes, state, file_session=file_session), taken.end


@dataclass(slots=True)
class _Taken:
    """Passes on what is consumed, and remembers where that ends; nothing is held."""

    end: Position

    def each(self, outcomes: Iterable[LineOutcome]) -> Iterator[LineOutcome]:
        for outcome in outcomes:
            if outcome.terminated or _holds_records(outcome):
                self.end = after(outcome)
                yield outcome


def _holds_records(outcome: LineOutcome) -> bool:
    """Whether an unterminated line may be taken: it parses, and is not mere white space."""
    return outcome.whole and outcome.next_part > outcome.first_part
