"""Stretches of the calendar as people name them: this week, a month, two days ago. Pure."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = timedelta(days=1)
_MONTHS_PER_YEAR, _MONTHS_PER_QUARTER = 12, 3
_SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to, but without, `end`; None is open."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class Calendar:
    """The calendar of one place at one moment. Weeks begin on Monday."""

    now: datetime
    zone: tzinfo

    @property
    def today(self) -> date:
        """The date on the wall."""
        return self.now.astimezone(self.zone).date()

    def days(self, first: date, count: int = 1) -> Span:
        """Whole days."""
        return Span(self._midnight(first), self._midnight(first + count * _DAY))

    def hours(self, day: date, first: int, last: int) -> Span:
        """Hours of a day; 30 is six in the next morning."""
        begin = self._midnight(day)
        return Span(begin + timedelta(hours=first), begin + timedelta(hours=last))

    def monday(self, *, ago: int) -> date:
        """The first day of a week, counted back from this one."""
        return self.today - (self.today.weekday() + 7 * ago) * _DAY

    def week(self, ago: int) -> Span:
        """A week, counted back from this one."""
        return self.days(self.monday(ago=ago), 7)

    def weekend(self, *, is_last: bool) -> Span:
        """The newest Saturday and Sunday that have begun; the last one is over."""
        saturday = self.today - ((self.today.weekday() - _SATURDAY) % 7) * _DAY
        begun = self.today.weekday() >= _SATURDAY
        return self.days(saturday - (7 * _DAY if is_last and begun else 0 * _DAY), 2)

    def month(self, year: int, month: int, count: int = 1) -> Span:
        """Whole months; a month beyond December is one of a later year, and so on."""
        first, last = self._first_of(year, month), self._first_of(year, month + count)
        return Span(self._midnight(first), self._midnight(last))

    def month_ago(self, ago: int) -> Span:
        """A month, counted back from this one."""
        return self.month(self.today.year, self.today.month - ago)

    def quarter(self, year: int, quarter: int) -> Span:
        """Three months; quarter 0 is the last one of the year before."""
        return self.month(year, _MONTHS_PER_QUARTER * (quarter - 1) + 1, _MONTHS_PER_QUARTER)

    def quarter_ago(self, ago: int) -> Span:
        """A quarter, counted back from this one."""
        this = (self.today.month - 1) // _MONTHS_PER_QUARTER + 1
        return self.quarter(self.today.year, this - ago)

    def year(self, year: int) -> Span:
        """A whole year."""
        return self.month(year, 1, _MONTHS_PER_YEAR)

    def newest_month(self, month: int, *, is_over: bool = False) -> Span:
        """The newest such month that has begun, or that is over."""
        newest = self.today.month - (1 if is_over else 0)
        return self.month(self.today.year - (0 if month <= newest else 1), month)

    def newest_day(self, month: int, day: int) -> Span | None:
        """The newest such day that has begun; None when no year has it."""
        for year in range(self.today.year, self.today.year - 9, -1):
            found = self.day(year, month, day)
            if found is not None and found.start is not None and found.start <= self.now:
                return found
        return None

    def day(self, year: int, month: int, day: int) -> Span | None:
        """A day; None when there is no such date."""
        try:
            return self.days(date(year, month, day))
        except ValueError:
            return None

    def weekday(self, weekday: int, *, is_last: bool) -> Span:
        """The newest such day that has begun; the last one is not today."""
        back = (self.today.weekday() - weekday) % 7
        return self.days(self.today - (back or (7 if is_last else 0)) * _DAY)

    def ago(self, count: int, unit: str) -> Span:
        """Where "two days ago" lies, as vague as its unit is."""
        if unit in {"minute", "hour"}:
            far, near = timedelta(**{f"{unit}s": 1.5 * count}), timedelta(**{f"{unit}s": count / 2})
            return Span(self.now - far, self.now - near)
        if unit == "day":
            return self.days(self.today - count * _DAY)
        if unit == "week":
            return self.days(self.today - (7 * count + 3) * _DAY, 7)
        if unit == "month":
            return self.month_ago(count)
        return self.year(self.today.year - count)

    def lately(self, count: int, unit: str) -> Span:
        """The last so many units, up to now."""
        if unit in {"minute", "hour"}:
            return Span(self.now - timedelta(**{f"{unit}s": count}), None)
        days = {"day": 1, "week": 7, "month": 31, "year": 366}[unit] * count
        return Span(self._midnight(self.today - days * _DAY), None)

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)

    @staticmethod
    def _first_of(year: int, month: int) -> date:
        years, index = divmod(month - 1, _MONTHS_PER_YEAR)
        return date(year + years, index + 1, 1)
