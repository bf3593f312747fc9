from datetime import timedelta

from memclaw_etl.memories.items import group_key, text_hash
from memclaw_etl.memories.relate import edges
from memclaw_etl.memories.resolve import resolve, said_by
from memclaw_etl.memories.rulings import Rulings
from tests.unit.memory_values import NOON, an_item


def test_items_that_say_the_same_become_one_memory_named_by_the_oldest():
    new = an_item(content="we chose  postgresql", attempt_id="a2", node_id="n2", seq=7,
                  ts_start=NOON + timedelta(hours=1), ts_end=NOON + timedelta(hours=2))  # fmt: skip
    old = an_item(seq=3)
    [memory] = resolve([new, old])
    assert resolve([old])[0].memory_id == memory.memory_id
    assert memory.content == "We chose PostgreSQL"
    assert memory.node_id == "n1"
    assert memory.node_ids == ("n1", "n2")
    assert memory.evidence == (("n1", 0, 3, 0), ("n2", 0, 7, 0))
    assert (memory.ts_valid_start, memory.ts_valid_end) == (NOON, NOON + timedelta(hours=2))
    assert set(memory.item_ids) == {old.item_id, new.item_id}


def test_an_unknown_time_is_the_youngest():
    undated = an_item(ts_start=None, ts_end=None, attempt_id="a0", node_id="n0")
    dated = an_item(attempt_id="a1", node_id="n1")
    assert resolve([undated, dated])[0].node_id == "n1"
    [memory] = resolve([undated])
    assert memory.ts_valid_start is None
    assert memory.ts_valid_end is None


def test_scopes_stay_apart():
    items = [an_item(), an_item(namespace="p"), an_item(tenant_id="t")]
    assert len({memory.memory_id for memory in resolve(items)}) == 3


def test_the_same_words_in_two_sections_are_two_memories_with_two_ids():
    items = [an_item(), an_item(memory_type="outcome", section="outcomes")]
    assert items[0].item_id == items[1].item_id
    assert len({memory.memory_id for memory in resolve(items)}) == 2


def test_no_evidence_is_lost_when_items_share_an_id():
    [memory] = resolve([an_item(seq=1), an_item(seq=2), an_item(seq=2)])
    assert memory.evidence == (("n1", 0, 1, 0), ("n1", 0, 2, 0))
    assert memory.begins_at == (0, 1)


def test_nothing_gives_nothing():
    assert resolve([]) == []


def said(content, hour, **change):
    at = NOON + timedelta(hours=hour)
    return an_item(
        content=content, interviewer="heuristic", attempt_id=f"a{hour}", seq=hour,
        ts_start=at, ts_end=at, **change,
    )  # fmt: skip


def test_a_changed_figure_takes_the_place_of_the_older_one_and_ends_it():
    old, new = said("The export timeout is 30 s", 1), said("The export timeout is 60 s", 4)
    by_text = {memory.content: memory for memory in resolve([new, old])}
    before, after = by_text[old.content], by_text[new.content]
    assert (before.status, before.superseded_why) == ("superseded", "changed_figure")
    assert before.superseded_by == after.memory_id
    assert (before.ts_valid_start, before.ts_valid_end) == (old.ts_start, new.ts_start)
    assert (after.status, after.supersedes) == ("active", (before.memory_id,))


def test_what_was_replaced_and_is_said_again_is_a_new_memory():
    items = [said("Timeout is 30 s", 1), said("Timeout is 60 s", 2), said("Timeout is 30 s", 3)]
    memories = sorted(resolve(items), key=lambda memory: memory.ts_valid_start)
    assert [memory.status for memory in memories] == ["superseded", "superseded", "active"]
    assert memories[2].supersedes == (memories[1].memory_id,)


def test_other_words_for_the_same_join_with_their_evidence():
    items = [said("We use Redis for the job queue", 1), said("Redis is used for the job queue", 2)]
    [memory] = resolve(items)
    assert memory.content == "We use Redis for the job queue"
    assert [seq for _, _, seq, _ in memory.evidence] == [1, 2]


def test_a_statement_without_time_replaces_nothing():
    undated = an_item(
        content="Timeout is 60 s", interviewer="heuristic", ts_start=None, ts_end=None
    )
    memories = resolve([said("Timeout is 30 s", 1), undated])
    assert [memory.status for memory in memories] == ["active", "active"]


def test_raw_events_are_joined_by_identity_only():
    items = [an_item(content="Timeout is 30 s"), an_item(content="Timeout is 60 s", seq=1)]
    assert {memory.status for memory in resolve(items)} == {"active"}


def test_a_relation_that_a_person_undid_leaves_both_standing():
    items = [said("Timeout is 30 s", 1), said("Timeout is 60 s", 2)]
    [edge] = edges({group_key(item): said_by(item) for item in items})
    memories = resolve(items, Rulings(apart=frozenset({edge.edge_id})))
    assert [memory.status for memory in memories] == ["active", "active"]


def test_a_tombstone_lies_over_events_and_texts_of_its_tenant():
    first = said("Timeout is 30 s", 1, identities=("e1", "e2"))
    reworded = said("The timeout stands at half a minute", 2, identities=("e2",))
    copied = said("timeout  is 30 s", 3, identities=("e9",))
    kept = said("The queue is full", 4, identities=("e3",))
    stranger = said("Timeout is 30 s", 5, identities=("e1",), tenant_id="t")
    under = Rulings(
        forgotten_events=frozenset({("default", "e1"), ("default", "e2")}),
        forgotten_texts=frozenset({("default", text_hash("Timeout is 30 s"))}),
    )
    memories = resolve([first, reworded, copied, kept, stranger], under)
    assert sorted((m.tenant_id, m.content) for m in memories) == [
        ("default", "The queue is full"), ("t", "Timeout is 30 s"),
    ]  # fmt: skip
