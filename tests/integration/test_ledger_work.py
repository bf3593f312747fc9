"""What is owed, who works on it, and what a failure does."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from sqlalchemy import update

from memclaw_etl.lake.ledger import (
    Holder,
    Ledger,
    Window,
    WindowState,
    batches,
    breakers,
    failing,
    leases,
    windows,
)
from memclaw_etl.lake.ledger.leases import window_lease
from memclaw_etl.lake.ledger.schema import windows as window_table
from tests.conftest import Clock
from tests.ledger_rows import (
    add_node,
    again,
    ask,
    commit_all,
    do,
    owed_keys,
    pin_many,
    take,
    take_keys,
)

ELSEWHERE = Holder("run-elsewhere", "another-host", 1)


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return child.pid


def keys_of(chosen: list[Window]) -> list[str]:
    return [one.partition_key for one in chosen]


def fail(
    ledger: Ledger, one: Window, *, resource: str | None = None, delay_s: float = 30
) -> WindowState:
    stored = again(ledger, one)
    with ledger.write() as tx:
        leases.drop_dead(tx, now=ledger.now())
        if resource is None:
            state = failing.fail_by_own_fault(
                tx, stored, stage="mini_reports", code="Window", message="m", now=ledger.now(),
                max_attempts=3, retry_delay_s=delay_s,
            )  # fmt: skip
        else:
            state = failing.fail_by_surroundings(
                tx, stored, stage="mini_reports", code="Surroundings", message="m",
                resource=resource, now=ledger.now(), retry_delay_s=delay_s,
                retry_delay_max_s=3600,
            )  # fmt: skip
        tx.execute(
            leases.leases.delete().where(leases.leases.c.name == window_lease(one.window_id))
        )
    return state


def test_what_is_pinned_is_owed_oldest_first(ledger: Ledger, clock: Clock) -> None:
    second = pin_many(ledger, 2, add_node(ledger, "b"))
    clock.move(minutes=1)
    third = pin_many(ledger, 2, add_node(ledger, "a"))
    assert owed_keys(ledger) == keys_of(second + third)
    assert owed_keys(ledger, limit=3) == keys_of(second + third)[:3]
    assert owed_keys(ledger, limit=0) == []


def test_what_was_asked_for_is_not_owed_until_the_deadline(ledger: Ledger, clock: Clock) -> None:
    one, other = pin_many(ledger, 2)
    ask(ledger, [one], deadline_s=60)
    assert owed_keys(ledger) == [other.partition_key]
    clock.move(seconds=59.9)
    assert owed_keys(ledger) == [other.partition_key]
    clock.move(seconds=0.1)
    assert owed_keys(ledger) == keys_of([one, other])


def test_a_starting_run_turns_asked_into_leases(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 3)
    batch = ask(ledger, pinned, deadline_s=60)
    assert keys_of(take(ledger, batch, lease_s=500)) == keys_of(pinned)
    clock.move(seconds=100)
    assert owed_keys(ledger) == []
    clock.move(seconds=401)
    assert owed_keys(ledger) == keys_of(pinned)


def test_a_late_run_finds_nothing_to_do(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 2)
    late = ask(ledger, pinned, deadline_s=60)
    clock.move(seconds=61)
    young = ask(ledger, pinned)
    assert take(ledger, late, "late") == []
    assert keys_of(take(ledger, young, "young")) == keys_of(pinned)
    assert take(ledger, late, "late") == []


def test_a_late_run_that_nobody_overtook_does_its_work(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 2)
    late = ask(ledger, pinned, deadline_s=60)
    clock.move(seconds=3600)
    assert keys_of(take(ledger, late)) == keys_of(pinned)


def test_a_run_gets_what_is_left_of_its_batch(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 3)
    batch = ask(ledger, pinned)
    commit_all(ledger, take_keys(ledger, pinned[:1]), "by-hand")
    left = take_keys(ledger, pinned[1:2], "by-hand-2")
    assert keys_of(left) == keys_of(pinned[1:2])
    assert keys_of(take(ledger, batch)) == keys_of(pinned[2:])


def test_the_same_run_takes_its_windows_again_in_every_stage(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 2)
    batch = ask(ledger, pinned)
    for _ in range(5):
        assert keys_of(take(ledger, batch)) == keys_of(pinned)
    assert commit_all(ledger, take(ledger, batch)) == [one.window_id for one in pinned]
    assert take(ledger, batch) == []


def test_a_batch_is_an_exact_set(ledger: Ledger) -> None:
    """Other keys inside the partition range of its run are not touched."""
    pinned = pin_many(ledger, 4)
    batch = ask(ledger, [pinned[0], pinned[3]])
    assert keys_of(take(ledger, batch)) == keys_of([pinned[0], pinned[3]])
    assert owed_keys(ledger) == keys_of(pinned[1:3])


def test_more_windows_than_fit_one_statement(ledger: Ledger) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 620, node)
    batch = ask(ledger, pinned)
    taken = take(ledger, batch)
    assert keys_of(taken) == keys_of(pinned)
    assert len(commit_all(ledger, taken)) == 620


def test_a_person_takes_what_waits_failed_and_was_paused(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 4)
    batch = ask(ledger, pinned)
    for _ in range(3):
        fail(ledger, pinned[0])
    fail(ledger, pinned[1])
    with ledger.write() as tx:
        ids = [pinned[2].window_id]
        windows.set_state(tx, ids, WindowState.PAUSED, only_from=[WindowState.PINNED])
    assert keys_of(take(ledger, batch, "by-itself")) == [pinned[3].partition_key]
    taken = take(ledger, batch, "again", by_person=True)
    assert keys_of(taken) == keys_of(pinned[:3])
    assert [one.attempts for one in taken] == [0, 0, 0]
    assert {one.state for one in taken} == {WindowState.PINNED}


def test_a_person_cannot_take_what_a_live_run_holds(ledger: Ledger) -> None:
    """And does not reset its attempts behind the run's back."""
    (one,) = pin_many(ledger, 1)
    fail(ledger, one)
    (held,) = take_keys(ledger, [one], "first")
    with ledger.write() as tx:
        chosen = window_table.c.window_id == held.window_id
        tx.execute(update(window_table).where(chosen).values(attempts=2))
    assert take_keys(ledger, [one], "second") == []
    assert again(ledger, one).attempts == 2


def test_a_lease_of_a_dead_process_here_is_free_at_once(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 1)
    batch = ask(ledger, pinned)
    here = Holder.here("x").host
    assert take(ledger, batch, Holder("killed", here, dead_pid()), lease_s=9999)
    with ledger.write() as tx:
        assert leases.drop_dead(tx, now=ledger.now()) == 1
    assert owed_keys(ledger) == keys_of(pinned)


def test_a_lease_of_a_zombie_is_free_at_once(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 1)
    batch = ask(ledger, pinned)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet waited for
        assert take(ledger, batch, Holder("killed", Holder.here("x").host, child.pid))
        with ledger.write() as tx:
            assert leases.drop_dead(tx, now=ledger.now()) == 1


def test_a_lease_of_another_host_is_free_after_its_time(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 1)
    take(ledger, ask(ledger, pinned), ELSEWHERE, lease_s=60)
    for seconds, dropped in ((0, 0), (59, 0), (1, 1)):
        clock.move(seconds=seconds)
        with ledger.write() as tx:
            assert leases.drop_dead(tx, now=ledger.now()) == dropped


def test_a_live_process_keeps_its_lease_by_its_heartbeat(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 2)
    take(ledger, ask(ledger, pinned), "run-1", lease_s=60)
    for _ in range(5):
        clock.move(seconds=50)
        with ledger.write() as tx:
            assert leases.drop_dead(tx, now=ledger.now()) == 0
            holder = Holder.here("run-1")
            assert leases.renew(tx, holder=holder, now=ledger.now(), lease_s=60) == 2
            assert leases.live_holders(tx) == {"run-1"}


def test_three_own_faults_quarantine_with_growing_delays(ledger: Ledger, clock: Clock) -> None:
    (one,) = pin_many(ledger, 1)
    waited = []
    for attempt in (1, 2):
        assert fail(ledger, one) is WindowState.PINNED
        stored = again(ledger, one)
        assert stored.attempts == attempt
        assert stored.not_before is not None
        waited.append((stored.not_before - clock.at).total_seconds())
        assert owed_keys(ledger) == []
        clock.at = stored.not_before
        assert owed_keys(ledger) == [one.partition_key]
    assert waited == [30, 60]
    assert fail(ledger, one) is WindowState.QUARANTINED
    clock.move(days=300)
    assert owed_keys(ledger) == []
    assert again(ledger, one).error_code == "Window"


def test_surroundings_leave_attempts_alone(ledger: Ledger, clock: Clock) -> None:
    (one,) = pin_many(ledger, 1)
    for _ in range(20):
        assert fail(ledger, one, resource="disk") is WindowState.PINNED
        clock.move(hours=2)
    assert again(ledger, one).attempts == 0
    assert owed_keys(ledger) == [one.partition_key]


def test_a_breaker_lets_one_probe_through_at_a_time(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 6)
    for one in pinned[:5]:
        fail(ledger, one, resource="disk")
    assert owed_keys(ledger) == [pinned[5].partition_key]
    clock.move(seconds=30)
    assert owed_keys(ledger) == keys_of([pinned[0], pinned[5]])
    probe = ask(ledger, [pinned[0]])
    assert owed_keys(ledger) == [pinned[5].partition_key]
    take(ledger, probe)
    assert owed_keys(ledger) == [pinned[5].partition_key]
    fail(ledger, pinned[0], resource="disk")
    clock.move(seconds=59)
    assert owed_keys(ledger) == [pinned[5].partition_key]
    clock.move(seconds=1)
    assert len(owed_keys(ledger)) == 2


def test_a_probe_that_succeeds_frees_everything(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 4)
    for one in pinned:
        fail(ledger, one, resource="disk")
    clock.move(seconds=30)
    (probe,) = owed_keys(ledger)
    assert probe == pinned[0].partition_key
    do(ledger, pinned[:1])
    assert owed_keys(ledger) == keys_of(pinned[1:])
    with ledger.read() as tx:
        assert breakers.open_resources(tx) == {}


def test_a_probe_that_dies_is_followed_by_another(ledger: Ledger, clock: Clock) -> None:
    pinned = pin_many(ledger, 2)
    for one in pinned:
        fail(ledger, one, resource="disk")
    clock.move(seconds=30)
    take(ledger, ask(ledger, pinned[:1]), ELSEWHERE, lease_s=60)
    assert owed_keys(ledger) == []
    clock.move(seconds=60)
    assert owed_keys(ledger) == [pinned[0].partition_key]


def test_many_that_wait_do_not_hide_the_innocent(ledger: Ledger, clock: Clock) -> None:
    waiting = pin_many(ledger, 8, add_node(ledger, "a"))
    clock.move(seconds=1)
    innocent = pin_many(ledger, 3, add_node(ledger, "b"))
    for one in waiting:
        fail(ledger, one, resource="trail:a")
    clock.move(seconds=60)
    assert owed_keys(ledger, limit=4) == keys_of([waiting[0], *innocent])


def test_each_resource_has_its_own_breaker(ledger: Ledger, clock: Clock) -> None:
    one, other, third = pin_many(ledger, 3)
    fail(ledger, one, resource="trail:a")
    fail(ledger, other, resource="trail:b", delay_s=300)
    clock.move(seconds=30)
    assert owed_keys(ledger) == keys_of([one, third])
    clock.move(seconds=270)
    assert owed_keys(ledger) == keys_of([one, other, third])


def test_while_the_endpoint_is_down_everything_waits_for_one_probe(
    ledger: Ledger, clock: Clock
) -> None:
    pinned = pin_many(ledger, 4)
    fail(ledger, pinned[2], resource="endpoint:x")
    assert owed_keys(ledger, endpoint="endpoint:x") == []
    assert len(owed_keys(ledger)) == 3
    clock.move(seconds=30)
    assert owed_keys(ledger, endpoint="endpoint:x") == [pinned[0].partition_key]
    ask(ledger, pinned[:1])
    assert owed_keys(ledger, endpoint="endpoint:x") == []


@pytest.mark.parametrize("failures", [1, 2, 5, 60, 2000])
def test_a_breakers_delay_grows_to_its_maximum(ledger: Ledger, clock: Clock, failures: int) -> None:
    with ledger.write() as tx:
        values = {"resource": "r", "opened_at": clock.at, "probe_at": clock.at}
        tx.execute(breakers.breakers.insert().values(**values, failures=failures - 1))
        until = breakers.trip(tx, "r", now=clock.at, delay_s=30, delay_max_s=3600)
        assert until - clock.at == timedelta(seconds=min(30 * 2 ** (failures - 1), 3600))
        assert breakers.trip(tx, "r", now=clock.at, delay_s=30, delay_max_s=3600) == until


def test_wrong_settings_do_not_spin_and_cost_no_attempt(ledger: Ledger, clock: Clock) -> None:
    (one,) = pin_many(ledger, 1)
    with ledger.write() as tx:
        failing.fail_by_usage(
            tx, one, stage="mini_reports", code="Usage", message="m", now=clock.at,
            retry_delay_s=30,
        )  # fmt: skip
    assert owed_keys(ledger) == []
    clock.move(seconds=30)
    assert owed_keys(ledger) == [one.partition_key]
    assert again(ledger, one).attempts == 0


def test_what_a_stopped_run_gives_back_is_owed_at_once(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 2)
    batch = ask(ledger, pinned)
    take(ledger, batch)
    with ledger.write() as tx:
        windows.give_back(tx, [one.window_id for one in pinned])
        leases.release_all(tx, run_id="run-1")
    assert owed_keys(ledger) == keys_of(pinned)
    assert take(ledger, batch, "late") == []


def test_batches_wait_until_they_start_or_their_deadline(ledger: Ledger, clock: Clock) -> None:
    def waiting() -> int:
        with ledger.read() as tx:
            return batches.waiting(tx, now=ledger.now())

    pinned = pin_many(ledger, 3)
    first = ask(ledger, pinned[:1], deadline_s=60)
    ask(ledger, pinned[1:2], deadline_s=60)
    assert waiting() == 2
    take(ledger, first)
    assert waiting() == 1
    clock.move(seconds=60)
    assert waiting() == 0


def test_a_batch_adds_up_what_it_did_to_the_index(ledger: Ledger) -> None:
    batch = ask(ledger, pin_many(ledger, 1))
    with ledger.write() as tx:
        batches.add_counts(tx, batch, {"added": 2})
        batches.add_counts(tx, batch, {"added": 1, "deleted": 4})
        assert batches.counts_of(tx, batch) == {"added": 3, "deleted": 4}
        assert batches.counts_of(tx, "unknown") == {}
        assert batches.interviewer_of(tx, batch) == "heuristic"
        assert batches.interviewer_of(tx, "unknown") is None
