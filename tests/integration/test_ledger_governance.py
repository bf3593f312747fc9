"""The ledger's tables about policies, deletions and cutoffs, on both databases."""

from datetime import timedelta

from sqlalchemy import update

from memclaw_etl.lake.ledger import Ledger, Stage, StageFile, Window, decisions, governance, results
from memclaw_etl.lake.ledger.schema import windows
from tests.ledger_rows import add_node, pin_many


def named(ledger: Ledger, window: Window) -> None:
    """The window has items."""
    file = StageFile(window.window_id, str(Stage.MERGED_REPORT), "f", "i", "c", 1, {}, ledger.now())
    with ledger.write() as tx:
        results.set_current(tx, file)


def test_windows_are_known_by_the_policies_that_chose_their_items(ledger: Ledger):
    mine, other = add_node(ledger), add_node(ledger, "n2", tenant_id="other")
    [first], [foreign] = pin_many(ledger, 1, mine), pin_many(ledger, 1, other)
    named(ledger, foreign)

    def due(policies: str) -> list[str]:
        with ledger.read() as tx:
            return governance.governed_otherwise(tx, "default", policies=policies)

    assert due("p1") == []  # no items yet
    named(ledger, first)
    assert due("") == []
    assert due("p1") == [first.window_id]
    records = [("it_1", "a", "drop"), ("it_2", "a", "drop"), ("it_2", "b", "flag")]
    with ledger.write() as tx:
        governance.keep_governed(tx, first, policies="p1", records=[*records, records[0]])
        assert governance.counts(tx, first.window_id) == {
            "by policy drop": {"a": 2}, "by policy flag": {"b": 1},
        }  # fmt: skip
        assert governance.counts(tx, foreign.window_id) == {}
    assert due("p1") == []
    assert due("p2") == due("") == [first.window_id]
    with ledger.write() as tx:
        governance.keep_governed(tx, first, policies="", records=[])
        assert governance.counts(tx, first.window_id) == {}
    assert due("") == []


def test_deletions_lie_over_statements_and_follow_their_wording(ledger: Ledger):
    with ledger.write() as tx:
        governance.delete_groups(tx, {"g1", "g2"}, tenant_id="default", memory_id="m1")
        governance.delete_groups(tx, {"g2"}, tenant_id="default", memory_id="m2")
        assert governance.deleted(tx) == {"g1", "g2"}
        governance.carry_over(tx, {"it": {"g1"}, "x": {"g9"}}, {"it": {"g3"}, "x": {"g8"}})
        assert governance.deleted(tx) == {"g1", "g2", "g3"}
        assert governance.restore_groups(tx, {"g1"}, tenant_id="other", memory_id="m1") == 0
        assert governance.restore_groups(tx, {"g2"}, tenant_id="default", memory_id="m1") == 3
        assert governance.deleted(tx) == frozenset()


def test_of_decisions_about_a_memory_the_last_one_stands(ledger: Ledger, clock):
    def decide(memory_id: str, action: str, reason: str) -> None:
        clock.move(seconds=1)
        with ledger.write() as tx:
            decisions.record(
                tx, memory_id, action=action, tenant_id="default", reason=reason, actor="me",
                now=ledger.now(),
            )  # fmt: skip

    decide("m1", governance.DELETE, "first")
    decide("m2", governance.DELETE, "kept")
    decide("m1", governance.UNDELETE, "no")
    with ledger.read() as tx:
        assert governance.deletions(tx, "default") == [("m2", "kept")]
        assert governance.deletions(tx, "other") == []
    decide("m1", governance.DELETE, "again")
    with ledger.read() as tx:
        assert sorted(governance.deletions(tx, "default")) == [("m1", "again"), ("m2", "kept")]


def test_cutoffs_are_stored_and_name_the_windows_between(ledger: Ledger):
    now = ledger.now()
    place = ("default", "episode")
    with ledger.write() as tx:
        assert governance.cutoffs(tx) == {}
        governance.move_cutoffs(tx, {place: now})
        governance.move_cutoffs(tx, {place: now + timedelta(days=1), ("other", "fact"): now})
        assert governance.cutoffs(tx) == {
            place: now + timedelta(days=1), ("other", "fact"): now,
        }  # fmt: skip


def test_windows_between_two_cutoffs_are_those_with_events_there(ledger: Ledger):
    node, hour = add_node(ledger), timedelta(hours=1)
    start = ledger.now()
    found = pin_many(ledger, 4, node)
    with ledger.write() as tx:
        for number, one in enumerate(found[:3]):  # the last one has no times
            times = {"ts_first": start + number * hour, "ts_last": start + (number + 0.5) * hour}
            tx.execute(update(windows).where(windows.c.window_id == one.window_id).values(times))
    ids = [one.window_id for one in found]

    def between(after, before, tenant="default"):
        with ledger.read() as tx:
            some = governance.windows_between(tx, tenant, after=after, before=before)
        return [ids.index(one) for one in sorted(some, key=ids.index)]

    assert between(None, start) == []
    assert between(None, start + 1.2 * hour) == [0, 1]
    assert between(start + 0.6 * hour, start + 1.2 * hour) == [1]
    assert between(start + 0.5 * hour, start + 9 * hour) == [0, 1, 2]
    assert between(None, start + 9 * hour, tenant="other") == []
