from datetime import UTC, datetime, timedelta, timezone

import pytest

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.recall import RecallQuery, recall, recall_many
from memclaw_etl.memories.resolve import resolve
from tests.unit.memory_values import NOON, WordEmbedder, an_item

EMBEDDER = WordEmbedder()
ITEMS = [
    an_item(seq=0, content="We chose PostgreSQL for the ledger"),
    an_item(seq=1, content="Because it runs on several hosts", memory_type="fact"),
    an_item(seq=5, content="The cache lives in Redis", node_id="n2", session_id="s2"),
    an_item(seq=6, content="Rollbacks need a second migration", namespace="shop", node_id="n3"),
    an_item(seq=8, content="PostgreSQL of another tenant", tenant_id="other"),
    an_item(seq=9, content="Backups run at night", ts_start=NOON + timedelta(days=9),
            ts_end=NOON + timedelta(days=9), session_id="s3"),
    an_item(seq=20, content="It's a 'quoted' word", node_id="n'4", ts_start=None, ts_end=None),
]  # fmt: skip


def filled(folder, items):
    index = MemoryIndex.open(
        str(folder), dimension=EMBEDDER.dimension, model_id=EMBEDDER.model_id, ledger_id="l1"
    )
    memories = resolve(items)
    publish(index, EMBEDDER, memories, groups={memory.group_key for memory in memories})
    return index


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("index"), ITEMS)


def contents(index, text, **filters):
    query = RecallQuery(**{"text": text, "tenant_id": "default"} | filters)
    return [hit.memory.content for hit in recall(index, EMBEDDER, query)]


def test_the_best_memory_comes_first_by_words_in_another_form(index):
    assert contents(index, "choosing a ledger")[0] == "We chose PostgreSQL for the ledger"


def test_a_hit_carries_the_memory_as_it_was_resolved(index):
    [hit] = recall(index, EMBEDDER, RecallQuery(text="redis cache", tenant_id="default", k=1))
    assert hit.memory in resolve(ITEMS)


def test_the_parts_of_a_score_add_up_and_order_the_hits(index):
    hits = recall(index, EMBEDDER, RecallQuery(text="PostgreSQL ledger", tenant_id="default"))
    for hit in hits:
        parts = hit.explanation
        total = parts.bm25 + parts.vector + parts.support + parts.session + parts.length
        assert hit.score == pytest.approx(total)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_neighbour_of_the_answer_in_its_session_gets_support(index):
    hits = recall(index, EMBEDDER, RecallQuery(text="PostgreSQL ledger", tenant_id="default"))
    support = {hit.memory.content: hit.explanation.support for hit in hits}
    assert support["Because it runs on several hosts"] > 0
    assert support["The cache lives in Redis"] == 0


def test_importance_and_freshness_decide_between_equal_scores_only(tmp_path):
    said = {
        "amber birch": {"memory_type": "fact", "interviewer": "heuristic"},
        "birch amber": {"memory_type": "decision", "interviewer": "heuristic"},
        "cedar dune": {"ts_start": NOON, "ts_end": NOON},
        "dune cedar": {"ts_start": NOON + timedelta(days=60), "ts_end": NOON + timedelta(days=60)},
        "amber amber": {"memory_type": "fact"},
    }
    index = filled(
        tmp_path,
        [
            an_item(seq=i, content=text, session_id=f"s{i}", **given)
            for i, (text, given) in enumerate(said.items())
        ],
    )
    hits = recall(index, EMBEDDER, RecallQuery(text="amber", tenant_id="default", k=3))
    assert [hit.memory.content for hit in hits] == ["amber amber", "birch amber", "amber birch"]
    assert hits[1].score == hits[2].score < hits[0].score
    assert hits[1].weight > hits[2].weight
    now = NOON + timedelta(days=90)
    asked = RecallQuery(text="cedar", tenant_id="default", k=2, now=now)
    assert [hit.memory.content for hit in recall(index, EMBEDDER, asked)] == [
        "dune cedar",
        "cedar dune",
    ]


def test_what_is_said_in_the_same_words_is_one_hit_that_names_the_others(tmp_path):
    index = filled(
        tmp_path,
        [
            an_item(seq=0, content="Deploy on Friday.", memory_type="fact", session_id="a"),
            an_item(seq=1, content="deploy  on friday", session_id="b"),
            an_item(seq=2, content="Deploy on Friday!", namespace="shop", session_id="c"),
            an_item(seq=3, content="Deploy on Monday", session_id="d"),
        ],
    )
    hits = recall(index, EMBEDDER, RecallQuery(text="deploy friday", tenant_id="default", k=2))
    assert [hit.memory.content.casefold()[:13] for hit in hits] == [
        "deploy  on fr",
        "deploy on mon",
    ]
    others = {m.memory_id for m in all_memories(index) if "riday" in m.content}
    assert {hits[0].memory.memory_id, *hits[0].also} == others
    assert len(hits[0].also) == 2
    assert hits[1].also == ()


def test_another_tenant_is_never_seen(index):
    assert contents(index, "PostgreSQL of another tenant", tenant_id="other") == [
        "PostgreSQL of another tenant"
    ]
    assert "PostgreSQL of another tenant" not in contents(index, "PostgreSQL of another tenant")
    assert contents(index, "PostgreSQL", tenant_id="x' OR '1'='1") == []


def test_filters_narrow(index):
    assert contents(index, "anything", node_id="n2") == ["The cache lives in Redis"]
    assert contents(index, "anything", node_id="n'4") == ["It's a 'quoted' word"]
    assert contents(index, "anything", namespace="shop") == ["Rollbacks need a second migration"]
    assert contents(index, "anything", memory_type="fact") == ["Because it runs on several hosts"]
    since = datetime(2026, 3, 5, tzinfo=UTC)
    assert contents(index, "anything", since=since) == ["Backups run at night"]
    assert contents(index, "anything", since=NOON + timedelta(days=30)) == []


@pytest.mark.parametrize("zone_hours", [-11, 0, 13])
def test_since_is_exact_to_the_microsecond_in_any_zone(index, zone_hours):
    zone, tick = timezone(timedelta(hours=zone_hours)), timedelta(microseconds=1)
    every = recall(index, EMBEDDER, RecallQuery(text="anything", tenant_id="default", k=50))
    ends = {hit.memory.content: hit.memory.ts_valid_end for hit in every}
    assert len(set(ends.values())) > 1
    for end in filter(None, ends.values()):
        for moment in (end - tick, end, end + tick):
            found = set(contents(index, "anything", k=50, since=moment.astimezone(zone)))
            assert found == {text for text, last in ends.items() if last and last >= moment}


def test_a_question_of_signs_and_stop_words_still_has_an_answer(index):
    assert len(contents(index, "is it? (AND) \"the' -- *", k=3)) == 3


def test_a_character_budget_takes_whole_memories_and_passes_over_long_ones(index):
    hits = contents(index, "PostgreSQL ledger", chars_budget=45)
    assert sum(map(len, hits)) <= 45
    assert hits[0] == "We chose PostgreSQL for the ledger"
    assert contents(index, "PostgreSQL ledger", chars_budget=5) == []


def test_many_questions_are_answered_like_one_by_one(index):
    queries = [
        RecallQuery(text="redis", tenant_id="default", k=2),
        RecallQuery(text="backups", tenant_id="other"),
    ]
    assert recall_many(index, EMBEDDER, queries) == [recall(index, EMBEDDER, q) for q in queries]
    assert recall_many(index, EMBEDDER, []) == []


def test_questions_without_an_answer_are_refused(index):
    with pytest.raises(UsageError, match="empty"):
        RecallQuery(text="  ", tenant_id="default")
    with pytest.raises(UsageError, match="at least 1"):
        RecallQuery(text="x", tenant_id="default", k=0)
    with pytest.raises(UsageError, match="zone"):
        contents(index, "x", since=datetime(2026, 1, 1))  # noqa: DTZ001  the point of the test
