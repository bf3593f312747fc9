"""Commits, watermarks, people's decisions, and what the stages leave in the ledger."""

import itertools

import pytest

from memclaw_etl.errors import LeaseLostError, UsageError
from memclaw_etl.lake.ledger import (
    Holder,
    Ledger,
    Node,
    Stage,
    Window,
    WindowState,
    commit,
    decisions,
    failing,
    leases,
    nodes,
    results,
    windows,
)
from memclaw_etl.lake.ledger.identifiers import sha1_hex, watermark_doc_id
from tests.conftest import Clock
from tests.ledger_rows import (
    add_node,
    again,
    ask,
    commit_all,
    do,
    last_seq,
    note_file,
    owed_keys,
    pin,
    pin_many,
    take,
    take_keys,
)


def skip(ledger: Ledger, one: Window, reason: str = "broken") -> None:
    with ledger.write() as tx:
        decisions.skip(tx, again(ledger, one), reason=reason, actor="ann", now=ledger.now())


def frontier(ledger: Ledger, node: Node) -> commit.Frontier:
    with ledger.read() as tx:
        return commit.frontier_of(windows.of_node(tx, node.tenant_id, node.node_id, node.epoch))


def test_a_node_that_was_never_interviewed_has_no_watermark(ledger: Ledger) -> None:
    node = add_node(ledger)
    pin(ledger, node)
    assert last_seq(ledger, node) is None


def test_a_commit_moves_the_watermark_in_the_form_of_the_wire(ledger: Ledger, clock: Clock) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 2, node)
    do(ledger, pinned)
    with ledger.read() as tx:
        mark = commit.watermark(tx, node.tenant_id, node.node_id, 0)
    assert mark is not None
    assert mark.doc_id == watermark_doc_id(node.node_id) == "wm_" + sha1_hex(node.node_id)
    assert (mark.last_seq, mark.agent_id, mark.last_interview_at) == (19, "agent-7", clock.at)
    stored = again(ledger, pinned[0])
    assert (stored.state, stored.committed_at) == (WindowState.COMMITTED, clock.at)
    assert (stored.error_code, stored.not_before) == (None, None)
    with ledger.read() as tx:
        assert leases.live_holders(tx) == set()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_in_any_order_the_watermark_is_the_contiguous_frontier(
    ledger: Ledger, order: tuple[int, ...]
) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 3, node)
    done: set[int] = set()
    for one in order:
        do(ledger, [pinned[one]], f"run-{one}")
        done.add(one)
        whole = next((number for number in range(3) if number not in done), 3)
        assert last_seq(ledger, node) == (10 * whole - 1 if whole else None)
        assert frontier(ledger, node).held == len(done) - whole


def test_a_lost_lease_commits_nothing_at_all(ledger: Ledger, clock: Clock) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 2, node)
    taken = take(ledger, ask(ledger, pinned), Holder("slow", "another-host", 1), lease_s=60)
    clock.move(seconds=60)
    young = take(ledger, ask(ledger, pinned[1:]), "young")
    with pytest.raises(
        LeaseLostError, match="run slow lost the lease of 2 windows, first cc:m:one@0-9"
    ):
        commit_all(ledger, taken, "slow")
    assert last_seq(ledger, node) is None
    assert again(ledger, pinned[0]).state is WindowState.PINNED
    commit_all(ledger, young, "young")
    assert again(ledger, pinned[1]).state is WindowState.COMMITTED


def test_names_of_leases_that_differ_in_case_are_two(ledger: Ledger, clock: Clock) -> None:
    with ledger.write() as tx:
        leases.acquire(tx, ["scope:Acme/"], holder=Holder.here("other"), now=clock.at, lease_s=60)
        assert leases.others_hold(tx, "scope:Acme", run_id="mine")
        assert not leases.others_hold(tx, "scope:acme", run_id="mine")
        assert not leases.others_hold(tx, "scope_", run_id="mine")


def test_an_expired_lease_that_nobody_took_still_commits(ledger: Ledger, clock: Clock) -> None:
    node = add_node(ledger)
    taken = take(ledger, ask(ledger, pin_many(ledger, 1, node)), lease_s=60)
    clock.move(hours=1)
    assert commit_all(ledger, taken) == [taken[0].window_id]


def test_committing_again_changes_nothing(ledger: Ledger, clock: Clock) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 1, node)
    do(ledger, pinned)
    first = again(ledger, pinned[0])
    clock.move(hours=1)
    taken = take_keys(ledger, pinned)
    assert commit_all(ledger, taken, "by-hand") == []
    assert again(ledger, pinned[0]) == first


def test_noise_lets_the_watermark_pass(ledger: Ledger) -> None:
    node, _ = pin(ledger, add_node(ledger), [])
    node, middle = pin(ledger, node)
    node, last = pin(ledger, node, [])
    do(ledger, [middle])
    assert last_seq(ledger, node) == last.cursor_to == 29


def test_a_skip_lets_the_watermark_pass_and_is_on_record(ledger: Ledger, clock: Clock) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 3, node)
    do(ledger, [pinned[0], pinned[2]])
    assert (last_seq(ledger, node), frontier(ledger, node).held) == (9, 1)
    skip(ledger, pinned[1], "the trail is garbage there")
    assert (last_seq(ledger, node), frontier(ledger, node).held) == (29, 0)
    assert again(ledger, pinned[1]).reason == "the trail is garbage there"
    assert owed_keys(ledger) == []
    with ledger.read() as tx:
        story = decisions.about(tx, pinned[1].partition_key)
    assert story == [("skip", "the trail is garbage there", "ann", clock.at)]


def test_what_is_done_or_worked_on_cannot_be_skipped(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 2)
    do(ledger, pinned[:1])
    take(ledger, ask(ledger, pinned[1:]), "busy")
    with pytest.raises(UsageError, match="is committed; nothing to skip"):
        skip(ledger, pinned[0])
    with pytest.raises(UsageError, match="is being worked on"):
        skip(ledger, pinned[1])
    with ledger.read() as tx:
        assert decisions.about(tx, pinned[1].partition_key) == []


def test_a_success_closes_a_skipped_hole(ledger: Ledger) -> None:
    node = add_node(ledger)
    pinned = pin_many(ledger, 2, node)
    do(ledger, pinned[1:])
    skip(ledger, pinned[0])
    commit_all(ledger, take_keys(ledger, pinned[:1]), "by-hand")
    assert again(ledger, pinned[0]).state is WindowState.COMMITTED
    assert last_seq(ledger, node) == 19


@pytest.mark.parametrize("fault", ["own", "surroundings"])
def test_a_failure_of_a_persons_run_leaves_the_skipped_hole(ledger: Ledger, fault: str) -> None:
    """The watermark has passed it: it must not become owed behind the watermark."""
    node = add_node(ledger)
    pinned = pin_many(ledger, 2, node)
    do(ledger, pinned[1:])
    skip(ledger, pinned[0])
    (taken,) = take_keys(ledger, pinned[:1])
    said = {"stage": "masked_chunks", "code": "c", "message": "m", "now": ledger.now()}
    with ledger.write() as tx:
        if fault == "own":
            failing.fail_by_own_fault(tx, taken, **said, max_attempts=3, retry_delay_s=1)  # type: ignore[arg-type]
        else:
            failing.fail_by_surroundings(
                tx, taken, **said, resource="r", retry_delay_s=1, retry_delay_max_s=9  # type: ignore[arg-type]
            )  # fmt: skip
    assert again(ledger, pinned[0]).state is WindowState.SKIPPED
    assert frontier(ledger, node).last_seq == last_seq(ledger, node) == 19


def test_a_retry_is_for_what_waits_for_a_person(ledger: Ledger) -> None:
    pinned = pin_many(ledger, 2)
    do(ledger, pinned[:1])
    with ledger.write() as tx:
        ids = [pinned[1].window_id]
        windows.set_state(tx, ids, WindowState.PAUSED, only_from=[WindowState.PINNED])
        decisions.retry(tx, pinned[1], actor="ann", now=ledger.now())
        with pytest.raises(UsageError, match="is committed; only quarantined"):
            decisions.retry(tx, again(ledger, pinned[0]), actor="ann", now=ledger.now())
        story = decisions.about(tx, pinned[1].partition_key)
    assert owed_keys(ledger) == [pinned[1].partition_key]
    assert [(action, actor) for action, _, actor, _ in story] == [("retry", "ann")]


def test_each_epoch_has_its_own_watermark(ledger: Ledger) -> None:
    node = add_node(ledger)
    moved, old = pin(ledger, node)
    do(ledger, [old])
    with ledger.write() as tx:
        assert nodes.open_epoch(tx, moved, now=ledger.now(), why="it shrank")
        fresh = nodes.get(tx, node.tenant_id, node.node_id)
    assert fresh is not None
    _, new = pin(ledger, fresh, lines=4)
    assert last_seq(ledger, fresh) is None
    do(ledger, [new])
    assert (last_seq(ledger, node), last_seq(ledger, fresh)) == (9, 3)


def test_a_line_in_two_parts_has_no_gap(ledger: Ledger) -> None:
    node, first = pin(ledger, add_node(ledger), lines=3, ends_open=True)
    node, glued = pin(ledger, node, lines=1)
    node, last = pin(ledger, node, lines=2)
    do(ledger, [first, last])
    assert (last_seq(ledger, node), frontier(ledger, node).held) == (2, 1)
    do(ledger, [glued])
    assert (last_seq(ledger, node), frontier(ledger, node).held) == (4, 0)


def test_nodes_of_one_commit_move_each_by_itself(ledger: Ledger) -> None:
    a, b = add_node(ledger, "a"), add_node(ledger, "a", tenant_id="other")
    of_a, of_b = pin_many(ledger, 2, a), pin_many(ledger, 2, b)
    do(ledger, [*of_a, of_b[1]])
    assert (last_seq(ledger, a), last_seq(ledger, b)) == (19, None)


def test_stage_files_are_replaced_by_the_younger_one(ledger: Ledger) -> None:
    (one,) = pin_many(ledger, 1)
    note_file(ledger, one)
    file = note_file(ledger, one)
    note_file(ledger, one, Stage.MINI_REPORTS)
    with ledger.read() as tx:
        assert results.current(tx, [one.window_id], Stage.MASKED_CHUNKS) == {one.window_id: file}
        assert len(results.all_files(tx, Stage.MINI_REPORTS)) == 1
        assert results.current(tx, [one.window_id], Stage.MERGED_REPORT) == {}


def item(number: int, group: str) -> dict[str, str]:
    return {"item_id": f"it_{number}", "group_key": group, "scope": f"default/{group[0]}"}


def test_items_are_replaced_as_a_whole_and_touch_old_and_new_groups(ledger: Ledger) -> None:
    one, other = pin_many(ledger, 2)
    with ledger.write() as tx:
        results.replace_items(tx, one.window_id, [item(1, "a1"), item(2, "a2")])
        results.replace_items(tx, other.window_id, [item(3, "a2")])
        results.clear_touched(tx, [one.window_id, other.window_id])
        results.replace_items(tx, one.window_id, [item(4, "b3")])
        assert results.touched(tx, [one.window_id]) == {
            "a1": "default/a", "a2": "default/a", "b3": "default/b",
        }  # fmt: skip
        assert results.touched(tx, [other.window_id]) == {}
        assert results.windows_of_groups(tx, ["a1"]) == []
        assert results.windows_of_groups(tx, ["a2", "b3"]) == sorted(
            [one.window_id, other.window_id]
        )
        assert results.all_groups(tx) == ["a2", "b3"]
        results.replace_items(tx, one.window_id, [])
        assert results.all_groups(tx) == ["a2"]
        assert set(results.touched(tx, [one.window_id])) == {"a1", "a2", "b3"}
