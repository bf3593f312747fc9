"""Whatever happens to the bytes of a trail: no exception, and undamaged lines keep their events."""

import io

from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.trails.claude_code import look, look_thoroughly
from memclaw_etl.trails.decode import after, decode_bytes, look_lines
from memclaw_etl.trails.events import DecoderState, Position, RawLine, TrailKind
from memclaw_etl.trails.lines import parse_records, read_lines
from tests.trail_lines import START, decode, dumped, joined, prompt, queue, reply, tool_result

WORDS = st.text(
    st.characters(blacklist_categories=("Cs",)) | st.sampled_from("\n\r\x00\x85\u2028{}\"'\\<>[]/"),
    max_size=40,
)
KINDS = st.sampled_from(list(TrailKind))


@st.composite
def records(draw: st.DrawFn) -> list[dict]:
    """Records of a session, each with a uuid of its own."""
    made = []
    for number in range(draw(st.integers(0, 8))):
        words = draw(WORDS)
        make = draw(st.sampled_from([prompt, reply, tool_result, steered, other, queued]))
        made.append(make(words, number))
    return made


def steered(words: str, number: int) -> dict:
    return tool_result("out", number, {"type": "text", "text": words})


def other(words: str, number: int) -> dict:
    return {"type": "progress", "data": {"message": prompt(words, number)}, "version": "2.1.9"}


def queued(words: str, number: int) -> dict:
    return queue("enqueue", words, number)


JUNK = st.sampled_from(
    [
        b"",
        b"\x00" * 9,
        b"\xff\xfe",
        b"NaN",
        b'{"type":"user","mess',
        b'"text',
        b"]}",
        b'{"a":' * 2000,
        b'{"type":"user","message":{"content":"\\ud800"}',
        b"\r",
    ]
) | st.binary(max_size=30).map(lambda data: data.replace(b"\n", b""))


def by_identity(data: bytes) -> dict[str, str]:
    assembled, _ = decode(data)
    return {
        event.identity: event.content
        for event in assembled.events
        if event.identity.startswith("uuid:")
    }


@given(KINDS, st.binary(max_size=300) | JUNK, st.integers(1, 50))
def test_any_bytes_decode_and_tile(kind: TrailKind, data: bytes, limit: int) -> None:
    lines = list(read_lines(io.BytesIO(data), START))
    at = 0
    for line in lines:
        assert line.byte_start == at
        at = line.byte_end
        assert data[line.data_start :].startswith(line.data)
    assert at == len(data)
    for end in (None, limit):
        _, position = decode_bytes(
            kind,
            io.BytesIO(data),
            start=START,
            byte_end=end,
            state=DecoderState(),
            file_session="s",
        )
        assert position.byte <= len(data)


@given(records(), st.lists(st.tuples(st.integers(0, 8), JUNK), max_size=4))
def test_junk_lines_cost_no_other_line_its_events(
    made: list[dict], junk: list[tuple[int, bytes]]
) -> None:
    lines = [dumped(record) for record in made]
    expected = by_identity(joined(made))
    for place, data in junk:
        lines.insert(place, data)
    found = by_identity(b"".join(line + b"\n" for line in lines))
    assert {key: found.get(key) for key in expected} == expected


@given(records(), st.data())
def test_glued_lines_keep_their_events(made: list[dict], data: st.DataObject) -> None:
    ends = [data.draw(st.sampled_from([b"\n", b"", b"\x00", b" \r"])) for _ in made]
    glued = b"".join(dumped(record) + end for record, end in zip(made, ends, strict=True)) + b"\n"
    assert by_identity(glued) == by_identity(joined(made))
    assert all(parse_records(line).whole for line in read_lines(io.BytesIO(glued), START))


@given(records(), st.data())
def test_a_cut_off_record_costs_the_glued_one_nothing(
    made: list[dict], data: st.DataObject
) -> None:
    cut = dumped(prompt("cut off", 99))
    cut = cut[: data.draw(st.integers(1, len(cut) - 1))]
    after_cut = prompt("kept", 98)
    damaged = joined(made) + cut + dumped(after_cut) + b"\n"
    assert by_identity(damaged) == by_identity(joined([*made, after_cut]))


@given(records(), st.data())
def test_two_looks_see_what_one_look_sees(made: list[dict], data: st.DataObject) -> None:
    made = [record for record in made if record["type"] != "queue-operation"]
    whole = joined(made)
    middle = data.draw(st.integers(0, len(whole)))
    first, position = decode(whole[:middle])
    second, end = decode(whole, start=position, state=first.state)
    once, end_once = decode(whole)
    assert first.events + second.events == once.events
    assert end.byte <= end_once.byte
    assert not first.quarantined


@given(records(), st.integers(0, 8))
def test_windows_at_any_line_tile_the_outcomes(made: list[dict], cut: int) -> None:
    data = joined(made)
    file, kind = io.BytesIO(data), TrailKind.CLAUDE_CODE
    outcomes = list(look_lines(kind, read_lines(file, START), DecoderState()))
    start = after(outcomes[cut - 1]) if 0 < cut <= len(outcomes) else Position()
    rest = list(look_lines(kind, read_lines(file, start), DecoderState()))
    assert rest == outcomes[start.seq :]


@given(records(), st.data())
def test_the_fast_path_is_the_thorough_path_on_damaged_lines(
    made: list[dict], data: st.DataObject
) -> None:
    for record in made:
        line = dumped(record)
        at = data.draw(st.integers(0, len(line)))
        until = data.draw(st.integers(at, min(len(line), at + 4)))
        damaged = (line[:at] + data.draw(JUNK) + line[until:]).replace(b"\n", b"")
        raw = RawLine(3, 0, 10, 11 + len(damaged), True, damaged)
        assert look(raw) == look_thoroughly(raw)


FIELD_VALUES = st.sampled_from([None, True, False, 0, "", "x", [], {}, {"kind": "human"}, ["x"]])


@given(
    st.sampled_from([prompt("a"), reply("b"), tool_result("c"), other("d", 1)]),
    st.dictionaries(
        st.sampled_from(
            [
                *("type", "message", "version", "isSidechain", "isMeta", "promptSource"),
                *("origin", "planContent", "toolUseResult", "uuid", "timestamp", "sessionId"),
            ]
        ),
        FIELD_VALUES,
        max_size=3,
    ),
    st.none() | st.lists(st.sampled_from(["text", "tool_use", "tool_result", "image", None, 5])),
)
def test_the_fast_path_is_the_thorough_path_on_odd_fields(
    record: dict, fields: dict, types: list | None
) -> None:
    record = {**record, **fields}
    if types is not None and isinstance(record.get("message"), dict):
        blocks = [{"type": name, "text": "t"} for name in types]
        record["message"] = {"role": "user", "content": blocks}
    data = dumped(record)
    raw = RawLine(0, 0, 0, len(data), False, data)
    assert look(raw) == look_thoroughly(raw)
