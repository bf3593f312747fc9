"""Trails that grow, stop mid-line, and are looked at in between: each event once."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memclaw_etl.errors import TrailRewrittenError
from memclaw_etl.lake.ledger import WindowState
from memclaw_etl.settings import Limits
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.windows import read
from tests.conftest import Clock, opened_without_fsync
from tests.trail_lines import dumped, joined, prompt, reply, tool_result
from tests.watching import Watched, codes, watched

__all__ = ["watched"]

SHORT = Limits(window_events=4, trickle_events=1)


def talk(count: int, first: int = 0) -> bytes:
    return joined(prompt(f"question {number}", number) for number in range(first, first + count))


def assert_tiled(watched: Watched, session: str = "one") -> None:
    """No gap, no overlap, in lines and in bytes; the hash is of the bytes that stand there."""
    node = watched.node(session)
    ordered = watched.windows(session)
    data = Path(node.path).read_bytes()
    assert (ordered[0].cursor_from, ordered[0].byte_from) == (0, 0)
    for before, after in pairwise(ordered):
        gap = data[before.byte_to : after.byte_from]
        assert gap in {b"", b"\n"}
        assert bool(gap) <= before.ends_open
        follows = after.cursor_from == before.cursor_to + 1
        assert follows or (before.ends_open and after.cursor_from == before.cursor_to)


def test_a_trail_that_grows_is_pinned_in_order(watched: Watched) -> None:
    watched.limits = SHORT
    watched.write("p/one.jsonl", talk(10))
    first = watched.look()
    assert (first.trails, first.opened, first.windows) == (1, 1, 3)
    assert watched.ranges() == ["0-3", "4-7", "8-9"]
    watched.append("p/one.jsonl", talk(3, 10))
    assert watched.look().windows == 1
    assert watched.ranges()[3:] == ["10-12"]
    assert watched.texts() == [f"question {number}" for number in range(13)]
    assert_tiled(watched)


def test_an_unchanged_trail_is_not_opened(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        watched.write(f"p/{number}.jsonl", joined([prompt(f"q{number}", number)]))
    opened: list[object] = []
    real = read.open_trail
    monkeypatch.setattr(
        read, "open_trail", lambda path, **more: opened.append(path) or real(path, **more)
    )
    assert watched.look(flush=True).windows == 5
    assert len(opened) == 5
    opened.clear()
    for _ in range(3):
        result = watched.look(flush=True)
        assert (result.trails, result.opened, result.windows, result.read_bytes) == (5, 0, 0, 0)
    assert opened == []
    watched.append("p/3.jsonl", joined([reply("a", 100)]))
    assert watched.look(flush=True).opened == len(opened) == 1


def test_a_trickle_waits_for_stillness_by_our_clock(watched: Watched, clock: Clock) -> None:
    path = watched.write("p/one.jsonl", talk(2))
    os.utime(path, (clock.at.timestamp(),) * 2)
    assert watched.look().windows == 0
    clock.move(minutes=29)
    assert watched.look().windows == 0
    watched.append("p/one.jsonl", talk(1, 2))
    os.utime(path, (clock.at.timestamp() + 999,) * 2)
    assert (
        watched.look().opened == 1
    )  # it grew: stillness begins anew, and a time to come starts it now
    clock.move(minutes=29)
    assert watched.look().opened == 0
    clock.move(minutes=1)
    assert watched.look().windows == 1
    assert watched.ranges() == ["0-2"]


def test_an_old_file_is_still_at_first_sight(watched: Watched, clock: Clock) -> None:
    path = watched.write("p/one.jsonl", talk(1))
    an_hour_ago = clock.at.timestamp() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))
    assert watched.look().windows == 1


@pytest.mark.parametrize("at_s", [-(2**33), 0, 2**33, 2**40])
def test_a_file_time_that_no_calendar_knows_stops_nobody(watched: Watched, at_s: int) -> None:
    path = watched.write("p/odd.jsonl", talk(1))
    watched.write("p/one.jsonl", talk(1, 10))
    try:
        os.utime(path, (at_s, at_s))
    except OSError:
        pytest.skip("this file system cannot hold that time")
    assert watched.look(flush=True).windows == 2


def test_a_torn_tail_waits_and_is_no_problem(watched: Watched) -> None:
    whole = talk(2)
    watched.write("p/one.jsonl", whole[:-40])
    result = watched.look(flush=True)
    assert (result.windows, codes(result)) == (1, [])
    assert watched.ranges() == ["0-0"]
    watched.append("p/one.jsonl", whole[-40:])
    watched.look(flush=True)
    assert watched.ranges() == ["0-0", "1-1"]
    assert watched.texts() == ["question 0", "question 1"]


def test_a_torn_tail_of_an_old_trail_is_no_problem_either(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(12))
    watched.look(flush=True)
    watched.append("p/one.jsonl", b'{"parentUuid":null,"type":"us')
    for _ in range(2):
        result = watched.look(flush=True)
        assert (result.windows, codes(result)) == (0, [])
    assert watched.node().problem_code is None


def test_an_unterminated_line_is_taken_only_when_the_trail_is_still(
    watched: Watched, clock: Clock
) -> None:
    watched.write("p/one.jsonl", talk(12)[:-1])
    watched.look()
    assert watched.ranges() == ["0-10"]
    clock.move(minutes=31)
    watched.look()
    assert watched.ranges() == ["0-10", "11-11"]
    assert watched.windows()[-1].ends_open
    assert watched.node().head_seq == 11


def test_taken_unterminated_then_glued_then_a_normal_line(watched: Watched) -> None:
    """The three steps of the promise: each event once, though two stand on one line."""
    watched.write("p/one.jsonl", talk(2) + dumped(prompt("unended", 2)))
    watched.look(flush=True)
    assert watched.ranges() == ["0-2"]
    watched.append("p/one.jsonl", dumped(prompt("glued", 3)))
    watched.look(flush=True)
    assert watched.ranges() == ["0-2", "2.1-2"]
    watched.append("p/one.jsonl", b"\n" + joined([prompt("normal", 4)]))
    watched.look(flush=True)
    assert watched.ranges() == ["0-2", "2.1-2", "3-3"]
    events = watched.events()
    assert [event.content for event in events] == [
        "question 0", "question 1", "unended", "glued", "normal",
    ]  # fmt: skip
    assert [(event.seq, event.part) for event in events] == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0)]
    assert len({event.identity for event in events}) == 5
    assert_tiled(watched)


@pytest.mark.parametrize("closing", [b"\n", b"\r\n", b"  \n", b"\x00\x00\n", b"garbage\n"])
def test_what_closes_a_taken_line_costs_no_event(watched: Watched, closing: bytes) -> None:
    watched.write("p/one.jsonl", dumped(prompt("unended", 0)))
    watched.look(flush=True)
    watched.append("p/one.jsonl", closing + talk(1, 1))
    watched.look(flush=True)
    assert watched.texts() == ["unended", "question 1"]
    assert watched.events()[-1].seq == 1
    assert_tiled(watched)


def test_only_the_newline_comes(watched: Watched) -> None:
    watched.write("p/one.jsonl", dumped(prompt("unended", 0)))
    watched.look(flush=True)
    watched.append("p/one.jsonl", b"\n")
    for _ in range(3):
        assert watched.look(flush=True).windows == 0
    assert watched.ranges() == ["0-0"]
    watched.append("p/one.jsonl", talk(1, 1))
    watched.look(flush=True)
    assert watched.ranges() == ["0-0", "1-1"]


def test_a_line_that_is_not_whole_is_never_taken(watched: Watched) -> None:
    watched.write("p/one.jsonl", b"12")
    for _ in range(2):
        watched.look(flush=True)
    assert watched.windows() == []


def test_noise_is_pinned_when_still_and_the_watermark_passes_it(watched: Watched) -> None:
    watched.write("p/one.jsonl", joined([tool_result("x", 1)] * 3))
    assert watched.look().windows == 0
    result = watched.look(flush=True)
    assert (result.windows, result.noise_windows, result.noise_lines) == (0, 1, 3)
    assert watched.ranges() == ["(0-2)"]


def test_a_fork_is_a_replay(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(3))
    watched.write("p/two.jsonl", talk(3) + talk(2, 50))
    watched.look(flush=True)
    assert [one.events for one in watched.windows("one")] == [3]
    fork = watched.windows("two")[0]
    assert (fork.events, fork.replayed) == (2, 3)


def test_a_budget_continues_with_the_trails_that_waited_longest(
    watched: Watched, clock: Clock
) -> None:
    from memclaw_etl.windows.scan import Budget

    watched.limits = Limits(window_bytes=2_000, window_events=3)
    for name in "abcd":
        watched.write(f"p/{name}.jsonl", talk(30, 100 * ord(name)))
    budget = Budget(seconds=1000, read_bytes=3_000)
    reached: list[set[str]] = []
    for _ in range(200):
        clock.move(seconds=20)
        before = {node.file_session: node.frontier_seq for node in watched.nodes()}
        result = watched.look(flush=True, budget=budget)
        assert result.read_bytes < 10_000
        reached.append(
            {
                node.file_session
                for node in watched.nodes()
                if node.frontier_seq > before.get(node.file_session, 0)
            }
        )
        if result.complete:
            break
    assert result.complete
    assert set().union(*reached[:6]) == set("abcd")
    for name in "abcd":
        assert len(watched.texts(name)) == 30
        assert_tiled(watched, name)


def test_a_budget_of_time_is_measured_by_the_given_clock(watched: Watched) -> None:
    from memclaw_etl.windows import scan

    for name in "abc":
        watched.write(f"p/{name}.jsonl", talk(1, ord(name)))
    ticks = iter([0.0, 1.0, 6.0, 100.0])
    result = scan.scan(
        watched.ledger, [Source(TrailKind.CLAUDE_CODE, watched.root, ("*",))], watched.limits,
        machine12="m", flush=True, budget=scan.Budget(seconds=5, read_bytes=10**9),
        monotonic=lambda: next(ticks),
    )  # fmt: skip
    assert (result.complete, result.windows) == (False, 1)


@pytest.mark.parametrize("kind", [TrailKind.CLAUDE_CODE, TrailKind.BUFFER])
def test_every_look_gets_further_however_small_its_budget(
    watched: Watched, clock: Clock, kind: TrailKind
) -> None:
    """Lines over the budget, windows over the budget, a rest over the budget."""
    watched.limits = Limits(tick_budget_bytes=100, window_bytes=2_000)
    watched.sources = [Source(kind, watched.root, ("*",))]
    if kind is TrailKind.BUFFER:
        row = {"ts": None, "session_id": "s", "role": "user", "kind": "message"}
        lines = [{**row, "seq": seq, "content": "c" * 700} for seq in range(9)]
    else:
        lines = [prompt("c" * 700, number) for number in range(9)]
    name = "one.jsonl" if kind is TrailKind.BUFFER else "p/one.jsonl"
    watched.write(name, joined(lines))
    for _ in range(20):
        clock.move(seconds=1)
        if watched.look(flush=True).complete:
            break
    assert len(watched.texts()) == 9


CHUNKS = st.lists(
    st.tuples(st.integers(0, 900), st.booleans(), st.integers(0, 40)), min_size=1, max_size=6
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chunks=CHUNKS, cap=st.integers(1, 4))
def test_however_bytes_arrive_each_event_is_there_once(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[int, bool, int]], cap: int
) -> None:
    """Bytes arrive in pieces of any size, with looks (still or not) and time in between."""
    data = talk(6) + dumped(prompt("glued a", 6)) + joined([prompt("glued b", 7)]) + talk(3, 8)
    clock, folder = Clock(), tmp_path_factory.mktemp("grow")
    ledger = opened_without_fsync(f"sqlite:///{folder / 'ledger.sqlite'}", clock)
    watched = Watched(ledger, clock, folder / "t", Limits(window_events=cap, trickle_events=2))
    watched.write("p/one.jsonl", b"")
    at = 0
    for length, flush, minutes in chunks:
        watched.append("p/one.jsonl", data[at : at + length])
        at += length
        clock.move(minutes=minutes)
        watched.look(flush=flush)
    watched.append("p/one.jsonl", data[at:])
    watched.look(flush=True)
    expected = [f"question {number}" for number in range(6)] + ["glued a", "glued b"]
    assert watched.texts() == expected + [f"question {number}" for number in range(8, 11)]
    assert sum(one.events for one in watched.windows()) == 11
    assert sum(one.replayed for one in watched.windows()) == 0
    assert_tiled(watched)
    ledger.engine.dispose()


def test_a_pinned_window_reads_the_same_after_the_trail_has_grown(watched: Watched) -> None:
    watched.write("p/one.jsonl", talk(3)[:-1])
    watched.look(flush=True)
    before = watched.texts()
    watched.append("p/one.jsonl", b"\n" + talk(30, 3))
    node, (window,) = watched.node(), watched.windows()
    assert [event.content for event in read.read_window(node, window).events] == before


def test_a_window_whose_bytes_changed_is_never_read_under_its_key(watched: Watched) -> None:
    path = watched.write("p/one.jsonl", talk(3))
    watched.look(flush=True)
    path.write_bytes(path.read_bytes().replace(b"question 1", b"QUESTION 1"))
    with pytest.raises(TrailRewrittenError) as refused:
        watched.texts()
    assert "QUESTION" not in str(refused.value)
    assert watched.windows()[0].state is WindowState.PINNED
