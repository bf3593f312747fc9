"""kill -9 at every place where something becomes durable, then growth, then `run`."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.driver import POINTS
from tests.crash.harness import Lab, Seen, assert_whole, slow, turns
from tests.trail_lines import dumped, reply

pytestmark = pytest.mark.crash

LIMITS = {"window_events": 4, "batch_windows": 3}
A, B = "ferry-a", "ferry-b"
FIRST = turns(0, 5, session=A)
TORN = dumped(reply("An answer whose line is torn in the middle.", 900, uuid="torn"))
HALF = len(TORN) // 2

GROWTHS = {
    "nothing": b"",
    "one_event": dumped(reply("One more answer, after the crash.", 901, uuid="one")) + b"\n",
    "three_lines": turns(20, 1, session=A),
    "torn_tail": turns(20, 1, session=A) + TORN[:HALF],
}
HEADLINE = "in_commit"
"""Memory rows are durable, the ledger's commit is not."""
CASES = [
    pytest.param(point, growth, marks=[] if (point, growth) in always else slow)
    for always in [{(HEADLINE, "three_lines"), (HEADLINE, "torn_tail")}]
    for point in POINTS
    for growth in GROWTHS
]


def new_lab(root: Path) -> Lab:
    lab = Lab(root, limits=LIMITS)
    lab.append(A, FIRST)
    lab.append(B, turns(50, 2, session=B))
    return lab


def grow(lab: Lab, growth: str, run: Callable[[], None]) -> None:
    """Let trail A grow and run; a torn line is then completed, and run again."""
    lab.append(A, GROWTHS[growth])
    run()
    if growth == "torn_tail":
        lab.append(A, TORN[HALF:] + b"\n")
        run()


@pytest.fixture(scope="module")
def never_crashed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """What a home holds after the same growth, with nobody killing anything."""

    @functools.cache
    def reference(growth: str) -> Seen:
        lab = new_lab(tmp_path_factory.mktemp(f"never-crashed-{growth}"))
        lab.run()
        grow(lab, growth, lab.run)
        return assert_whole(lab, A, B)

    return reference


@pytest.mark.parametrize(("point", "growth"), CASES)
def test_nothing_twice_and_nothing_skipped(
    point: str, growth: str, tmp_path: Path, never_crashed: Callable[[str], Seen]
) -> None:
    lab = new_lab(tmp_path)

    lab.crash(point)
    grow(lab, growth, lab.run)

    seen = assert_whole(lab, A, B)
    expected = never_crashed(growth)
    same = set(seen.keys) & set(expected.keys)
    assert {key: seen.items[key] for key in same} == {key: expected.items[key] for key in same}
    if point not in {"in_pin", "after_pin"}:  # there, the lines that no pin held get grown windows
        assert seen.keys == expected.keys
        assert seen.memory_ids == expected.memory_ids
    again = lab.run()
    assert again["windows_planned"] == 0
    assert lab.look().memory_ids == seen.memory_ids


def test_a_run_killed_at_every_point_one_after_the_other(tmp_path: Path) -> None:
    """Every run has to finish what the one before left, and dies itself a little later."""
    lab = new_lab(tmp_path)
    for number, point in enumerate(POINTS):
        torn = dumped(reply(f"Torn line {number}.", 900, uuid=f"torn-{number}"))
        lab.append(A, turns(100 + 2 * number, 1, session=A) + torn[: number * 7])
        lab.crash(point)
        lab.append(A, torn[number * 7 :] + b"\n")
    lab.run()
    assert_whole(lab, A, B)
    assert lab.run()["windows_planned"] == 0
