"""Splitting owed windows into runs: contiguous, bounded, and the failed ones alone."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.lake.ledger import Window, WindowState
from memclaw_etl.service.planning import split

EMPTY = Window(
    **dict.fromkeys(Window.__dataclass_fields__)  # type: ignore[arg-type]
    | {"state": WindowState.PINNED, "attempts": 0}
)


def window(number: int, attempts: int = 0) -> Window:
    return replace(EMPTY, partition_key=f"n@{number}-{number}", attempts=attempts)


def numbers(runs: list[tuple[Window, ...]]) -> list[list[int]]:
    return [[int(one.partition_key.rpartition("-")[2]) for one in run] for run in runs]


def places(count: int) -> dict[str, int]:
    return {f"n@{number}-{number}": number for number in range(count)}


def test_contiguous_windows_are_one_run_whatever_their_order() -> None:
    due = [window(number) for number in (3, 1, 2, 0)]
    assert numbers(split(due, places(9), size=100)) == [[0, 1, 2, 3]]


def test_a_hole_in_the_partitions_ends_a_run() -> None:
    due = [window(number) for number in (0, 1, 3, 4, 7)]
    assert numbers(split(due, places(9), size=100)) == [[0, 1], [3, 4], [7]]


def test_a_run_has_at_most_so_many_windows() -> None:
    due = [window(number) for number in range(7)]
    assert numbers(split(due, places(9), size=3)) == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_window_that_failed_runs_alone() -> None:
    due = [window(0), window(1), window(2, attempts=1), window(3), window(4)]
    assert numbers(split(due, places(9), size=100)) == [[0, 1], [2], [3, 4]]


def test_nothing_due_is_no_run() -> None:
    assert split([], {}, size=5) == []


@given(
    st.dictionaries(st.integers(0, 60), st.integers(0, 2), max_size=40),
    st.integers(1, 9),
    st.randoms(),
)
def test_every_window_is_in_one_run_and_every_run_is_a_range(
    attempts: dict[int, int], size: int, chance: object
) -> None:
    due = [window(number, tries) for number, tries in attempts.items()]
    chance.shuffle(due)  # type: ignore[attr-defined]
    runs = split(due, places(61), size=size)
    found = numbers(runs)
    assert sorted(number for run in found for number in run) == sorted(attempts)
    assert found == sorted(found)
    for run in found:
        assert run == list(range(run[0], run[0] + len(run)))
        assert 1 <= len(run) <= size
        assert len(run) == 1 or not any(attempts[number] for number in run)
