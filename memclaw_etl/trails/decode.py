"""Lines of any trail kind -> events. The one place that knows which module reads which kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
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
from memclaw_etl.trails.lines import read_lines, read_runs


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
    seen = _Seen()
    assembled = _ASSEMBLE[kind](seen.each(outcomes), state, file_session=file_session)
    return replace(assembled, odd_fields=dict(seen.odd_fields))


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
    if kind is TrailKind.CLAUDE_CODE:
        looked = claude_code.look_runs(read_runs(file, start, limit_bytes=limit))
    else:
        looked = look_lines(kind, read_lines(file, start, limit_bytes=limit), state)
    seen = _Seen()
    outcomes = seen.each(looked, only_taken=True)
    assembled = _ASSEMBLE[kind](outcomes, state, file_session=file_session)
    end = after(seen.last) if seen.last else start
    return replace(assembled, odd_fields=dict(seen.odd_fields)), end


@dataclass(slots=True)
class _Seen:
    """Passes outcomes on, and remembers the last of them; nothing else is held."""

    last: LineOutcome | None = None
    odd_fields: Counter[str] = field(default_factory=Counter)

    def each(
        self, outcomes: Iterable[LineOutcome], *, only_taken: bool = False
    ) -> Iterator[LineOutcome]:
        """Each of them; `only_taken`: not an unterminated last line that is no record yet."""
        for outcome in outcomes:
            if only_taken and not outcome.terminated and not _holds_records(outcome):
                return
            self.last = outcome
            if outcome.odd_fields:
                self.odd_fields.update(f"unknown_field:{name}" for name in outcome.odd_fields)
            yield outcome


def _holds_records(outcome: LineOutcome) -> bool:
    """Whether an unterminated line may be taken: it parses, and is not mere white space."""
    return outcome.whole and outcome.next_part > outcome.first_part
