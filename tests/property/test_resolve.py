from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.memories.items import group_key
from memclaw_etl.memories.resolve import resolve
from tests.unit.memory_values import NOON, an_item

times = st.none() | st.integers(0, 5).map(lambda hours: NOON + timedelta(hours=hours))
items = st.builds(
    an_item,
    seq=st.integers(0, 3),
    content=st.sampled_from(["Use X", "use  x", "Use Y", "USE Y"]),
    attempt_id=st.sampled_from(["a1", "a2", "a3"]),
    node_id=st.sampled_from(["n1", "n2"]),
    namespace=st.sampled_from(["", "p"]),
    memory_type=st.sampled_from(["decision", "outcome"]),
    ts_start=times,
    ts_end=times,
)
many = st.lists(items, max_size=12)


@given(many.flatmap(lambda given: st.tuples(st.just(given), st.permutations(given))))
def test_the_order_of_the_items_does_not_matter(pair):
    one, other = pair
    assert resolve(one) == resolve(other)


@given(many)
def test_groups_can_be_resolved_one_by_one(given_items):
    by_group = {key: [i for i in given_items if group_key(i) == key]
                for key in map(group_key, given_items)}  # fmt: skip
    apart = [memory for key in sorted(by_group) for memory in resolve(by_group[key])]
    assert apart == resolve(given_items)


@given(many)
def test_every_item_and_every_evidence_ends_in_exactly_one_memory_of_its_group(given_items):
    memories = resolve(given_items)
    assert [memory.group_key for memory in memories] == sorted(set(map(group_key, given_items)))
    assert len({memory.memory_id for memory in memories}) == len(memories)
    at = {memory.group_key: memory for memory in memories}
    for item in given_items:
        memory = at[group_key(item)]
        assert item.item_id in memory.item_ids
        assert {(item.node_id, item.epoch, s, p) for s, p in item.evidence} <= set(memory.evidence)


@given(many)
def test_items_given_twice_count_once(given_items):
    assert resolve(given_items + given_items) == resolve(given_items)
