"""Who is asked next: chunks of many windows, some at once, and what a failure means for the rest.

A chunk that gets no answer may be to blame, or its endpoint. While that is in doubt, one other
chunk at a time is asked: if it is answered, the endpoint is up and the window of the first one has
failed; if not, the endpoint is down, nothing more is asked, and no window is to blame.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memclaw_etl.errors import AnswerMissingError, BudgetSpentError, EndpointError
from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.protocols import Asked, Told
from memclaw_etl.interview.report import MiniReport

Report = Callable[[Asked, Chunk], Awaitable[MiniReport]]


@dataclass(slots=True, eq=False)
class _Progress:
    """How far one window is."""

    asked: Asked
    left: int
    reports: dict[int, MiniReport] = field(default_factory=dict)
    error: Exception | None = None
    told: bool = False


_Job = tuple[_Progress, Chunk]


@dataclass
class Desk:
    """One sitting over many windows. `tell` is called once for each, in the order of their ends."""

    report: Report
    tell: Callable[[Told], None]
    at_once: int
    careful: bool
    _jobs: list[_Job] = field(default_factory=list, init=False)
    _running: dict[asyncio.Task[MiniReport], _Job] = field(default_factory=dict, init=False)
    _probe: asyncio.Task[MiniReport] | None = field(default=None, init=False)
    _suspects: list[_Progress] = field(default_factory=list, init=False)
    _down: Exception | None = field(default=None, init=False)
    _answered: bool = field(default=False, init=False)

    async def sit(self, asked: Sequence[Asked]) -> None:
        """Work until every window has been told."""
        windows = [_Progress(one, len(one.chunks)) for one in asked]
        self._jobs = [(window, chunk) for window in windows for chunk in window.asked.chunks]
        self._jobs.reverse()
        for window in windows:
            self._tell_if_done(window)  # those without chunks
        try:
            await self._work()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        for window in windows:
            window.error = window.error or self._down
            window.left = 0
            self._tell_if_done(window)

    async def _work(self) -> None:
        while True:
            self._start()
            if not self._running:
                return
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                window, _ = self._running.pop(task)
                self._take(task, window)

    def _start(self) -> None:
        while self._jobs and self._down is None and len(self._running) < self._room():
            window, chunk = self._jobs.pop()
            if window.error is not None:
                self._one_less(window)
                continue
            task = asyncio.ensure_future(self.report(window.asked, chunk))
            self._running[task] = (window, chunk)
            if self._alone():
                self._probe = task
        if not self._jobs and not self._running and self._suspects:
            self._down = self._suspects[0].error  # nobody is left to ask

    def _room(self) -> int:
        return 1 if self._alone() else self.at_once

    def _alone(self) -> bool:
        return bool(self._suspects) or (self.careful and not self._answered)

    def _take(self, task: asyncio.Task[MiniReport], window: _Progress) -> None:
        was_probe, error = task is self._probe, task.exception()
        if error is None:
            report = task.result()
            window.reports[report.chunk_index] = report
            if report.usage.calls:
                self._answer_came(was_probe=was_probe)
        elif isinstance(error, BudgetSpentError):
            self._down = window.error = error
        elif isinstance(error, EndpointError):
            self._no_answer(window, error, was_probe=was_probe)
        elif isinstance(error, Exception):
            window.error = error
            self._answered = True
        else:
            raise error
        self._one_less(window)

    def _answer_came(self, *, was_probe: bool) -> None:
        self._answered = True
        if not was_probe:  # under way when the others failed: it says nothing about now
            return
        suspects, self._suspects = self._suspects, []
        for window in suspects:
            window.error = AnswerMissingError(
                f"a chunk got no answer while others did ({window.error})"
            )
            self._tell_if_done(window)

    def _no_answer(self, window: _Progress, error: EndpointError, *, was_probe: bool) -> None:
        window.error = error
        if window not in self._suspects:
            self._suspects.append(window)
        if was_probe:
            self._down = error

    def _one_less(self, window: _Progress) -> None:
        window.left -= 1
        self._tell_if_done(window)

    def _tell_if_done(self, window: _Progress) -> None:
        if window.left > 0 or window.told or (window in self._suspects and self._down is None):
            return
        window.told = True
        reports = tuple(window.reports[index] for index in sorted(window.reports))
        if window.error is None:
            self.tell(Told(window.asked.key, reports))
        else:
            self.tell(Told(window.asked.key, error=window.error))
