"""Words of a question that say when: "last week", "in March", "since Monday". English. Pure.

What may be something else is left alone: "may" and "march" as verbs, "second", the name of a
month (or of a person) without a word like "in" before it, a date that is a part of a name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from memclaw_etl.memories.time_points import POINTS, Point
from memclaw_etl.memories.time_spans import Calendar, Span

LONGEST_QUESTION_CHARS = 1_000
"""A longer text is no question but something pasted: the dates in it ask for nothing."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """What a question's time words mean: from `since` up to, but without, `until`; None is open."""

    since: datetime | None
    until: datetime | None
    words: str
    """As they stand in the question."""

    def __str__(self) -> str:
        """The words, and the first and last day that they mean."""
        first = f"{self.since:%Y-%m-%d}" if self.since is not None else ""
        last = self.until - timedelta(microseconds=1) if self.until is not None else None
        return f"{self.words} ({first}..{f'{last:%Y-%m-%d}' if last is not None else ''})"


def time_range(text: str, *, now: datetime, zone: tzinfo = UTC) -> TimeRange | None:
    """Give the time that a question's words mean, or None when it names none that has begun.

    Several expressions mean everything from the first to the last of them, except that "after"
    and "before" narrow each other.

    Args:
        text: the question.
        now: the moment at which it is asked; aware.
        zone: where it is asked: it says when a day begins.
    """
    if len(text) > LONGEST_QUESTION_CHARS:
        return None
    calendar = Calendar(now, zone)
    found = [
        (span, _words(match))
        for match in _EXPRESSION.finditer(text)
        if (span := _meaning(match, calendar)) is not None and _asks_for_less(span, now)
    ]
    if not found:
        return None
    span = _joined([span for span, _ in found])
    if span == Span(None, None) or (span.start and span.end and span.start >= span.end):
        return None
    return TimeRange(span.start, span.end, ", ".join(words for _, words in found))


def _asks_for_less(span: Span, now: datetime) -> bool:
    """Whether a span leaves out any of the past, and not all of it."""
    if span.start is None:
        return span.end is not None and span.end <= now
    return span.start <= now


def _words(match: re.Match[str]) -> str:
    words = match["named"] if (match["word"] or "").lower() == "of" else match[0]
    return " ".join(words.split())


def _meaning(match: re.Match[str], calendar: Calendar) -> Span | None:
    """What one expression means."""
    said = {name: " ".join(text.lower().split()) for name, text in match.groupdict("").items()}
    if said["first"]:
        return _between(said["first"], said["last"], calendar)
    name = said["from"] or said["by"] or said["named"] or said["on"] or said["free"]
    span = _resolved(name, calendar)
    if span is None:
        return None
    word = "since" if said["from"] else "until" if said["by"] else said["word"]
    if word in _MORE_OR_LESS and not name.endswith(" ago"):
        return span
    return _moved(span, word, is_end=" end " in said["soft"])


def _moved(span: Span, word: str, *, is_end: bool) -> Span:
    """What a word before a time makes of it; of "the end of" it, where that is said."""
    if word in _SINCE:
        return Span(span.start, None)
    if word in _AFTER:
        return Span(span.end, None)
    if word in _UNTIL or (word in _BEFORE and is_end):
        return Span(None, span.end)
    if word in _BEFORE:
        return Span(None, span.start)
    return span


def _between(first: str, last: str, calendar: Calendar) -> Span | None:
    """From the first to the last, both included. A year behind the last one is for both."""
    end = _resolved(last, calendar)
    if end is None or end.start is None:
        return None
    year = _YEAR_AT_END.search(last)
    then = Calendar(end.start, calendar.zone) if _is_of_calendar(first) else calendar
    by_year = _resolved(f"{first} {year[0]}", calendar) if year is not None else None
    for begin in (by_year, _resolved(first, then)):
        if begin is not None and begin.start is not None and begin.start <= end.start:
            return Span(begin.start, end.end)
    return None


def _is_of_calendar(name: str) -> bool:
    """Whether a name, of a month or a weekday, means something else when it is seen from then."""
    return not re.search(r"\b(?:ago|last|past|this|today|yesterday)\b", name)


def _resolved(name: str, calendar: Calendar) -> Span | None:
    """The time with that name; None for a date that no calendar has."""
    for pattern, point in _COMPILED:
        match = pattern.fullmatch(name)
        if match is not None:
            return point.resolve(match.groupdict(), calendar)
    return None


def _joined(spans: Sequence[Span]) -> Span:
    """One stretch for all: what open ends leave between them, else from the first to the last."""
    starts = [span.start for span in spans if span.start is not None]
    ends = [span.end for span in spans if span.end is not None]
    is_open = all(span.start is None or span.end is None for span in spans)
    if is_open and starts and ends and max(starts) < min(ends):
        return Span(max(starts), min(ends))
    first = min(starts) if len(starts) == len(spans) else None
    last = max(ends) if len(ends) == len(spans) else None
    return Span(first, last)


_MORE_OR_LESS = ("more than", "less than", "over")
"""Before "two weeks ago"."""
_SINCE = ("since", "less than")
_AFTER = ("after", "later than")
_BEFORE = ("before", "prior to", "earlier than")
_UNTIL = ("until", "till", "up to", "more than", "over")
_IN = ("around", "during", "early", "from", "in", "late", "mid", "of", "throughout", "within")
_SOFT = "(?:early |late |mid[ -]|the (?:beginning|end|middle|rest|start) of )?"
_YEAR_AT_END = re.compile(r"20\d\d$")
_NO_NAME_BEFORE, _NO_NAME_AFTER = r"(?<![\w./\\-])", r"(?![\w(/\\-])(?!\.\w)"


def _spaced(pattern: str) -> str:
    return pattern.replace("[ -]", "(?:-| )").replace(" ", r"[ \t\r\n]+")


def _any(points: Sequence[Point]) -> str:
    """A pattern for any of the names, without groups of its own."""
    return "|".join(re.sub(r"\(\?P<\w+>", "(?:", point.pattern) for point in points)


def _expression() -> re.Pattern[str]:
    """A pattern for every expression of time in a question."""
    name = _any(POINTS)
    days = _any([point for point in POINTS if point.is_day])
    free = _any([point for point in POINTS if point.is_free])
    word = "|".join((*_SINCE, *_AFTER, *_BEFORE, *_UNTIL, *_IN))
    pattern = (
        rf"{_NO_NAME_BEFORE}(?:"
        rf"(?:between|from) {_SOFT}(?P<first>{name}) (?:and|to|until|till|through)"
        rf" {_SOFT}(?P<last>{name})"
        rf"|from (?P<from>{name}) (?:on|onwards?|forward)"
        rf"|(?P<word>{word})[ -](?P<soft>{_SOFT})(?P<named>{name})"
        rf"|on (?P<on>{days})"
        rf"|(?:as of|by) (?P<by>{days}|{free})"
        rf"|(?P<free>{free})"
        rf"){_NO_NAME_AFTER}"
    )
    return re.compile(_spaced(pattern), re.ASCII | re.IGNORECASE)


_EXPRESSION = _expression()
_COMPILED = [(re.compile(_spaced(point.pattern), re.ASCII), point) for point in POINTS]
