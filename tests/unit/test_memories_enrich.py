import pytest

from memclaw_etl.memories.enrich import (
    HINT_MAX,
    entities,
    importance,
    recency,
    retrieval_hint,
    tags,
)
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


def test_tasks_age_faster_than_preferences():
    assert recency("task", 30) == pytest.approx(0.5)
    assert recency("preference", 365) == pytest.approx(0.5)
    assert recency("episode", -5) == 1.0
