"""Planning windows: a pure function from lines to cuts.

Windows tile the trail: each starts where the one before it ended, whatever the growth, the caps or
a crash between two plans. Sizes and rules are DESIGN section 4.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from memclaw_etl.settings import Limits
from memclaw_etl.trails.events import Position


@dataclass(frozen=True, slots=True)
class LineFacts:
    """What planning needs to know of one physical line.

    `events` and `chars` are upper bounds (a queued prompt may turn out to be said twice), so that
    caps hold whatever the window's assembly decides. `chars` counts a message up to the cap that is
    applied after masking.
    """

    seq: int
    next_part: int
    byte_end: int
    length_bytes: int
    terminated: bool
    whole: bool
    events: int
    chars: int
    namespace: str | None = None
    """Of the folder that its events name; None when they name none."""
    header_namespace: str | None = None
    """Of the folder that it names for the events after it."""


class Holds(StrEnum):
    """Why a window is cut where it is."""

    FULL = "full"
    """A cap was reached, or the namespace changed: it ends at its last included event."""
    REST = "rest"
    """All that was left of the trail."""
    NOISE = "noise"
    """A stretch without any event."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One planned window: `lines` lines of the input, from `start` up to and excluding `end`."""

    start: Position
    end: Position
    last_seq: int
    lines: int
    events: int
    holds: Holds


@dataclass(frozen=True, slots=True)
class _Open:
    """The window that is being filled, and the run of noise lines at its end."""

    start: Position
    end: Position
    lines: int = 0
    events: int = 0
    chars: int = 0
    length_bytes: int = 0
    # of its events
    namespace: str | None = None
    # what the last header named, wherever it stands
    header_namespace: str | None = None
    # the end of its last line with an event
    event_end: Position | None = None
    event_lines: int = 0
    event_last_seq: int = 0
    event_bytes: int = 0


def after(line: LineFacts) -> Position:
    """Where reading goes on after a line."""
    if line.terminated:
        return Position(seq=line.seq + 1, part=0, byte=line.byte_end, open_line=False)
    return Position(seq=line.seq, part=line.next_part, byte=line.byte_end, open_line=True)


def plan(
    lines: Iterable[LineFacts],
    start: Position,
    limits: Limits,
    *,
    still: bool,
    at_end: Callable[[], bool],
    header_namespace: str | None = None,
) -> Iterator[Cut]:
    """Cut the lines that follow `start` into windows.

    Args:
        lines: facts of the lines from `start` on, in order.
        start: the node's frontier.
        limits: the caps and the trickle rule.
        still: the trail is idle or a flush was asked for: what is left is taken, too, and so is an
            unterminated last line, if it parses.
        at_end: asked after the last line: whether the lines reached the end of the trail (False:
            reading stopped for its budget, and what is left waits for the next plan).
        header_namespace: what the last header before `start` named.

    Yields:
        Cuts that tile the lines without gap or overlap; lines after the last cut wait.
    """
    window = _Open(start=start, end=start, header_namespace=header_namespace)
    for line in lines:
        if not line.terminated and not (still and line.whole):
            break
        if window.lines and (_would_burst(window, line, limits) or _is_elsewhere(window, line)):
            cut, window = _cut_full(window)
            yield cut
            if window.lines and _would_burst(window, line, limits):
                cut, window = _cut_full(window)
                yield cut
        window = _extend(window, line)
    if at_end() and window.lines and _may_close(window, limits, still=still):
        yield _cut_rest(window)


def _would_burst(window: _Open, line: LineFacts, limits: Limits) -> bool:
    if window.length_bytes + line.length_bytes > limits.window_bytes:
        return True
    return bool(line.events) and (
        window.events + line.events > limits.window_events
        or window.chars + line.chars > limits.window_chars
    )


def _namespace(window: _Open, line: LineFacts) -> str | None:
    """Of the events of a line: their own, else that of the last header."""
    found = (line.namespace, line.header_namespace, window.header_namespace)
    return next((one for one in found if one is not None), None)


def _is_elsewhere(window: _Open, line: LineFacts) -> bool:
    """The talk goes on in a folder of another namespace: a window belongs to one of them."""
    if not (line.events and window.events):
        return False
    named = _namespace(window, line)
    return None not in {named, window.namespace} and named != window.namespace


def _extend(window: _Open, line: LineFacts) -> _Open:
    grown = replace(
        window,
        end=after(line),
        lines=window.lines + 1,
        events=window.events + line.events,
        chars=window.chars + line.chars,
        length_bytes=window.length_bytes + line.length_bytes,
        header_namespace=(
            window.header_namespace if line.header_namespace is None else line.header_namespace
        ),
    )
    if not line.events:
        return grown
    named = _namespace(window, line)
    return replace(
        grown,
        namespace=window.namespace if named is None else named,
        event_end=grown.end,
        event_lines=grown.lines,
        event_last_seq=line.seq,
        event_bytes=grown.length_bytes,
    )


def _cut_full(window: _Open) -> tuple[Cut, _Open]:
    """End a full window at its last event; the noise behind it opens the next one."""
    if window.event_end is None:
        cut = Cut(
            start=window.start,
            end=window.end,
            last_seq=_last_seq(window.end),
            lines=window.lines,
            events=0,
            holds=Holds.NOISE,
        )
        rest = _Open(start=window.end, end=window.end, header_namespace=window.header_namespace)
        return cut, rest
    cut = Cut(
        start=window.start,
        end=window.event_end,
        last_seq=window.event_last_seq,
        lines=window.event_lines,
        events=window.events,
        holds=Holds.FULL,
    )
    rest = _Open(
        start=window.event_end,
        end=window.end,
        lines=window.lines - window.event_lines,
        length_bytes=window.length_bytes - window.event_bytes,
        header_namespace=window.header_namespace,
    )
    return cut, rest


def _may_close(window: _Open, limits: Limits, *, still: bool) -> bool:
    if still:
        return True
    return window.events >= limits.trickle_events or window.chars >= limits.trickle_chars


def _cut_rest(window: _Open) -> Cut:
    return Cut(
        start=window.start,
        end=window.end,
        last_seq=_last_seq(window.end),
        lines=window.lines,
        events=window.events,
        holds=Holds.REST if window.events else Holds.NOISE,
    )


def _last_seq(end: Position) -> int:
    return end.seq if end.open_line else end.seq - 1
