import pytest

from memclaw_etl.trails.decode import look_lines
from memclaw_etl.trails.events import DecoderState, Origin, Role, TrailKind
from memclaw_etl.trails.lines import read_lines
from tests.trail_lines import START, decode, dumped, joined


def record(seq: object, content: object = "words", **fields: object) -> dict:
    return {
        "seq": seq,
        "ts": "2026-03-01T08:00:00.000Z",
        "session_id": None,
        "role": "user",
        "kind": "prompt",
        "content": content,
        **fields,
    }


def read(data: bytes, state: DecoderState | None = None):
    return decode(data, TrailKind.BUFFER, state=state or DecoderState())[0]


def test_events_carry_their_own_seq() -> None:
    lines = [
        record(41, "a", session_id="s"),
        record(42, "b", role="tool", kind="task_result", tool="make", outcome="ok"),
    ]
    first, second = read(joined(lines)).events
    assert (first.seq, first.part, first.role, first.origin) == (41, 0, Role.USER, Origin.HUMAN)
    assert (first.session_id, second.session_id) == ("s", None)
    assert (second.role, second.kind, second.origin) == (
        Role.ASSISTANT,
        "task_result",
        Origin.AGENT,
    )
    assert (second.tool, second.outcome) == ("make", "ok")


def test_a_long_text_is_not_cut_before_it_is_masked() -> None:
    assert read(joined([record(1, "x" * 9000)])).events[0].chars == 9000


def test_a_torn_line_takes_the_seq_of_the_last_good_record() -> None:
    data = joined([record(41)]) + dumped(record(42))[:30] + b"\n" + joined([record(43)])
    outcomes = list(
        look_lines(
            TrailKind.BUFFER, read_lines(__import__("io").BytesIO(data), START), DecoderState()
        )
    )
    assert [(one.seq, one.first_part, one.next_part) for one in outcomes] == [
        (41, 0, 1),
        (41, 1, 2),
        (43, 0, 1),
    ]
    assembled = read(data)
    assert [event.seq for event in assembled.events] == [41, 43]
    [lost] = assembled.quarantined
    assert (lost.seq, lost.byte_start, lost.reason) == (
        41,
        len(joined([record(41)])),
        "broken_json",
    )
    assert assembled.noise == {"seq_hole": 1}


def test_a_torn_first_line_takes_the_seq_before_the_window() -> None:
    data = b'{"seq":7,"ro\n' + joined([record(8)])
    assembled = read(data, DecoderState(last_seq=6))
    assert assembled.quarantined[0].seq == 6
    assert assembled.state.last_seq == 8


def test_holes_are_counted_over_windows() -> None:
    assembled = read(joined([record(5), record(9)]), DecoderState(last_seq=2))
    assert assembled.noise == {"seq_hole": 5}
    assert "seq_hole" not in read(joined([record(5)])).noise


def test_a_restart_is_quarantined_and_gives_no_event() -> None:
    assembled = read(joined([record(5, "a"), record(6, "b"), record(0, "c"), record(7, "d")]))
    assert [event.seq for event in assembled.events] == [5, 6, 7]
    assert [lost.reason for lost in assembled.quarantined] == ["seq_restart"]
    assert assembled.state.last_seq == 7


def test_records_glued_on_one_line_keep_their_seqs() -> None:
    data = dumped(record(5, "a")) + dumped(record(6, "b")) + b"\n" + joined([record(7, "c")])
    assert [(event.seq, event.part) for event in read(data).events] == [(5, 0), (6, 0), (7, 0)]
    again = read(data, DecoderState(last_seq=5))
    assert [event.seq for event in again.events] == [6, 7]


@pytest.mark.parametrize("seq", [None, "5", -1, 1.5, True, 2**70])
def test_a_record_without_a_seq_is_quarantined(seq: object) -> None:
    assembled = read(joined([record(seq)]))
    assert assembled.events == ()
    assert [lost.reason for lost in assembled.quarantined] == ["no_seq"]


@pytest.mark.parametrize("content", ["", "  \n", None, 5, ["x"]])
def test_a_record_without_words_is_noise(content: object) -> None:
    assembled = read(joined([record(3, content)]))
    assert (assembled.events, assembled.noise) == ((), {"empty": 1})
    assert assembled.state.last_seq == 3


def test_a_kind_is_a_plain_word() -> None:
    lines = [record(1, kind="task.result:v2"), record(2, kind="a long story"), record(3, kind=None)]
    assert [e.kind for e in read(joined(lines)).events] == ["task.result:v2", "message", "message"]


def test_identity_by_time_and_text_else_by_place() -> None:
    same = read(joined([record(1), record(2), record(3, ts=None), record(4, ts=None)])).events
    assert len({event.identity for event in same}) == 3
