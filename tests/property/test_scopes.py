"""No row of another tenant, namespace or node, whatever is asked and however it is filtered."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.catalogue import all_memories, memory_by_id
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.recall import RecallQuery, recall
from memclaw_etl.memories.resolve import resolve
from tests.unit.memory_values import NOON, WordEmbedder, an_item

TENANTS = ("acme", "acme's", "acme/shop")
NAMESPACES = ("", "shop", "shop' OR tenant_id <> '")
WORDS = ("ledger", "cache", "timeout", "redis", "kafka", "is", "not", "'", "--", "OR", "*", "30")
EMBEDDER = WordEmbedder()


def items():
    for t, tenant in enumerate(TENANTS):
        for n, namespace in enumerate(NAMESPACES):
            for i in range(4):
                yield an_item(
                    tenant_id=tenant, namespace=namespace, node_id=f"n{i % 2}", seq=i,
                    attempt_id=f"{t}{n}{i}", interviewer="heuristic",
                    content=f"The {WORDS[i]} timeout is {30 + i % 2} s" if i < 3 else "We use redis",
                    memory_type=("decision", "fact")[i % 2],
                    ts_start=NOON + timedelta(days=i), ts_end=NOON + timedelta(days=i),
                )  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = MemoryIndex.open(
        str(tmp_path_factory.mktemp("index")), dimension=EMBEDDER.dimension,
        model_id=EMBEDDER.model_id, ledger_id="l1",
    )  # fmt: skip
    memories = resolve(items())
    publish(index, EMBEDDER, memories, groups={memory.group_key for memory in memories})
    return index


texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), min_size=1, max_size=6).map(" ".join)
odd = st.text(max_size=12)
queries = st.fixed_dictionaries(
    {"text": texts, "tenant_id": st.sampled_from(TENANTS) | odd},
    optional={
        "namespace": st.sampled_from(NAMESPACES) | odd,
        "namespaces": st.frozensets(st.sampled_from(NAMESPACES) | odd, max_size=3),
        "node_id": st.sampled_from(["n0", "n1"]) | odd,
        "memory_type": st.sampled_from(["decision", "fact"]) | odd,
        "status": st.sampled_from(["active", "superseded", "any"]) | odd,
        "since": st.integers(-30, 150).map(lambda hours: NOON + timedelta(hours=hours)),
        "until": st.integers(-1, 5).map(lambda days: NOON + timedelta(days=days)),
        "valid_at": st.integers(-1, 5).map(lambda days: NOON + timedelta(days=days)),
        "k": st.integers(1, 50),
        "chars_budget": st.integers(1, 500),
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(queries)
def test_a_hit_is_always_of_the_scope_that_was_asked_for(index, given_query):
    try:
        hits = recall(index, EMBEDDER, RecallQuery(**given_query))
    except UsageError:
        return  # refused, and nothing shown
    for hit in hits:
        memory = hit.memory
        assert memory.tenant_id == given_query["tenant_id"]
        if "namespace" in given_query:
            assert memory.namespace == given_query["namespace"]
        if "namespaces" in given_query:
            assert memory.namespace in given_query["namespaces"]
        if "since" in given_query:
            assert memory.ts_valid_end >= given_query["since"]
        if "until" in given_query:
            assert memory.ts_valid_start < given_query["until"]
        if "node_id" in given_query:
            assert given_query["node_id"] in memory.node_ids
        if "memory_type" in given_query:
            assert memory.memory_type == given_query["memory_type"]


@given(st.sampled_from(TENANTS))
@settings(deadline=None)
def test_lists_and_ids_are_of_one_tenant(index, tenant):
    others = [one for one in all_memories(index) if one.tenant_id != tenant]
    assert {one.tenant_id for one in all_memories(index, tenant_id=tenant)} == {tenant}
    assert all(memory_by_id(index, one.memory_id, tenant_id=tenant) is None for one in others[:4])


def test_a_grant_of_nothing_finds_nothing_and_of_all_everything(index):
    query = {"text": "timeout redis", "tenant_id": "acme", "k": 50, "status": "any"}
    everything = recall(index, EMBEDDER, RecallQuery(**query))
    assert everything
    assert recall(index, EMBEDDER, RecallQuery(**query, namespaces=frozenset())) == []
    granted = recall(index, EMBEDDER, RecallQuery(**query, namespaces=frozenset(NAMESPACES)))
    assert [hit.memory for hit in granted] == [hit.memory for hit in everything]


def test_what_held_at_a_moment_is_found_though_it_was_replaced_since(index):
    query = {"text": "timeout", "tenant_id": "acme", "namespace": "shop", "k": 50}
    active = recall(index, EMBEDDER, RecallQuery(**query))
    everything = recall(index, EMBEDDER, RecallQuery(**query, status="any"))
    old = recall(index, EMBEDDER, RecallQuery(**query, status="superseded"))
    assert len(everything) == len(active) + len(old)
    early = recall(index, EMBEDDER, RecallQuery(**query, valid_at=NOON - timedelta(days=1)))
    assert early == []
