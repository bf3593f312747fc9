"""Pins and claims: a window starts once, never changes, and every event has one owner."""

from dataclasses import replace

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from memclaw_etl.errors import HomeMismatchError, SettingsError
from memclaw_etl.lake.ledger import (
    Holder,
    Ledger,
    Stage,
    WindowState,
    batches,
    decisions,
    failing,
    nodes,
    open_ledger,
    pins,
    windows,
)
from memclaw_etl.lake.ledger.schema import meta
from memclaw_etl.lake.ledger.schema import windows as window_table
from tests.conftest import Clock
from tests.ledger_rows import (
    add_node,
    again,
    ask,
    commit_all,
    do,
    note_file,
    owed_keys,
    owned,
    pin,
    take,
    take_keys,
    try_pin,
    window_row,
)

LONG = 200


def skip(ledger: Ledger, one: object) -> None:
    with ledger.write() as tx:
        decisions.skip(tx, one, reason="test", actor="test", now=ledger.now())  # type: ignore[arg-type]


def test_a_ledger_keeps_its_id_and_refuses_another_schema(ledger_url: str) -> None:
    first, second = open_ledger(ledger_url), open_ledger(ledger_url)
    assert first.ledger_id == second.ledger_id
    with first.write() as tx:
        tx.execute(meta.update().where(meta.c.key == "schema_version").values(value="99"))
    for one in (first, second):
        one.engine.dispose()
    with pytest.raises(HomeMismatchError, match="schema version 99"):
        open_ledger(ledger_url)


@pytest.mark.parametrize(
    "url",
    [
        "no url at all hunter2",
        "postgresql://me:hunter2@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=hunter2",
        "postgresql://me:hunter2@127.0.0.1:notaport/db",
        "mysql://me:hunter2@127.0.0.1/db",
        "sqlite:////proc/hunter2/x.sqlite",
    ],
)
def test_a_ledger_that_cannot_be_opened_is_a_settings_error_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        open_ledger(url)
    if "sqlite" not in url:
        assert "hunter2" not in str(refused.value)


def test_a_write_is_everything_or_nothing(ledger: Ledger) -> None:
    node = add_node(ledger)

    def fail_halfway() -> None:
        with ledger.write() as tx:
            nodes.change(tx, node, head_seq=5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    with ledger.read() as tx:
        assert nodes.get(tx, node.tenant_id, node.node_id).head_seq is None  # type: ignore[union-attr]


def test_a_read_sees_one_moment_and_changes_nothing(ledger: Ledger) -> None:
    node = add_node(ledger)
    with ledger.read() as tx:
        assert windows.of_node(tx, node.tenant_id, node.node_id, 0) == []
        pin(ledger, node)
        assert windows.of_node(tx, node.tenant_id, node.node_id, 0) == []
        assert nodes.get(tx, node.tenant_id, node.node_id) == node
    with ledger.read() as tx:
        assert len(windows.of_node(tx, node.tenant_id, node.node_id, 0)) == 1


def test_a_pin_moves_the_frontier_and_stands(ledger: Ledger) -> None:
    node = add_node(ledger)
    moved, first = pin(ledger, node)
    assert (first.cursor_from, first.cursor_to, first.state) == (0, 9, WindowState.PINNED)
    with ledger.read() as tx:
        stored = nodes.get(tx, node.tenant_id, node.node_id)
    assert stored is not None
    assert stored.frontier_seq == moved.frontier_seq == 10
    assert first.pinned_at == ledger.now()
    assert first.pinned_at.utcoffset() is not None


def test_a_planner_that_comes_second_changes_nothing(ledger: Ledger) -> None:
    node = add_node(ledger)
    _, first = pin(ledger, node, lines=10)
    state, row, _ = try_pin(ledger, node, ["uuid:late"], lines=12)
    assert state is None
    with ledger.read() as tx:
        assert windows.by_keys(tx, [row["partition_key"]]) == []
        assert windows.of_node(tx, node.tenant_id, node.node_id, 0) == [first]
        assert pins.owned_events(tx, row["window_id"]) == {}


def test_at_most_one_window_starts_at_a_place(ledger: Ledger) -> None:
    node = add_node(ledger)
    pin(ledger, node, lines=10)
    row = window_row(ledger, node, lines=12)
    state = {"state": WindowState.PINNED, "events": 1, "replayed": 0}
    statement = insert(window_table).values(**row, **state)
    with pytest.raises(IntegrityError), ledger.write() as tx:
        tx.execute(statement)


def test_a_pinned_window_never_changes(ledger: Ledger, clock: Clock) -> None:
    """Whatever happens to it, the first block of its row stays."""
    node = add_node(ledger)
    _, pinned = pin(ledger, node)
    block = list(pinned.__dataclass_fields__)
    block = block[: block.index("state")]
    clock.move(hours=1)
    do(ledger, [pinned])
    committed = again(ledger, pinned)
    assert committed.state is WindowState.COMMITTED
    for name in block:
        assert getattr(committed, name) == getattr(pinned, name), name


def test_two_windows_of_one_line_differ_in_their_part(ledger: Ledger) -> None:
    node, first = pin(ledger, add_node(ledger), lines=3, ends_open=True)
    node, second = pin(ledger, node, lines=1)
    _, third = pin(ledger, node, lines=1)
    assert [one.partition_key.rpartition("@")[2] for one in (first, second, third)] == [
        "0-2",
        "2.1-2",
        "3-3",
    ]


def test_a_copy_is_a_replay_and_all_copies_are_noise(ledger: Ledger) -> None:
    _, first = pin(ledger, add_node(ledger, "a"), ["uuid:1", "uuid:2"])
    node, mixed = pin(ledger, add_node(ledger, "b"), ["uuid:1", "uuid:3"])
    _, only_copies = pin(ledger, node, ["uuid:1", "uuid:2"])
    assert (first.events, first.replayed) == (2, 0)
    assert (mixed.events, mixed.replayed, mixed.state) == (1, 1, WindowState.PINNED)
    assert (only_copies.events, only_copies.replayed) == (0, 2)
    assert only_copies.state is WindowState.NOISE
    with ledger.read() as tx:
        copies = pins.copies_of(tx, "default", ["uuid:1"])
    assert [key for _, key, _, _ in copies] == [mixed.partition_key, only_copies.partition_key]


def test_the_same_event_twice_in_one_window_is_one_event(ledger: Ledger) -> None:
    _, one = pin(ledger, add_node(ledger), ["uuid:1", "uuid:1"])
    assert (one.events, one.replayed) == (1, 1)


def test_events_belong_to_their_tenant(ledger: Ledger) -> None:
    _, mine = pin(ledger, add_node(ledger, "n", tenant_id="t1"), ["uuid:1"])
    _, theirs = pin(ledger, add_node(ledger, "n", tenant_id="t2"), ["uuid:1"])
    assert mine.events == theirs.events == 1


def test_more_events_than_fit_one_statement(ledger: Ledger) -> None:
    identities = [f"uuid:{number}" for number in range(1234)]
    _, one = pin(ledger, add_node(ledger, "a"), identities)
    _, copy = pin(ledger, add_node(ledger, "b"), list(reversed(identities)))
    assert (one.events, copy.events, copy.replayed) == (1234, 0, 1234)


def test_claims_of_a_skipped_window_pass_to_the_next_copy(ledger: Ledger, clock: Clock) -> None:
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1", "uuid:2", "uuid:3"])
    clock.move(minutes=1)
    _, fork = pin(ledger, add_node(ledger, "b"), ["uuid:1", "uuid:9"])
    clock.move(minutes=1)
    _, later = pin(ledger, add_node(ledger, "c"), ["uuid:1", "uuid:2"])
    assert later.state is WindowState.NOISE
    skip(ledger, lost)
    assert owned(ledger, fork) == ["uuid:1", "uuid:9"]
    assert owned(ledger, later) == ["uuid:2"]
    assert (again(ledger, fork).events, again(ledger, fork).replayed) == (2, 0)
    assert again(ledger, later).state is WindowState.PINNED
    assert owed_keys(ledger) == [fork.partition_key, later.partition_key]


def test_claims_of_a_lost_window_pass_to_a_copy_that_comes_later(ledger: Ledger) -> None:
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1"])
    skip(ledger, lost)
    _, fork = pin(ledger, add_node(ledger, "b"), ["uuid:1"])
    assert (fork.events, fork.state) == (1, WindowState.PINNED)


def test_a_masked_window_keeps_its_claims(ledger: Ledger) -> None:
    """What is masked can still be interviewed."""
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1"])
    _, copy = pin(ledger, add_node(ledger, "b"), ["uuid:1", "uuid:2"])
    note_file(ledger, lost, Stage.MASKED_CHUNKS)
    skip(ledger, lost)
    assert owned(ledger, lost) == ["uuid:1"]
    assert owned(ledger, copy) == ["uuid:2"]


def test_a_skipped_window_that_a_person_runs_again_has_its_events(ledger: Ledger) -> None:
    """A later success closes the hole: with the events that nobody else has taken since."""
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1", "uuid:2"])
    skip(ledger, lost)
    _, fork = pin(ledger, add_node(ledger, "b"), ["uuid:2"])
    taken = take_keys(ledger, [again(ledger, lost)])
    assert [one.partition_key for one in taken] == [lost.partition_key]
    assert owned(ledger, lost) == ["uuid:1"]
    assert owned(ledger, fork) == ["uuid:2"]
    commit_all(ledger, taken, "by-hand")
    assert again(ledger, lost).state is WindowState.COMMITTED


def test_a_window_that_is_being_worked_on_inherits_nothing_behind_its_run(ledger: Ledger) -> None:
    """Its chunks may be stored already: the event would be lost with its commit."""
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1"])
    _, busy = pin(ledger, add_node(ledger, "b"), ["uuid:1", "uuid:2"])
    held = take(ledger, ask(ledger, [busy]), "run-1")
    note_file(ledger, busy)
    skip(ledger, lost)
    assert owned(ledger, busy) == ["uuid:2"]
    with ledger.write() as tx:  # the run dies; the next one sees the orphan before it masks
        tx.execute(windows.leases.delete())
    taken = take(ledger, ask(ledger, held), "run-2")
    assert owned(ledger, busy) == ["uuid:1", "uuid:2"]
    assert taken[0].events == 2


def test_a_rewritten_window_passes_its_claims_on(ledger: Ledger) -> None:
    _, lost = pin(ledger, add_node(ledger, "a"), ["uuid:1"])
    _, copy = pin(ledger, add_node(ledger, "b"), ["uuid:1"])
    with ledger.write() as tx:
        failing.fail_as_rewritten(
            tx, lost, stage="masked_chunks", code="TrailRewritten", message="m", now=ledger.now()
        )
    assert again(ledger, lost).state is WindowState.REWRITTEN
    assert owned(ledger, copy) == ["uuid:1"]
    assert owed_keys(ledger) == [copy.partition_key]


def test_a_new_epoch_starts_at_zero_and_its_copies_are_replays(ledger: Ledger) -> None:
    node, old = pin(ledger, add_node(ledger), ["uuid:1", "uuid:2"])
    with ledger.write() as tx:
        assert nodes.open_epoch(tx, node, now=ledger.now(), why="it shrank")
        assert not nodes.open_epoch(tx, node, now=ledger.now(), why="again")
        fresh = nodes.get(tx, node.tenant_id, node.node_id)
    assert fresh is not None
    assert (fresh.epoch, fresh.frontier_seq, fresh.frontier_byte) == (1, 0, 0)
    assert (fresh.head_hash, fresh.problem_code) == (None, "rewritten")
    _, new = pin(ledger, fresh, ["uuid:1", "uuid:3"])
    assert new.partition_key == "cc:m:one~1@0-9"
    assert (new.events, new.replayed) == (1, 1)
    assert new.window_id != old.window_id
    assert new.attempt_id != old.attempt_id


def test_a_node_has_one_source_for_its_life(ledger: Ledger) -> None:
    add_node(ledger, "cc:m:one", path="/trails/same.jsonl")
    with pytest.raises(SettingsError) as refused:
        add_node(ledger, "cursor:m:one", path="/trails/same.jsonl")
    assert "cc:m:one" in str(refused.value)
    assert "cursor:m:one" in str(refused.value)
    assert add_node(ledger, "cc:m:one").path == "/trails/same.jsonl"


def test_ids_of_any_legal_shape(ledger: Ledger) -> None:
    for node_id in ("n" * LONG, "a/b~1@0-1", "...", "\u2028\n", "%2E", "~", "日本"):
        _, one = pin(ledger, add_node(ledger, node_id, path=f"/t/{hash(node_id)}"))
        assert again(ledger, one).node_id == node_id
    assert len(owed_keys(ledger)) == 7


def test_a_late_run_of_an_overtaken_planner_cannot_move_back(ledger: Ledger) -> None:
    node = add_node(ledger)
    moved, _ = pin(ledger, node)
    moved, _ = pin(ledger, moved)
    stale = replace(moved, frontier_seq=10, frontier_byte=1000)
    assert try_pin(ledger, stale)[0] is None
    with ledger.read() as tx:
        assert nodes.get(tx, node.tenant_id, node.node_id).frontier_seq == 20  # type: ignore[union-attr]


def test_taking_a_window_twice_changes_no_counts(ledger: Ledger) -> None:
    _, one = pin(ledger, add_node(ledger, "a"), ["uuid:1", "uuid:1"])
    batch = ask(ledger, [one])
    for _ in range(3):
        (held,) = take(ledger, batch)
        assert (held.events, held.replayed) == (1, 1)
    with ledger.write() as tx:
        assert batches.take(
            tx, batch_id=batch, holder=Holder("other", "elsewhere", 1), now=ledger.now(),
            lease_s=9, by_person=False,
        ) == []  # fmt: skip
