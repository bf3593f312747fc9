"""The product's command line in a process that is made to die, fail or dawdle at a chosen place.

    python driver.py '{"kill": "in_commit", "nth": 1}' run --home H ...

`kill`: SIGKILL to itself at a point of `POINTS`, the `nth` time that it comes there. `poison`: the
interviewer fails for windows whose events name that session. `slow_s`: the interviewer takes as
long. `host`: the name of the machine that it believes to run on. Everything else is the real thing.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from memclaw_etl.cli import main
from memclaw_etl.interview import interviewer as interviewers
from memclaw_etl.lake.ledger import commit as ledger_commit
from memclaw_etl.lake.stage_files import StageFiles
from memclaw_etl.service import planning
from memclaw_etl.stages import commit, interview, mask, merge, remember
from memclaw_etl.stages import run as stage_run
from memclaw_etl.windows import pin


class Countdown:
    """Dies the nth time."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def after(owner: Any, name: str, die: Callable[[], None], **only: str) -> None:
    """Die when `owner.name` has returned (and its keyword arguments are as given)."""
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if all(kwargs.get(key) == value for key, value in only.items()):
            die()
        return result

    setattr(owner, name, wrapped)


def before(owner: Any, name: str, die: Callable[[], None]) -> None:
    """Die when `owner.name` is called."""
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        die()
        return original(*args, **kwargs)

    setattr(owner, name, wrapped)


POINTS: dict[str, Callable[[Countdown], None]] = {
    "in_pin": lambda die: after(pin.pins, "pin", die),
    "after_pin": lambda die: after(pin, "_pin_cut", die),
    "after_ask": lambda die: after(planning, "ask", die),
    "after_lease": lambda die: before(stage_run, "_work_each", die),
    "masked_file": lambda die: after(StageFiles, "write", die, stage="masked_chunks"),
    "masked_pointer": lambda die: after(mask, "keep", die),
    "mini_file": lambda die: after(StageFiles, "write", die, stage="mini_reports"),
    "mini_pointer": lambda die: after(interview, "keep", die),
    "merged_file": lambda die: after(StageFiles, "write", die, stage="merged_report"),
    "merged_pointer": lambda die: after(merge, "_store", die),
    "before_index": lambda die: before(remember, "publish", die),
    "after_index": lambda die: after(remember, "publish", die),
    "index_marked": lambda die: after(remember, "remember", die),
    "before_commit": lambda die: before(commit, "commit_windows", die),
    "in_commit": lambda die: after(ledger_commit, "commit", die),
    "after_commit": lambda die: after(commit, "commit_windows", die),
}
"""Every place where what is durable changes, in the order of a run."""


class FaultyModelError(Exception):
    """What a broken interviewer raises."""


def change_interviewer(plan: dict[str, Any]) -> None:
    """Let the interviewer fail for windows that hold a word, or take its time."""
    original = interviewers.build_interviewer

    def build(name: Any) -> Any:
        built = original(name)

        class Changed(type(built)):  # type: ignore[misc]
            def interview(self, chunks: Any, *, cache: Any) -> Any:
                time.sleep(plan.get("slow_s", 0))
                word = plan.get("poison")
                if word and any(word in one.content for chunk in chunks for one in chunk.events):
                    raise FaultyModelError("no answer in the form that was asked for")
                return super().interview(chunks, cache=cache)

        return Changed()

    interviewers.build_interviewer = build
    sys.modules["memclaw_etl.stages.bench"].build_interviewer = build  # type: ignore[attr-defined]


if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    if "host" in chosen:
        socket.gethostname = lambda: chosen["host"]
    if "kill" in chosen:
        POINTS[chosen["kill"]](Countdown(chosen.get("nth", 1)))
    if "poison" in chosen or "slow_s" in chosen:
        change_interviewer(chosen)
    main(sys.argv[2:])
