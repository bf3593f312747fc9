"""How people name a point or a stretch of time, in English: patterns, and what they mean. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from memclaw_etl.memories.time_spans import MONTHS, WEEKDAYS, Calendar, Span

Said = Mapping[str, str | None]
"""The named groups of a pattern, in lower case with single blanks; one may be absent or None."""

_NUMBERS: Mapping[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "three": 3, "four": 4,
    "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_VAGUE = ("a few", "few", "several")
_FEW, _MANY = 2, 6
"""Few is at least two; nobody counts to more than six by it."""
_MONTH_NUMBERS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(MONTHS, start=1)},
    **{name[:3]: number for number, name in enumerate(MONTHS, start=1)},
    "sept": 9,
}
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_DAYS_BACK = {"today": 0, "yesterday": 1, "the day before yesterday": 2}


@dataclass(frozen=True, slots=True)
class Point:
    """One way to name a time. A free one is plain by itself, the others need a word before them.

    In the pattern a blank is any white space.
    """

    pattern: str
    resolve: Callable[[Said, Calendar], Span | None]
    is_free: bool = False
    is_day: bool = False
    """Whether "on" may stand before it: nobody says "on March", but works on 2025 things."""


def _day(said: Said, calendar: Calendar) -> Span | None:
    return calendar.day(_int(said, "year"), _month_of(said), _int(said, "day"))


def _newest_day(said: Said, calendar: Calendar) -> Span | None:
    return calendar.newest_day(_month_of(said), _int(said, "day"))


def _month(said: Said, calendar: Calendar) -> Span:
    return calendar.month(_int(said, "year"), _month_of(said))


def _month_of_year(said: Said, calendar: Calendar) -> Span:
    return calendar.month(calendar.today.year - _is_last(said), _month_of(said))


def _newest_month(said: Said, calendar: Calendar) -> Span:
    return calendar.newest_month(_month_of(said), is_over=_is_last(said))


def _weekday(said: Said, calendar: Calendar) -> Span:
    return calendar.weekday(WEEKDAYS.index(_text(said, "weekday")), is_last=_is_last(said))


def _weekday_of_week(said: Said, calendar: Calendar) -> Span:
    monday = calendar.monday(ago=int(_is_last(said)))
    return calendar.days(monday + timedelta(days=WEEKDAYS.index(_text(said, "weekday"))))


def _near_day(said: Said, calendar: Calendar) -> Span:
    return calendar.days(calendar.today - timedelta(days=_DAYS_BACK[_text(said, "name")]))


def _part_of_day(said: Said, calendar: Calendar) -> Span:
    is_today = said["which"] == "this"
    day = calendar.today - timedelta(days=0 if is_today else 1)
    return calendar.hours(day, *_PARTS[_text(said, "part")])


def _unit(said: Said, calendar: Calendar) -> Span:
    unit, ago = _text(said, "unit"), int(said["which"] != "this")
    if unit == "weekend":
        return calendar.weekend(is_last=bool(ago))
    if unit == "year":
        return calendar.year(calendar.today.year - ago)
    if unit == "week":
        return calendar.week(ago)
    return calendar.month_ago(ago) if unit == "month" else calendar.quarter_ago(ago)


def _lately(said: Said, calendar: Calendar) -> Span:
    return calendar.lately(_number(said.get("number") or "one", vague=_MANY), _text(said, "unit"))


def _ago(said: Said, calendar: Calendar) -> Span:
    number, unit = _text(said, "number"), _text(said, "unit")
    far = calendar.ago(_number(number, vague=_MANY), unit)
    return Span(far.start, calendar.ago(_number(number, vague=_FEW), unit).end)


def _quarter(said: Said, calendar: Calendar) -> Span:
    return calendar.quarter(_int(said, "year"), _int(said, "quarter"))


def _newest_quarter(said: Said, calendar: Calendar) -> Span:
    this = calendar.quarter(calendar.today.year, _int(said, "quarter"))
    begun = this.start is not None and this.start <= calendar.now
    return this if begun else calendar.quarter(calendar.today.year - 1, _int(said, "quarter"))


def _year(said: Said, calendar: Calendar) -> Span:
    return calendar.year(_int(said, "year"))


def _text(said: Said, name: str) -> str:
    return said[name] or ""


def _int(said: Said, name: str) -> int:
    return int(_text(said, name))


def _is_last(said: Said) -> bool:
    return said.get("which") == "last"


def _month_of(said: Said) -> int:
    month = _text(said, "month")
    return int(month) if month.isdigit() else _MONTH_NUMBERS[month]


def _number(text: str, *, vague: int) -> int:
    if text in _VAGUE:
        return vague
    return int(text) if text.isdigit() else _NUMBERS[text]


def _any_of(words: "Mapping[str, int] | tuple[str, ...]") -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_ANY_YEAR = r"(?P<year>20\d\d)"
_ANY_MONTH = f"(?P<month>{_any_of(_MONTH_NUMBERS)})"
_ANY_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_OF = "(?: of)?"
_COMMA = "(?:,(?: )?| )"
_COUNTED = (
    r"(?!(?: )?(?:%|\b(?:ms|s|px|bits?|bytes?|[kmg]b|chars?|characters?|columns?|entries|errors?"
    r"|events?|files?|items?|lines?|messages?|methods?|records?|requests?|rows?|seconds?|steps?"
    r"|tests?|times?|tokens?|users?|words?)\b))"
)
"""Where something is counted, the number is no year and no day."""
_AS_NOUN = r"(?! (?:also|be|forward|have|into|never|not|on|only|still|through|to)\b)"
"""Before these words, "may" and "march" are verbs."""
_VERBS = f"(?P<month>may|march){_AS_NOUN}"
_NO_VERBS = f"(?P<month>{_any_of(tuple(one for one in MONTHS if one not in {'may', 'march'}))})"
_WHICH = "(?P<which>last|this)"
_WEEKDAY = f"(?P<weekday>{_any_of(WEEKDAYS)})"
_COUNT = rf"(?P<number>\d{{1,3}}|{_any_of((*_NUMBERS, *_VAGUE))})"
_UNITS = "(?P<unit>minute|hour|day|week|month|year)s?"

POINTS = (
    Point(rf"{_ANY_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)", _day, is_day=True),
    Point(rf"{_ANY_YEAR}-(?P<month>0[1-9]|1[0-2])", _month),
    Point(rf"{_ANY_DAY}{_OF} {_ANY_MONTH}{_COMMA}{_ANY_YEAR}", _day, is_free=True, is_day=True),
    Point(rf"{_ANY_MONTH} {_ANY_DAY}{_COMMA}{_ANY_YEAR}", _day, is_free=True, is_day=True),
    Point(rf"{_ANY_MONTH}(?:{_OF} |, ){_ANY_YEAR}", _month, is_free=True),
    Point(rf"{_ANY_DAY}{_OF} {_ANY_MONTH}", _newest_day, is_day=True),
    Point(rf"{_ANY_MONTH} {_ANY_DAY}{_COUNTED}", _newest_day, is_day=True),
    Point(rf"(?P<month>{_any_of(MONTHS)}){_OF} {_WHICH} year", _month_of_year),
    Point(rf"{_WHICH} {_NO_VERBS}", _newest_month, is_free=True),
    Point(r"(?P<which>last) (?P<month>march)", _newest_month, is_free=True),
    Point(rf"(?:{_WHICH} )?{_VERBS}", _newest_month),
    Point(_NO_VERBS, _newest_month),
    Point(rf"{_WEEKDAY}{_OF} {_WHICH} week", _weekday_of_week, is_free=True),
    Point(rf"{_WHICH} {_WEEKDAY}", _weekday, is_free=True),
    Point(_WEEKDAY, _weekday, is_day=True),
    Point(r"(?P<which>last) (?P<part>night)", _part_of_day, is_free=True),
    Point(
        r"(?P<which>this|yesterday) (?P<part>morning|afternoon|evening)", _part_of_day, is_free=True
    ),
    Point(rf"(?P<name>{_any_of(tuple(_DAYS_BACK))})", _near_day, is_free=True),
    Point(rf"{_COUNT} {_UNITS} ago", _ago, is_free=True),
    Point(rf"(?:the )?(?:last|past) {_COUNT} {_UNITS}(?! of\b)", _lately, is_free=True),
    Point(r"the (?:last|past) (?P<unit>week|month|year)(?! of\b)", _lately, is_free=True),
    Point(r"the (?:last|past) (?P<unit>hour|day)(?! of\b)", _lately),
    Point(r"past (?P<unit>week|month|year)(?! of\b)", _lately, is_free=True),
    Point(
        r"(?P<which>last|previous|this) (?P<unit>week|weekend|month|quarter|year)(?! of\b)", _unit,
        is_free=True,
    ),
    Point(rf"q(?P<quarter>[1-4]),?{_OF} {_ANY_YEAR}", _quarter, is_free=True),
    Point(rf"{_ANY_YEAR} q(?P<quarter>[1-4])", _quarter, is_free=True),
    Point(r"q(?P<quarter>[1-4])", _newest_quarter),
    Point(rf"{_ANY_YEAR}{_COUNTED}", _year),
)  # fmt: skip
"""The first that fits counts."""
