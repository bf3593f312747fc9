import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memclaw_etl.memories.enrich import (
    HALF_LIFE_DAYS,
    HINT_MAX,
    entities,
    importance,
    recency,
    retrieval_hint,
    tags,
)
from memclaw_etl.memories.types import STORED
from tests.unit.memory_values import an_item


def test_entities_are_files_packages_commands_and_symbols_never_people():
    text = (
        "Alice moved load_tides to src/tide/parse.py, ran `git rebase main` and pip install tomli;"
        " see https://example.test/docs/a.html and mail bob@example.test"
    )
    found = entities(text)
    assert {"file:src/tide/parse.py", "command:git rebase main", "package:tomli"} <= set(found)
    assert "symbol:load_tides" in found
    assert not [one for one in found if "alice" in one.casefold() or "bob" in one.casefold()]


def test_the_tail_of_an_address_is_no_file_and_a_dot_file_is_one():
    text = "see https://example.test/pull/231 and x@example.test, then edit .goreleaser.yaml"
    assert entities(text) == ("file:.goreleaser.yaml",)


@pytest.mark.parametrize("piece", ["x-", "x.", "a/", "~", "a_", "/"])
def test_hostile_texts_end_at_all(piece):
    entities(piece * 200_000)  # quadratic rules took minutes


def test_tags_are_the_words_that_come_most_and_no_names():
    text = "The export timeout was raised, since the export of Marian takes long"
    assert tags(text)[0] == "export"
    assert "marian" not in tags(text)
    assert len(tags("one two three four five six seven eight nine ten eleven twelve")) <= 5


def test_the_hint_names_type_and_subject():
    assert retrieval_hint("decision", "We use load_tides for tides").startswith("decision about ")


def test_a_wish_of_the_user_weighs_more_than_chatter():
    wish = importance(an_item(memory_type="preference", interviewer="openai"), related_before=0)
    chat = importance(an_item(memory_type="episode"), related_before=0)
    assert wish.total > chat.total


def test_reasons_figures_and_news_count_and_the_hint_is_bounded():
    plain = an_item(content="We use Redis", interviewer="heuristic")
    full = an_item(content="We use 3 nodes (instead of: one) Why: load", interviewer="heuristic")
    liked = an_item(content="We use Redis", interviewer="heuristic", hint=1)
    base = importance(plain, related_before=0)
    assert importance(full, related_before=0).total > base.total
    assert importance(plain, related_before=3).total < base.total
    assert importance(liked, related_before=0).total - base.total == pytest.approx(HINT_MAX)
    assert 0 <= base.total <= 1


def parts(content="We use Redis", related=0, replaces=False, **change):
    item = an_item(**({"interviewer": "heuristic", "content": content} | change))
    return importance(item, related_before=related, replaces=replaces)


def test_a_correction_by_the_user_weighs_most_and_chatter_least():
    kinds = [
        parts(memory_type="preference", replaces=True),
        parts(memory_type="rule"),
        parts(memory_type="preference"),
        parts(memory_type="decision"),
        parts(memory_type="fact"),
        parts(memory_type="action"),
        parts(memory_type="episode"),
        parts(memory_type="episode", interviewer="verbatim"),
    ]
    weights = [one.source for one in kinds]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == len(weights)
    aside = parts("Use tabs instead of spaces", memory_type="preference")
    assert aside.source == kinds[0].source == 1.0
    assert parts(memory_type="decision", replaces=True).source > kinds[3].source


def test_every_stored_type_has_a_weight_and_a_half_life_of_its_own():
    for name in STORED:
        assert 0 < parts(memory_type=name).source <= 1
        assert recency(name, HALF_LIFE_DAYS[name]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "sign",
    ["because it is simpler", "Why: load", "weil es einfacher ist", "(instead of: one)",
     "rather than Kafka", "statt Kafka", "on 3 nodes"],
)  # fmt: skip
def test_reason_alternative_and_figure_each_count_in_the_words_people_use(sign):
    assert parts(f"We use Redis {sign}").structure == pytest.approx(1 / 3, abs=1e-4)
    assert parts("We use Redis").structure == 0.0


def test_importance_is_never_flat_not_even_of_raw_messages():
    said = ["ok", "because it failed", "3 failed because of 2", "not A but B, since 4 fail"]
    raw = [parts(text, interviewer="verbatim", memory_type="episode").total for text in said]
    assert len(set(raw)) == len(raw)


@settings(deadline=None)
@given(
    st.sampled_from(STORED), st.integers(0, 9), st.integers(-5, 9), st.booleans(),
    st.sampled_from(["heuristic", "openai", "verbatim"]),
    st.sampled_from(["We use Redis", "We use 3 nodes instead of 1 because of load"]),
)  # fmt: skip
def test_a_hint_lifts_by_its_bound_at_most_and_lowers_nothing(
    memory_type, related, hint, replaces, who, content
):
    change = {"memory_type": memory_type, "interviewer": who}
    without = parts(content, related, replaces, **change)
    hinted = parts(content, related, replaces, hint=hint, **change)
    assert 0 <= hinted.total - without.total <= HINT_MAX + 1e-9
    assert 0 < without.total <= hinted.total <= 1
    assert (hinted.source, hinted.structure, hinted.novelty) == (
        without.source, without.structure, without.novelty,
    )  # fmt: skip


def test_what_was_said_before_in_other_words_is_less_of_a_novelty():
    novelties = [parts(related=count).novelty for count in range(5)]
    assert novelties == sorted(novelties, reverse=True)
    assert novelties[0] == 1.0


def test_tasks_age_faster_than_preferences():
    assert recency("task", 30) == pytest.approx(0.5)
    assert recency("preference", 365) == pytest.approx(0.5)
    assert recency("episode", -5) == 1.0
