"""Planning: windows tile the trail, whatever its lines, growth, caps and crashes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.settings import Limits
from memclaw_etl.trails.events import Position
from memclaw_etl.windows.plan import Cut, Holds, LineFacts, after, plan

START = Position()


@dataclass(frozen=True)
class Line:
    """A line of an invented trail: its length and what it holds."""

    length: int
    events: int = 0
    chars: int = 0
    records: int = 1
    namespace: str | None = None
    header_namespace: str | None = None


NAMESPACES = st.sampled_from([None, None, "a", "b"])
LINES = st.lists(
    st.one_of(
        st.builds(Line, st.integers(2, 40), records=st.integers(0, 2), header_namespace=NAMESPACES),
        st.builds(
            lambda length, events, chars, named: Line(length, events, chars, events, named),
            st.integers(2, 40),
            st.integers(1, 3),
            st.integers(0, 30),
            NAMESPACES,
        ),
    ),
    max_size=40,
)
LIMITS = st.builds(
    Limits,
    window_events=st.integers(1, 12),
    window_chars=st.integers(1, 90),
    window_bytes=st.integers(1, 200),
    trickle_events=st.integers(1, 6),
    trickle_chars=st.integers(1, 60),
)


def facts(
    lines: Sequence[Line], start: Position, *, torn: int | None = None, whole: bool = True
) -> list[LineFacts]:
    """The facts of the lines from `start` on; the last of them unterminated when `torn` is set."""
    found, byte = [], 0
    for seq, line in enumerate(lines):
        last = torn is not None and seq == len(lines) - 1
        end = byte + line.length - last
        if seq >= start.seq and end > start.byte:
            first = start.part if seq == start.seq else 0
            found.append(
                LineFacts(
                    seq=seq,
                    next_part=first + max(line.records, 1 if last else 0),
                    byte_end=end,
                    length_bytes=end - max(byte, start.byte),
                    terminated=not last,
                    whole=whole,
                    events=line.events,
                    chars=line.chars,
                    namespace=line.namespace,
                    header_namespace=line.header_namespace,
                )
            )
        byte = end
    return found


def planned(
    lines: Sequence[LineFacts],
    limits: Limits,
    *,
    start: Position = START,
    still: bool = True,
    at_end: bool = True,
) -> list[Cut]:
    return list(plan(lines, start, limits, still=still, at_end=lambda: at_end))


def said_where(lines: Sequence[LineFacts]) -> list[str | None]:
    """The namespace of each line's events; None without events, or where nothing names one."""
    where, header = [], None
    for line in lines:
        header = line.header_namespace or header
        where.append((line.namespace or header) if line.events else None)
    return where


def held(cuts: Sequence[Cut], lines: Sequence[LineFacts]) -> Iterator[tuple[Cut, list[LineFacts]]]:
    """Each cut with its lines."""
    at = 0
    for cut in cuts:
        yield cut, list(lines[at : at + cut.lines])
        at += cut.lines


def assert_tiles(cuts: Sequence[Cut], lines: Sequence[LineFacts], start: Position) -> None:
    at = start
    for cut, own in held(cuts, lines):
        assert cut.lines == len(own) > 0
        assert cut.start == at
        assert cut.end == after(own[-1])
        assert cut.last_seq == own[-1].seq
        assert cut.events == sum(line.events for line in own)
        at = cut.end


@given(LINES, LIMITS, st.booleans(), st.booleans())
def test_windows_tile_what_they_take(
    lines: list[Line], limits: Limits, still: bool, at_end: bool
) -> None:
    read = facts(lines, START)
    cuts = planned(read, limits, still=still, at_end=at_end)
    assert_tiles(cuts, read, START)
    if still and at_end:
        assert sum(cut.lines for cut in cuts) == len(read)


@given(LINES, LIMITS)
def test_caps_hold_except_for_one_line_over_the_cap(lines: list[Line], limits: Limits) -> None:
    read = facts(lines, START)
    for _, own in held(planned(read, limits), read):
        speaking = [line for line in own if line.events]
        if len(speaking) > 1:
            assert sum(line.events for line in own) <= limits.window_events
            assert sum(line.chars for line in own) <= limits.window_chars
        if len(own) > 1:
            assert sum(line.length_bytes for line in own) <= limits.window_bytes


@given(LINES, LIMITS)
def test_a_full_window_ends_at_its_last_event(lines: list[Line], limits: Limits) -> None:
    read = facts(lines, START)
    for cut, own in held(planned(read, limits), read):
        if cut.holds is Holds.FULL:
            assert own[-1].events
        if cut.holds is Holds.NOISE:
            assert not any(line.events for line in own)
        else:
            assert cut.events


@given(LINES, LIMITS)
def test_a_window_is_full_only_where_the_next_event_would_burst_it(
    lines: list[Line], limits: Limits
) -> None:
    """No window is cut smaller than the caps ask for: few windows, few model calls."""
    read = facts(lines, START)
    cuts = planned(read, limits)
    where = said_where(read)
    at = 0
    for cut in cuts[:-1]:
        own, rest = read[at : at + cut.lines], read[at + cut.lines :]
        at += cut.lines
        grown_events, grown_chars = cut.events, sum(line.chars for line in own)
        grown_bytes = sum(line.length_bytes for line in own)
        before = [one for one in where[at - cut.lines : at] if one is not None]
        behind = next(
            (one for line, one in zip(rest, where[at:], strict=True) if line.events), None
        )
        is_elsewhere = bool(before) and behind is not None and behind != before[-1]
        for line in rest:
            grown_events, grown_chars = grown_events + line.events, grown_chars + line.chars
            grown_bytes += line.length_bytes
            if line.events or grown_bytes > limits.window_bytes:
                break
        assert (
            grown_events > limits.window_events
            or grown_chars > limits.window_chars
            or grown_bytes > limits.window_bytes
            or is_elsewhere
        )


@given(LINES, LIMITS)
def test_what_a_window_says_belongs_to_one_namespace(lines: list[Line], limits: Limits) -> None:
    read = facts(lines, START)
    where = said_where(read)
    at = 0
    for cut in planned(read, limits):
        assert len(set(where[at : at + cut.lines]) - {None}) <= 1
        at += cut.lines


@given(LINES, LIMITS)
def test_a_trickle_waits_until_the_trail_is_still(lines: list[Line], limits: Limits) -> None:
    read = facts(lines, START)
    cuts = planned(read, limits, still=False)
    rest = read[sum(cut.lines for cut in cuts) :]
    few = sum(line.events for line in rest) < limits.trickle_events
    short = sum(line.chars for line in rest) < limits.trickle_chars
    assert few
    assert short
    for cut in cuts:
        if cut.holds is Holds.REST:
            assert cut is cuts[-1]


@given(LINES, LIMITS)
def test_a_stretch_without_events_waits_too_unless_it_is_huge(
    lines: list[Line], limits: Limits
) -> None:
    quiet = [replace(line, events=0, chars=0) for line in lines]
    read = facts(quiet, START)
    for cut, own in held(planned(read, limits, still=False), read):
        assert cut.holds is Holds.NOISE
        size = sum(line.length_bytes for line in own)
        following = read[len(own)].length_bytes if len(own) < len(read) else 0
        assert size + max(following, *(line.length_bytes for line in read)) > limits.window_bytes


@given(LINES, LIMITS, st.booleans())
def test_nothing_is_cut_short_where_reading_stopped_for_its_budget(
    lines: list[Line], limits: Limits, still: bool
) -> None:
    """What a stopped look pins is the beginning of what one uninterrupted look pins."""
    read = facts(lines, START)
    whole = planned(read, limits, still=True)
    for stop in range(len(read)):
        part = planned(read[:stop], limits, still=still, at_end=False)
        assert part == whole[: len(part)]


LOOKS = st.lists(
    st.tuples(st.integers(0, 15), st.booleans(), st.booleans(), st.integers(0, 6)), max_size=8
)
"""Per look: lines written before it, whether still, whether read to the end, pins till the crash."""


@given(LINES, LIMITS, LOOKS)
def test_growth_and_crashes_between_plans_leave_no_gap_and_no_overlap(
    lines: list[Line], limits: Limits, looks: list[tuple[int, bool, bool, int]]
) -> None:
    """The trail grows in steps; of each plan only a beginning gets pinned before a crash."""
    pinned: list[Cut] = []
    at, seen = START, 0
    for growth, still, at_end, survivors in looks:
        seen = min(seen + growth, len(lines))
        read = facts(lines[:seen], at)
        cuts = planned(read, limits, start=at, still=still, at_end=at_end)
        assert_tiles(cuts, read, at)
        kept = cuts[:survivors]
        pinned += kept
        at = kept[-1].end if kept else at
    pinned += planned(facts(lines, at), limits, start=at)
    everything = facts(lines, START)
    assert_tiles(pinned, everything, START)
    assert sum(cut.lines for cut in pinned) == len(everything)


@given(LINES.filter(bool), LIMITS, st.booleans(), st.booleans())
def test_an_unterminated_last_line_is_taken_only_when_still_and_whole(
    lines: list[Line], limits: Limits, still: bool, whole: bool
) -> None:
    read = facts(lines, START, torn=1, whole=whole)
    cuts = planned(read, limits, still=still)
    assert_tiles(cuts, read, START)
    taken = sum(cut.lines for cut in cuts) == len(read)
    assert taken == (still and whole)
    if taken:
        assert cuts[-1].end.open_line
        assert cuts[-1].end.seq == read[-1].seq
        assert cuts[-1].end.part == read[-1].next_part > 0


@given(LINES.filter(bool), LIMITS, st.integers(1, 30), st.integers(0, 3))
def test_what_is_glued_to_a_taken_line_starts_at_its_next_part(
    lines: list[Line], limits: Limits, glued: int, events: int
) -> None:
    first = facts(lines, START, torn=1)
    cuts = planned(first, limits)
    at = cuts[-1].end
    rest = LineFacts(
        seq=at.seq, next_part=at.part + 1, byte_end=at.byte + glued, length_bytes=glued,
        terminated=True, whole=True, events=events, chars=events,
    )  # fmt: skip
    following = replace(rest, seq=at.seq + 1, next_part=1, byte_end=rest.byte_end + 5)
    later = planned([rest, following], limits, start=at)
    assert_tiles(later, [rest, following], at)
    assert (later[0].start.seq, later[0].start.part) == (first[-1].seq, first[-1].next_part)
    starts = [(cut.start.seq, cut.start.part) for cut in cuts + later]
    assert starts == sorted(set(starts))


def test_an_empty_trail_has_no_window() -> None:
    assert planned([], Limits()) == []


@pytest.mark.parametrize(
    ("events", "chars", "closes"),
    [(9, 199, False), (10, 1, True), (1, 1999, False), (1, 2000, True)],
)
def test_the_trickle_rule_is_ten_events_or_two_thousand_characters(
    events: int, chars: int, closes: bool
) -> None:
    lines = [Line(100, 1, 1)] * (events - 1) + [Line(100, 1, chars - events + 1)]
    cuts = planned(facts(lines, START), Limits(), still=False)
    assert bool(cuts) == closes


def test_the_caps_are_400_events_and_150_000_characters() -> None:
    many = planned(facts([Line(10, 1, 1)] * 1000, START), Limits())
    assert [cut.events for cut in many] == [400, 400, 200]
    long = planned(facts([Line(10, 1, 8000)] * 40, START), Limits())
    assert [cut.events for cut in long] == [18, 18, 4]
