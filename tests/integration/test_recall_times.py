"""Time words of a question through the real stages: a filter that hides nothing silently."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from memclaw_etl.errors import UsageError
from memclaw_etl.service.grants import Grant
from memclaw_etl.service.recalling import (
    Asked,
    Question,
    answer_all,
    ask,
    ask_for_markdown,
    list_memories,
)
from tests.staged import Home, home
from tests.trail_lines import joined, prompt, reply

__all__ = ["home"]

WHOLE = Grant(tenant_id="default")
JANUARY = "Decision: the ferry export runs at night because it is slow."
FEBRUARY = "Decision: the ferry import needs two workers because it is slow."
QUESTION = "what did we decide about the ferry last month?"
"""Asked on the first of March 2026 (`tests.conftest.START`)."""


def talk(home: Home, name: str, text: str, at: datetime) -> Path:
    lines = [
        prompt("What about the ferry?", ord(name), timestamp=at.isoformat()),
        reply(text, ord(name) + 100, timestamp=(at + timedelta(seconds=9)).isoformat()),
    ]
    path = home.trails / f"{name}.jsonl"
    path.write_bytes(joined(lines))
    return path


@pytest.fixture
def two_months(home: Home) -> Home:
    talk(home, "a", JANUARY, datetime(2026, 1, 10, 9, tzinfo=UTC))
    talk(home, "b", FEBRUARY, datetime(2026, 2, 10, 9, tzinfo=UTC))
    home.run(home.pin())
    assert {one["content"] for one in list_memories(home.bench, WHOLE)} == {JANUARY, FEBRUARY}
    return home


def told(home: Home, **asked: object) -> list[tuple[str, bool | None]]:
    answers = ask(home.bench, WHOLE, Asked(**asked)).answers
    return [(one["content"], one["in_time"]) for one in answers]


def test_what_lies_in_the_time_comes_first_and_the_rest_says_so(two_months: Home):
    recalled = ask(two_months.bench, WHOLE, Asked(text=QUESTION))
    assert str(recalled.time) == "last month (2026-02-01..2026-02-28)"
    assert told(two_months, text=QUESTION) == [(FEBRUARY, True), (JANUARY, False)]
    assert told(two_months, text="the ferry in January?") == [(JANUARY, True), (FEBRUARY, False)]


def test_no_more_than_k_and_no_more_characters_than_asked_for(two_months: Home):
    assert told(two_months, text=QUESTION, k=1) == [(FEBRUARY, True)]
    assert told(two_months, text=QUESTION, chars=len(FEBRUARY)) == [(FEBRUARY, True)]
    both = len(FEBRUARY) + len(JANUARY)
    assert len(told(two_months, text=QUESTION, chars=both)) == 2


def test_a_time_in_which_nothing_lies_hides_nothing(two_months: Home):
    found = told(two_months, text="what about the ferry in May 2025?")
    assert {in_time for _, in_time in found} == {False}
    assert len(found) == 2


def test_a_given_time_wins_and_words_can_be_switched_off(two_months: Home):
    since = datetime(2026, 1, 1, tzinfo=UTC)
    for more in ({"since": since}, {"until": since + timedelta(days=90)}, {"zone": None}):
        recalled = ask(two_months.bench, WHOLE, Asked(text=QUESTION, **more))
        assert recalled.time is None
        assert {one["in_time"] for one in recalled.answers} == {None}
        assert len(recalled.answers) == 2


def test_until_is_what_began_before(two_months: Home):
    middle = datetime(2026, 2, 1, tzinfo=UTC)
    assert told(two_months, text="ferry", until=middle) == [(JANUARY, None)]
    assert told(two_months, text="ferry", since=middle) == [(FEBRUARY, None)]
    with pytest.raises(UsageError, match="nothing lies between"):
        Asked(text="ferry", since=middle, until=middle)


def test_yesterday_is_that_of_the_place(two_months: Home):
    two_months.clock.at = datetime(2026, 2, 11, 1, tzinfo=UTC)
    text = "the ferry yesterday"
    assert told(two_months, text=text)[0] == (FEBRUARY, True)
    west = timezone(timedelta(hours=-5))  # there it is still the tenth
    assert told(two_months, text=text, zone=west)[0][1] is False


def test_questions_of_a_file_are_asked_by_nobody_now(two_months: Home):
    asked = [Question("q1", QUESTION, None), Question("q2", "ferry", "a")]
    rows = list(answer_all(two_months.bench, WHOLE, asked, k=5))
    assert [len(row["ranked"]) for row in rows] == [2, 1]


def test_the_markdown_document_cites_and_tells_the_time(two_months: Home):
    text = ask_for_markdown(two_months.bench, WHOLE, Asked(text=QUESTION))
    assert "Time asked for: `last month (2026-02-01..2026-02-28)`" in text
    assert "[2] 2026-01-10, `decision`, outside the time asked for" in text
    for one in list_memories(two_months.bench, WHOLE):
        assert one["content"] in text
        assert f"`{one['memory_id']}` from `{one['file']}:" in text
    short = ask_for_markdown(two_months.bench, WHOLE, Asked(text=QUESTION, chars=len(text) - 1))
    assert len(short) < len(text)
    assert FEBRUARY in short
    assert JANUARY not in short


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"status": "gone"}, "expected one of active"), ({"memory_type": "thought"}, "memory type")],
)
def test_a_filter_that_nothing_can_pass_is_refused(two_months: Home, asked, words):
    with pytest.raises(UsageError, match=words):
        ask(two_months.bench, WHOLE, Asked(text="ferry", **asked))
