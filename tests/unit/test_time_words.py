"""What a question's time words mean, and which words mean no time."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memclaw_etl.memories.time_words import LONGEST_QUESTION_CHARS, time_range

NOW = datetime(2026, 4, 1, 10, 30, tzinfo=UTC)
"""A Wednesday."""


def days(text, now=NOW, zone=UTC):
    """First and last day of what is meant, or None."""
    found = time_range(text, now=now, zone=zone)
    return None if found is None else str(found).rpartition("(")[2].rstrip(")")


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        # days near now
        ("what did I do today?", "2026-04-01..2026-04-01"),
        ("Yesterday's decision about the queue", "2026-03-31..2026-03-31"),
        ("what we said the day before yesterday", "2026-03-30..2026-03-30"),
        ("why did the build break last night", "2026-03-31..2026-04-01"),
        ("fixed this morning", "2026-04-01..2026-04-01"),
        ("yesterday evening", "2026-03-31..2026-03-31"),
        # weeks, months, quarters, years
        ("what did we decide last week about caching?", "2026-03-23..2026-03-29"),
        ("what is left of this week", "2026-03-30..2026-04-05"),
        ("last weekend", "2026-03-28..2026-03-29"),
        ("last month", "2026-03-01..2026-03-31"),
        ("previous quarter", "2026-01-01..2026-03-31"),
        ("last year's decisions", "2025-01-01..2025-12-31"),
        ("last month and this month", "2026-03-01..2026-04-30"),
        # up to now
        ("in the last week", "2026-03-25.."),
        ("over the past 24 hours", "2026-03-31.."),
        ("the last few days", "2026-03-26.."),
        ("during the past two weeks", "2026-03-18.."),
        ("past month", "2026-03-01.."),
        # so long ago
        ("two days ago we changed it", "2026-03-30..2026-03-30"),
        ("a couple of days ago", "2026-03-30..2026-03-30"),
        ("a few days ago", "2026-03-26..2026-03-30"),
        ("2 weeks ago", "2026-03-15..2026-03-21"),
        ("three months ago", "2026-01-01..2026-01-31"),
        ("a year ago", "2025-01-01..2025-12-31"),
        ("an hour ago", "2026-04-01..2026-04-01"),
        ("more than two weeks ago", "..2026-03-21"),
        ("less than a week ago", "2026-03-22.."),
        # weekdays
        ("on Monday", "2026-03-30..2026-03-30"),
        ("on Wednesday", "2026-04-01..2026-04-01"),
        ("last Wednesday", "2026-03-25..2026-03-25"),
        ("since Friday", "2026-03-27.."),
        ("Monday of last week", "2026-03-23..2026-03-23"),
        ("between Monday and Tuesday", "2026-03-30..2026-03-31"),
        # months
        ("in March", "2026-03-01..2026-03-31"),
        ("in may we agreed on that", "2025-05-01..2025-05-31"),
        ("in early May", "2025-05-01..2025-05-31"),
        ("since the beginning of March", "2026-03-01.."),
        ("mid-March", "2026-03-01..2026-03-31"),
        ("last March", "2026-03-01..2026-03-31"),
        ("in March last year", "2025-03-01..2025-03-31"),
        ("March 2025", "2025-03-01..2025-03-31"),
        ("in Sept. 2025", None),
        ("in Sep 2025", "2025-09-01..2025-09-30"),
        ("before June", "..2025-05-31"),
        ("after February", "2026-03-01.."),
        ("until the end of February", "..2026-02-28"),
        ("before the end of February", "..2026-02-28"),
        ("between March and May", "2025-03-01..2025-05-31"),
        ("between March and May 2024", "2024-03-01..2024-05-31"),
        ("between November and February 2025", "2024-11-01..2025-02-28"),
        ("from March 2024 to May 2025", "2024-03-01..2025-05-31"),
        ("in February or in March", "2026-02-01..2026-03-31"),
        ("after January but before March", "2026-02-01..2026-02-28"),
        # dates
        ("on 3 May", "2025-05-03..2025-05-03"),
        ("on May 3rd", "2025-05-03..2025-05-03"),
        ("on the 3rd", None),
        ("the 3rd of May 2025", "2025-05-03..2025-05-03"),
        ("on December 1,2023 taken", "2023-12-01..2023-12-01"),
        ("on 1 May, 2022", "2022-05-01..2022-05-01"),
        ("on 2026-02-14", "2026-02-14..2026-02-14"),
        ("in 2026-02", "2026-02-01..2026-02-28"),
        ("from 3 May to 5 May 2025", "2025-05-03..2025-05-05"),
        ("as of 27 March, 2022", "..2022-03-27"),
        ("on feb 29", "2024-02-29..2024-02-29"),
        # years and quarters
        ("in 2025", "2025-01-01..2025-12-31"),
        ("since 2024", "2024-01-01.."),
        ("before 2025", "..2024-12-31"),
        ("Q1 2026", "2026-01-01..2026-03-31"),
        ("in Q4", "2025-10-01..2025-12-31"),
        ("IN\n  MARCH", "2026-03-01..2026-03-31"),
    ],
)
def test_what_is_meant(question, meant):
    assert days(question) == meant


@pytest.mark.parametrize(
    "question",
    [
        "this may fail, and may I march on?", "it may be that march tests fail", "the may branch",
        "which second migration was it", "in second place", "two seconds ago", "March",
        "who is April?", "written by May", "in may be wrong", "what was decided Tuesday",
        "the monday.com import", "on Mondays", "every Friday", "the 2025 roadmap",
        "working on 2025 things", "in 2025 lines", "in 2048 bytes", "after 2000 ms", "port 2024",
        "version 2026-02-14 of the API", "gpt-4o-2024-08-06", "2026-03-01T12:00:00Z ERROR",
        "on /srv/2026-02-14/x", "on 31 February", "in dec", "convert dec 3 to hex", "on may 3 files",
        "the last day of the sprint", "the last week of the project", "since the last release",
        "last time", "some time ago", "tomorrow", "next week", "in 2030", "before 2030",
        "until today", "yesterday()", "today_is", "", "   ", "recently", "the past tense",
        "0 days from now", "in Marchand's paper", "since mayhem",
    ],
)  # fmt: skip
def test_what_means_no_time(question):
    assert time_range(question, now=NOW) is None


def test_the_words_are_told_as_they_were_said():
    found = time_range("What was said  IN   March, or last week?", now=NOW)
    assert found.words == "IN March, last week"
    assert time_range("at the end of March", now=NOW).words == "March"


def test_a_day_begins_where_the_question_is_asked():
    zone = ZoneInfo("Asia/Tokyo")
    late = datetime(2026, 3, 31, 20, 0, tzinfo=UTC)  # the first of April there
    found = time_range("yesterday", now=late, zone=zone)
    assert found.since == datetime(2026, 3, 31, tzinfo=zone)
    assert found.until - found.since == timedelta(days=1)
    assert days("yesterday", now=late) == "2026-03-30..2026-03-30"


def test_years_turn_months_and_quarters():
    january = datetime(2026, 1, 15, tzinfo=UTC)
    assert days("last month", now=january) == "2025-12-01..2025-12-31"
    assert days("last quarter", now=january) == "2025-10-01..2025-12-31"
    assert days("in December", now=january) == "2025-12-01..2025-12-31"
    assert days("in January", now=january) == "2026-01-01..2026-01-31"
    assert days("last January", now=january) == "2025-01-01..2025-01-31"
    assert days("13 months ago", now=january) == "2024-12-01..2024-12-31"


def test_what_was_pasted_is_no_question():
    assert time_range("last week " + "x" * LONGEST_QUESTION_CHARS, now=NOW) is None


EARLIEST, CENTURY_S = datetime(2001, 1, 1, tzinfo=UTC), 3_100_000_000
moments = st.integers(0, CENTURY_S).map(lambda passed: EARLIEST + timedelta(seconds=passed))
zones = st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours)))
PHRASES = (
    "last week", "yesterday", "two days ago", "999 years ago", "since", "before", "after", "until",
    "between", "and", "from", "to", "in", "on", "of the", "March", "may 3rd", "31 February 2025",
    "29 feb", "2024-02-30", "Monday", "Q1 2025", "in q4", "this morning", "the past few", "months",
    "weekend", "over a couple of", "more than", "by 7 May 2025", "as of", "early", ",", "'",
)  # fmt: skip
questions = st.lists(st.sampled_from(PHRASES) | st.text(max_size=5), max_size=8).map(" ".join)


@settings(max_examples=400)
@given(question=questions, now=moments, zone=zones)
@example(question="999 years ago", now=EARLIEST, zone=UTC)
def test_a_range_is_never_empty_and_has_begun(question, now, zone):
    found = time_range(question, now=now, zone=zone)
    assert found == time_range(question, now=now, zone=zone)
    if found is None:
        return
    assert found.since is not None or found.until is not None
    assert found.since is None or found.since <= now
    assert found.since is None or found.until is None or found.since < found.until
    assert found.words
    assert "\n" not in str(found)


@given(now=moments, zone=zones, count=st.integers(1, 400), unit=st.sampled_from(["day", "week"]))
def test_so_long_ago_holds_the_very_day(now, zone, count, unit):
    found = time_range(f"{count} {unit}s ago", now=now, zone=zone)
    then = now - timedelta(**{f"{unit}s": count})
    assert found.since <= then < found.until


@given(now=moments, zone=zones)
def test_names_of_now_hold_now(now, zone):
    for words in ("today", "this week", "this month", "this quarter", "this year"):
        found = time_range(words, now=now, zone=zone)
        assert found.since <= now < found.until
    week, before = (time_range(f"{which} week", now=now, zone=zone) for which in ("this", "last"))
    assert before.until == week.since
    assert week.since.weekday() == 0
