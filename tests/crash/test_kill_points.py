"""kill -9 at every place where something becomes durable, then growth, then `run`."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.driver import POINTS
from tests.crash.harness import ALL, Lab, Seen, assert_whole, turns
from tests.trail_lines import dumped, reply

pytestmark = pytest.mark.crash

LIMITS = {"window_events": 4, "batch_windows": 3}
A, B = "ferry-a", "ferry-b"
FIRST = turns(0, 5, session=A)
TORN = dumped(reply("An answer whose line is torn in the middle.", 900, uuid="torn"))

GROWTHS = {
    "nothing": b"",
    "one_event": dumped(reply("One more answer, after the crash.", 901, uuid="one")) + b"\n",
    "three_lines": turns(20, 1, session=A),
    "torn_tail": turns(20, 1, session=A) + TORN[: len(TORN) // 2],
}
IN_CI = {("in_commit", growth) for growth in GROWTHS} | {(p, "three_lines") for p in POINTS}
CASES = [(point, growth) for point in POINTS for growth in GROWTHS]


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
        lab.append(A, TORN[len(TORN) // 2 :] + b"\n")
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


@pytest.mark.parametrize(
    ("point", "growth"),
    [
        pytest.param(
            *case,
            marks=pytest.mark.skipif(
                not ALL and case not in IN_CI, reason="runs with MEMCLAW_TEST_ALL=1"
            ),
        )
        for case in CASES
    ],
)
def test_nothing_twice_and_nothing_skipped(
    point: str, growth: str, tmp_path: Path, never_crashed: Callable[[str], Seen]
) -> None:
    lab = new_lab(tmp_path)

    lab.crash(point)
    grow(lab, growth, lab.run)

    seen = assert_whole(lab, A, B)
    expected = never_crashed(growth)
    same = set(seen.keys) & set(expected.keys)
    assert {key: seen.items.get(key) for key in same} == {
        key: expected.items.get(key) for key in same
    }
    if point not in {"in_pin", "after_pin"}:  # there, the lines that no pin held get grown windows
        assert seen.keys == expected.keys
        assert seen.memory_ids == expected.memory_ids
    again = lab.run()
    assert again["windows_planned"] == 0
    assert lab.look().memory_ids == seen.memory_ids
