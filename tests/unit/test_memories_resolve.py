from datetime import timedelta

from memclaw_etl.memories.resolve import resolve
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
