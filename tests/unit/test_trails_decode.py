import io

import pytest

from memclaw_etl.trails.decode import after, decode_bytes, look, look_lines
from memclaw_etl.trails.events import DecoderState, Position, RawLine, TrailKind
from memclaw_etl.trails.lines import read_lines
from tests.trail_lines import START, decode, dumped, joined, prompt, reply, texts


def test_reads_exactly_to_the_end_that_was_pinned() -> None:
    data = joined([prompt("one", 1), reply("two", 2), prompt("three", 3)])
    end = len(joined([prompt("one", 1), reply("two", 2)]))
    first, position = decode(data, byte_end=end)
    assert texts(first) == ["one", "two"]
    assert position == Position(seq=2, byte=end)
    rest, position = decode(data, start=position)
    assert texts(rest) == ["three"]
    assert position == Position(seq=3, byte=len(data))


def test_an_unterminated_whole_line_is_taken_once() -> None:
    data = dumped(prompt("one", 1))
    first, position = decode(data)
    assert texts(first) == ["one"]
    assert position == Position(seq=0, part=1, byte=len(data), open_line=True)
    closed, after_newline = decode(data + b"\n", start=position)
    assert (closed.events, after_newline) == ((), position)
    grown, _ = decode(data + b"\n" + joined([reply("two", 2)]), start=position)
    assert [(event.seq, event.part) for event in grown.events] == [(1, 0)]


def test_what_is_glued_to_a_taken_line_comes_under_its_seq() -> None:
    data = dumped(prompt("one", 1))
    _, position = decode(data)
    grown, end = decode(data + joined([reply("two", 2), reply("three", 3)]), start=position)
    assert [(event.seq, event.part) for event in grown.events] == [(0, 1), (1, 0)]
    assert end.seq == 2


@pytest.mark.parametrize("tail", [b'{"type":"us', b"12", b"  ", b"\x00", b'"text'])
def test_a_torn_tail_is_left(tail: bytes) -> None:
    data = joined([prompt("one", 1)])
    assembled, position = decode(data + tail)
    assert texts(assembled) == ["one"]
    assert assembled.quarantined == ()
    assert position == Position(seq=1, byte=len(data))


def test_nothing_to_read_leaves_the_position() -> None:
    start = Position(seq=4, byte=9)
    assembled, position = decode(b"123456789", start=start, byte_end=9)
    assert (assembled.events, position) == ((), start)


@pytest.mark.parametrize("kind", list(TrailKind))
def test_every_kind_looks_at_any_bytes(kind: TrailKind) -> None:
    for data in (b"", b"\xff", b"[]", b"null", b'{"role":[]}', b'{"seq":1}', b'{"type":{}}'):
        outcome = look(kind, RawLine(0, 0, 0, len(data), False, data))
        assert not list(outcome.events())


def test_max_events_bounds_what_a_window_gives() -> None:
    data = joined([prompt("one", 1), {"type": "mode"}])
    outcomes = list(
        look_lines(TrailKind.CLAUDE_CODE, read_lines(io.BytesIO(data), START), DecoderState())
    )
    assert [len(list(outcome.events())) for outcome in outcomes] == [1, 0]
    assert after(outcomes[1]) == Position(seq=2, byte=len(data))


def test_errors_of_the_file_are_not_swallowed() -> None:
    file = io.BytesIO(b"")
    file.close()
    with pytest.raises(ValueError):
        decode_bytes(
            TrailKind.CURSOR,
            file,
            start=START,
            byte_end=None,
            state=DecoderState(),
            file_session="x",
        )
