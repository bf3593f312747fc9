from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from memclaw_etl.memories.items import group_key
from memclaw_etl.memories.relate import edges
from memclaw_etl.memories.resolve import resolve, said_by
from memclaw_etl.memories.retention import moved_cutoffs
from memclaw_etl.memories.rulings import Rulings
from memclaw_etl.tenant_settings import RetentionSettings
from tests.unit.memory_values import NOON, an_item

CONTENTS = [
    "The export timeout is 30 s",
    "the export  timeout is 30 s",
    "The export timeout is 60 s",
    "The timeout of the export was raised from 30 s to 60 s",
    "We retry on conflicts",
    "We do not retry on conflicts",
    "We use Redis for the cache",
    "Redis is used for the cache",
    "We use Memcached for the cache",
    "Switched the cache from Memcached to Redis",
    "Release 17 ships the cache",
    "Release 18 ships the cache",
]
times = st.none() | st.integers(0, 5).map(lambda hours: NOON + timedelta(hours=hours))
items = st.builds(
    an_item,
    seq=st.integers(0, 3),
    content=st.sampled_from(CONTENTS),
    attempt_id=st.sampled_from(["a1", "a2", "a3"]),
    node_id=st.sampled_from(["n1", "n2"]),
    namespace=st.sampled_from(["", "p"]),
    memory_type=st.sampled_from(["decision", "outcome"]),
    interviewer=st.sampled_from(["heuristic", "heuristic", "verbatim"]),
    ts_start=times,
    ts_end=times,
)
many = st.lists(
    items,
    max_size=12,
    unique_by=lambda i: (i.item_id, i.memory_type, i.namespace),
)
"""A window says the same once in a section."""


def components(given_items):
    """Keys of groups that are related, over any number of steps: what is resolved together."""
    said = {group_key(i): one for i in given_items if (one := said_by(i)) is not None}
    of = {group_key(i): {group_key(i)} for i in given_items}
    for edge in edges(said):
        both = of[edge.left] | of[edge.right]
        of.update(dict.fromkeys(both, both))
    return {min(keys): keys for keys in of.values()}.values()


@settings(deadline=None)
@given(many.flatmap(lambda given: st.tuples(st.just(given), st.permutations(given))))
def test_the_order_of_the_items_does_not_matter(pair):
    one, other = pair
    assert resolve(one) == resolve(other)


@settings(deadline=None)
@given(many)
def test_components_can_be_resolved_one_by_one(given_items):
    apart = [
        memory
        for keys in components(given_items)
        for memory in resolve(i for i in given_items if group_key(i) in keys)
    ]
    assert sorted(apart, key=lambda m: (m.group_key, m.memory_id)) == resolve(given_items)


@settings(deadline=None)
@given(many)
def test_every_item_and_every_evidence_ends_in_a_memory(given_items):
    memories = resolve(given_items)
    assert len({memory.memory_id for memory in memories}) == len(memories)
    keys = set(map(group_key, given_items))
    assert {memory.group_key for memory in memories} <= keys
    evidence = {e for memory in memories for e in memory.evidence}
    ids = {one for memory in memories for one in memory.item_ids}
    assert ids == {item.item_id for item in given_items}
    assert evidence == {
        (i.node_id, i.epoch, seq, part) for i in given_items for seq, part in i.evidence
    }


@settings(deadline=None)
@given(many)
def test_what_is_superseded_names_what_took_its_place_and_back(given_items):
    at = {memory.memory_id: memory for memory in resolve(given_items)}
    for memory in at.values():
        assert (memory.status == "superseded") == (memory.superseded_by is not None)
        for older in memory.supersedes:
            assert at[older].superseded_by == memory.memory_id
        if memory.superseded_by:
            newer = at[memory.superseded_by]
            assert memory.memory_id in newer.supersedes
            assert memory.superseded_why
            assert (newer.tenant_id, newer.namespace) == (memory.tenant_id, memory.namespace)
            assert newer.memory_type == memory.memory_type


@settings(deadline=None)
@given(many)
def test_items_given_twice_count_once(given_items):
    assert resolve(given_items + given_items) == resolve(given_items)


cutoff_times = st.none() | st.integers(-1, 7).map(lambda hours: NOON + timedelta(hours=hours))
keys_of = st.lists(items, max_size=3).map(lambda some: frozenset(map(group_key, some)))
rulings = st.builds(
    lambda deleted, decision, outcome: Rulings(
        deleted=deleted,
        cutoffs={
            ("default", name): at
            for name, at in (("decision", decision), ("outcome", outcome))
            if at is not None
        },
    ),
    keys_of,
    cutoff_times,
    cutoff_times,
)


@settings(deadline=None)
@given(many, rulings, st.randoms())
def test_statuses_follow_from_items_and_rulings_alone(given_items, ruled, chance):
    whole = resolve(given_items, ruled)
    assert resolve(chance.sample(given_items, len(given_items)), ruled) == whole
    apart = [
        memory
        for keys in components(given_items)
        for memory in resolve((i for i in given_items if group_key(i) in keys), ruled)
    ]
    assert sorted(apart, key=lambda m: (m.group_key, m.memory_id)) == whole


@settings(deadline=None)
@given(many, rulings)
def test_rulings_change_the_status_and_nothing_else(given_items, ruled):
    plain = {memory.memory_id: memory for memory in resolve(given_items)}
    ruled_on = {memory.memory_id: memory for memory in resolve(given_items, ruled)}
    assert plain.keys() == ruled_on.keys()
    for memory_id, memory in ruled_on.items():
        before = plain[memory_id]
        assert replace(memory, status=before.status) == before
        cutoff = ruled.cutoffs.get(("default", memory.memory_type))
        if memory.group_key in ruled.deleted:
            assert memory.status == "deleted"
        elif memory.status == "expired":
            assert before.status == "active"
            assert memory.ts_valid_end < cutoff
        elif memory.status == "active" and cutoff is not None:
            assert memory.ts_valid_end is None or memory.ts_valid_end >= cutoff
        elif before.status == "superseded":
            assert memory.status in {"superseded", "deleted"}


@settings(deadline=None)
@given(many, rulings, st.integers(0, 5))
def test_a_cutoff_that_moves_forward_brings_nothing_back(given_items, ruled, hours):
    def expired(one):
        return {m.memory_id for m in resolve(given_items, one) if m.status == "expired"}

    later = {place: at + timedelta(hours=hours) for place, at in ruled.cutoffs.items()}
    assert expired(ruled) <= expired(replace(ruled, cutoffs=later))


rules = st.lists(
    st.builds(
        RetentionSettings,
        memory_type=st.sampled_from(["episode", "decision", "semantic", "fact"]),
        days=st.integers(1, 400),
    ),
    max_size=4,
)


@settings(deadline=None)
@given(st.lists(st.tuples(rules, st.integers(0, 1_000)), max_size=6))
def test_cutoffs_only_move_forward_whatever_the_settings_say(history):
    stored, now = {}, NOON
    for some, days in history:
        now += timedelta(days=days)
        moved = moved_cutoffs(stored, {"t": some}, now=now)
        assert all(stored.get(place, at) <= at < now for place, at in moved.items())
        assert {kind for _, kind in moved} <= {"episode", "decision", "fact"}
        stored |= moved
        for rule in some:
            kind = "fact" if rule.memory_type == "semantic" else rule.memory_type
            assert stored["t", kind] >= now - timedelta(days=rule.days)
        assert moved_cutoffs(stored, {"t": some}, now=now) == {}
