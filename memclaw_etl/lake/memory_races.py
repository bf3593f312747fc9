"""Lost races on the memory index: what LanceDB says then, and trying again."""

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from memclaw_etl.errors import BusyError

TRIES = 7
FIRST_WAIT_S = 0.05
"""Before the second try; doubled for each that follows, give or take a half."""
COMMIT_RACES = ("commit conflict", "incompatible transaction")
"""What a commit says that lost against another one (lance 13; there is no error class for it)."""
CREATE_RACES = (*COMMIT_RACES, "already exists", "was not found", "primary key")
"""What making the table says when another process makes it at the same moment."""

_T = TypeVar("_T")


def again(action: Callable[[], _T], *, races: Sequence[str] = COMMIT_RACES) -> _T:
    """Do it until it loses no race, TRIES times at most. Each try must look at the table anew.

    Raises:
        BusyError: every try lost.
    """
    for attempt in range(TRIES):
        try:
            return action()
        except (OSError, RuntimeError, ValueError) as error:
            if not any(race in str(error).casefold() for race in races):
                raise
        time.sleep(FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
    raise BusyError(
        f"memory index: {TRIES} tries in a row lost against other writers; run again",
        resource="memory_index",
    )
