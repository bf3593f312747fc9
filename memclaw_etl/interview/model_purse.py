"""What may be spent on a model: tokens of a run, money of a day."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

from memclaw_etl.errors import BudgetSpentError
from memclaw_etl.interview.model_request import RawAnswer
from memclaw_etl.interview.report import Usage
from memclaw_etl.model_settings import ModelSettings

RUN_BUDGET: Final = "budget:run"
DAY_BUDGET: Final = "budget:day"
CHARS_A_TOKEN: Final = 3.5
"""Low on purpose: an estimate should not fall short. English text has about 4."""
ANSWER_TOKENS: Final = 1_000
"""What an answer is reckoned with until it has come."""
_MILLION: Final = 1_000_000


def estimate_tokens(chars: int) -> int:
    """Tokens of a call whose prompt has so many characters, its answer included."""
    return int(chars / CHARS_A_TOKEN) + ANSWER_TOKENS


def cost_of(
    settings: ModelSettings, *, prompt_tokens: int, completion_tokens: int, share: float = 1.0
) -> float:
    """What tokens cost, by the settings' prices; 0 without prices."""
    prompt = (settings.price_per_million_prompt_tokens or 0) * prompt_tokens
    completion = (settings.price_per_million_completion_tokens or 0) * completion_tokens
    return share * (prompt + completion) / _MILLION


@dataclass
class Purse:
    """Counts what one process spends. A call is reckoned with before it is made, then as it was.

    Thread-safe. `take_unbooked` gives what is to be written into the ledger.
    """

    settings: ModelSettings
    max_tokens: int | None = None
    _lock: Lock = field(default_factory=Lock, init=False)
    _tokens: int = field(default=0, init=False)
    _reckoned: int = field(default=0, init=False)
    _day: str = field(default="", init=False)
    _cost_of_day: float = field(default=0.0, init=False)
    _unbooked: Usage = field(default_factory=Usage, init=False)

    def __post_init__(self) -> None:
        """Without a limit of its own the purse has that of the settings."""
        if self.max_tokens is None:
            self.max_tokens = self.settings.max_tokens_per_run

    def open_day(self, now: datetime, *, cost: float) -> None:
        """Begin with what the ledger says was spent on the day of `now`, by anybody."""
        with self._lock:
            self._day, self._cost_of_day = day_of(now), cost

    def reckon(self, chars: int, *, now: datetime) -> int:
        """Set tokens aside for a call with a prompt of so many characters; returns how many.

        Raises:
            BudgetSpentError: they would go beyond the budget of the run or of the day.
        """
        tokens = estimate_tokens(chars)
        with self._lock:
            planned = self._tokens + self._reckoned + tokens
            if self.max_tokens is not None and planned > self.max_tokens:
                raise BudgetSpentError(
                    f"{self._tokens} of {self.max_tokens} tokens of this run are spent, the next"
                    f" call needs about {tokens}; the next run goes on",
                    resource=RUN_BUDGET,
                )
            self._refuse_dear_call(tokens, now)
            self._reckoned += tokens
        return tokens

    def _refuse_dear_call(self, tokens: int, now: datetime) -> None:
        limit = self.settings.max_cost_per_day
        if limit is None:
            return
        if self._day != day_of(now):
            self._day, self._cost_of_day = day_of(now), 0.0
        planned = self._reckoned + tokens
        cost = self._cost_of_day + cost_of(
            self.settings, prompt_tokens=planned, completion_tokens=0
        )
        if cost > limit:
            raise BudgetSpentError(
                f"{self._cost_of_day:.4f} of {limit:g} for {self._day} (UTC) is spent;"
                " tomorrow goes on",
                resource=DAY_BUDGET,
                not_before=midnight_after(now),
            )

    def settle(self, reckoned: int, answer: RawAnswer | None) -> Usage:
        """Replace what was set aside by what a call cost; None: it was never answered."""
        usage = Usage()
        if answer is not None:
            usage = Usage(
                calls=1,
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                cost=cost_of(
                    self.settings,
                    prompt_tokens=answer.prompt_tokens,
                    completion_tokens=answer.completion_tokens,
                ),
            )
        with self._lock:
            self._reckoned -= reckoned
            self._tokens += usage.prompt_tokens + usage.completion_tokens
            self._cost_of_day += usage.cost
            self._unbooked += usage
        return usage

    def take_unbooked(self) -> Usage:
        """What was spent since this was asked last."""
        with self._lock:
            unbooked, self._unbooked = self._unbooked, Usage()
        return unbooked


def day_of(now: datetime) -> str:
    """The UTC day, as the ledger names it."""
    return now.astimezone(UTC).date().isoformat()


def midnight_after(now: datetime) -> datetime:
    """The start of the next UTC day."""
    start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start + timedelta(days=1)
