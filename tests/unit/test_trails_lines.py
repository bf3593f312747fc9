import io
import sys

import pytest

from memclaw_etl.trails import lines as lines_module
from memclaw_etl.trails.events import Position, RawLine
from memclaw_etl.trails.lines import parse_records, read_lines

START = Position()


def read(data: bytes, start: Position = START, limit: int | None = None) -> list[RawLine]:
    return list(read_lines(io.BytesIO(data), start, limit_bytes=limit))


def line(data: bytes, *, terminated: bool = True, seq: int = 7) -> RawLine:
    return RawLine(seq, 0, 100, 100 + len(data) + terminated, terminated, data)


def test_only_0x0a_ends_a_line() -> None:
    found = read(b"a\rb\x0b\x0c\xc2\x85\xe2\x80\xa8c\n\nd")
    assert [(one.seq, one.data, one.terminated) for one in found] == [
        (0, b"a\rb\x0b\x0c\xc2\x85\xe2\x80\xa8c", True),
        (1, b"", True),
        (2, b"d", False),
    ]
    assert [(one.byte_start, one.byte_end) for one in found] == [(0, 12), (12, 13), (13, 14)]


def test_reads_on_from_a_position_and_not_beyond_the_limit() -> None:
    found = read(b"one\ntwo\nthree\n", Position(seq=1, byte=4), limit=6)
    assert [(one.seq, one.data, one.terminated) for one in found] == [
        (1, b"two", True),
        (2, b"th", False),
    ]


def test_a_newline_only_closes_the_open_line() -> None:
    start = Position(seq=3, part=1, byte=3, open_line=True)
    assert read(b"one\n", start) == []
    [after] = read(b"one\ntwo\n", start)
    assert (after.seq, after.first_part, after.data) == (4, 0, b"two")
    assert (after.byte_start, after.byte_end, after.data_start) == (3, 8, 4)


def test_anything_else_continues_the_open_line() -> None:
    found = read(b"one{}\ntwo\n", Position(seq=3, part=1, byte=3, open_line=True))
    assert [(one.seq, one.first_part, one.data) for one in found] == [(3, 1, b"{}"), (4, 0, b"two")]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_blocks_may_cut_anywhere(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"first\n\nthe third line\nlast"
    whole = read(data)
    monkeypatch.setattr(lines_module, "_BLOCK_BYTES", block)
    assert read(data) == whole


@pytest.mark.parametrize("block", [3, 8])
def test_a_too_long_line_is_flagged_and_costs_no_other(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 10)
    monkeypatch.setattr(lines_module, "_BLOCK_BYTES", block)
    found = read(b"[1]\n" + b'"' + b"x" * 20 + b'"\n[2]\n' + b"y" * 11)
    kept = [one for one in found if not one.too_long]
    assert [one.data for one in kept] == [b"[1]", b"[2]"]
    assert all(one.data == b"" for one in found if one.too_long)
    assert found[1].byte_end == found[2].byte_start == 27
    lost = parse_records(found[1]).quarantined[0]
    assert (lost.seq, lost.byte_start, lost.length_bytes, lost.reason) == (
        1,
        4,
        22,
        "line_too_long",
    )
    assert not parse_records(found[3]).whole


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1}\r',
        b'\x00\x00{"a":1}\x00',
        b'\x00 {"a":1} \x00\r',
    ],
)
def test_edges_are_cleaned(data: bytes) -> None:
    parsed = parse_records(line(data))
    assert parsed.records == ((0, {"a": 1}),)
    assert (parsed.next_part, parsed.whole, parsed.quarantined) == (1, True, ())


@pytest.mark.parametrize("data", [b"", b"  \t", b"\x00\x00\x00", b"\r"])
def test_a_blank_line_is_nothing(data: bytes) -> None:
    parsed = parse_records(line(data))
    assert (parsed.records, parsed.next_part, parsed.whole, parsed.quarantined) == ((), 0, True, ())


def value(data: bytes) -> object:
    parsed = parse_records(line(data))
    assert parsed.whole
    [(part, found)] = parsed.records
    assert part == 0
    return found


def test_what_orjson_refuses() -> None:
    assert value(rb'{"a":"x\ud800y"}') == {"a": "x\ufffdy"}
    assert value(rb'{"\udc00":["\ud83d\ude00"],"n":NaN}').keys() == {"\ufffd", "n"}
    assert value(rb'{"a":"\ud83d\ude00","b":NaN}')["a"] == "\U0001f600"
    assert value(b'{"a":"\xff\xfe"}') == {"a": "\ufffd\ufffd"}
    assert value(b'{"a":"tab\there"}') == {"a": "tab\there"}
    assert value(b'{"a":-Infinity}') == {"a": float("-inf")}
    assert value(b'{"a":NaN,"n":' + b"9" * 5000 + b"}")["n"] == float("inf")


def test_glued_records_count_parts() -> None:
    parsed = parse_records(line(b'{"a":1}{"b":2} \x00{"c":NaN}'))
    assert [part for part, _ in parsed.records] == [0, 1, 2]
    assert (parsed.next_part, parsed.whole) == (3, True)


def test_a_broken_head_is_one_part_and_what_follows_is_found() -> None:
    head, tail = b'{"parentUuid":null,"message":{"role":"as', b'{"parentUuid":"x","n":2}'
    parsed = parse_records(line(head + tail))
    assert parsed.records == ((1, {"parentUuid": "x", "n": 2}),)
    assert (parsed.next_part, parsed.whole) == (2, False)
    [lost] = parsed.quarantined
    assert (lost.byte_start, lost.length_bytes, lost.reason) == (100, len(head), "broken_json")


def test_offsets_count_bytes_not_characters() -> None:
    head = '{"type":"é\U0001f600'.encode() + b"\xff"
    parsed = parse_records(line(b"\x00" + head + b'{"type":"mode"}'))
    [lost] = parsed.quarantined
    assert (lost.byte_start, lost.length_bytes) == (101, len(head))


def test_nothing_nested_is_taken_out_of_a_broken_record() -> None:
    inner = b'{"type":"user","message":{"role":"user","content":"not typed"}}'
    parsed = parse_records(line(b'{"type":"progress","data":{"message":' + inner + b',"x'))
    assert parsed.records == ()
    assert (parsed.next_part, parsed.whole) == (1, False)


def test_deep_nesting_never_raises() -> None:
    depth = sys.getrecursionlimit() * 100
    parsed = parse_records(line(b'{"type":' + b"[" * depth + b"]" * depth + b"}"))
    assert parsed.records == ()
    assert parsed.quarantined[0].reason == "too_deep"


def test_an_unterminated_number_is_not_whole() -> None:
    assert not parse_records(line(b"12", terminated=False)).whole
    assert not parse_records(line(b'{"a":1}12', terminated=False)).whole
    assert not parse_records(line(b'{"a":1', terminated=False)).whole
    assert parse_records(line(b'{"a":1}', terminated=False)).whole
    assert parse_records(line(b"12")).whole


def test_many_broken_starts_stay_cheap() -> None:
    data = b'{"type":"x","y":[' * 20_000
    assert parse_records(line(data)).records == ()
