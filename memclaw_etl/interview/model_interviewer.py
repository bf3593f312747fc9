"""The interviewer `openai`: a model behind any OpenAI-compatible endpoint."""

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

from memclaw_etl.errors import WindowError
from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.merge import MAX_PER_SECTION, NEAR_MEANING, NEAR_OVERLAP
from memclaw_etl.interview.model_abilities import Memory
from memclaw_etl.interview.model_answer import ANSWER_SCHEMA
from memclaw_etl.interview.model_chunk import Clock, Correspondent, cache_key
from memclaw_etl.interview.model_client import api_key, open_calls
from memclaw_etl.interview.model_desk import Desk
from memclaw_etl.interview.model_merge import (
    MERGE_SCHEMA,
    join_groups,
    merge_messages,
    read_groups,
)
from memclaw_etl.interview.model_prompt import PROMPT_VERSION, Message
from memclaw_etl.interview.model_purse import Purse
from memclaw_etl.interview.model_request import Ask, RawAnswer
from memclaw_etl.interview.protocols import Asked, ResponseCache, Told
from memclaw_etl.interview.report import MiniReport, ReportItem, Usage
from memclaw_etl.model_settings import ModelSettings


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class ModelInterviewer:
    """Asks a model about every chunk, some at once, and believes nothing that it cannot check.

    Answers are in the response cache as soon as they arrive, before they are read: whatever
    happens afterwards, no prompt that was answered is sent again.
    """

    name: ClassVar[str] = "openai"
    version: ClassVar[str] = PROMPT_VERSION
    max_per_section: ClassVar[int | None] = MAX_PER_SECTION
    near_overlap: ClassVar[float | None] = NEAR_OVERLAP
    near_meaning: ClassVar[float | None] = NEAR_MEANING

    settings: ModelSettings
    purse: Purse
    abilities_folder: Path | None = None
    clock: Clock = utc_now
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        """Refuse at once what could never be asked.

        Raises:
            SettingsError: the endpoint wants a key, and the environment has none.
        """
        api_key(self.settings)
        object.__setattr__(self, "memory", Memory(self.settings, self.abilities_folder))

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        return self.settings.name

    def interview(self, chunks: Sequence[Chunk], *, cache: ResponseCache) -> list[MiniReport]:
        """Report on each chunk of one window."""
        asked = Asked(key="", chunks=tuple(chunks), cache=cache)
        [told] = list(self.interview_all([asked], careful=False))
        if told.error is not None:
            raise told.error
        return list(told.reports)

    def interview_all(self, asked: Sequence[Asked], *, careful: bool) -> Iterator[Told]:
        """Report on every window, each as soon as it is done; its failure is told, not raised."""
        told: queue.SimpleQueue[Told | BaseException | None] = queue.SimpleQueue()
        sitting = _Sitting(partial(self._sit, asked, told.put, careful), told.put)
        sitting.start()
        try:
            while (one := told.get()) is not None:
                if not isinstance(one, Told):
                    raise one
                yield one
        finally:
            sitting.stop()

    def joined(
        self, items: Sequence[ReportItem], *, cache: ResponseCache
    ) -> tuple[list[ReportItem], Usage]:
        """Let the model say which items of a window say the same; and what that cost.

        Raises:
            EndpointError: the endpoint is down or refuses.
            BudgetSpentError: nothing more may be spent.
            WindowError: the answer is refused or unusable; it is forgotten, to be asked for anew.
        """
        messages = merge_messages(items)
        key = cache_key(messages, self.settings)
        answer, usage = asyncio.run(self._answer(key, messages, cache))
        try:
            return join_groups(items, read_groups(answer)), usage
        except WindowError:
            cache.drop(key)
            raise

    async def _answer(
        self, key: str, messages: Sequence[Message], cache: ResponseCache
    ) -> tuple[RawAnswer, Usage]:
        async with open_calls(self.settings, MERGE_SCHEMA) as ask:
            return await self._correspondent(ask).answer(key, messages, cache=cache)

    def _correspondent(self, ask: Ask) -> Correspondent:
        return Correspondent(
            settings=self.settings, ask=ask, memory=self.memory, purse=self.purse,
            clock=self.clock,
        )  # fmt: skip

    async def _sit(
        self,
        asked: Sequence[Asked],
        tell: Callable[[Told], None],
        careful: bool,  # noqa: FBT001 - bound by `partial`
        can_be_stopped: Callable[[asyncio.Task[None]], None],
    ) -> None:
        async with open_calls(self.settings, ANSWER_SCHEMA) as ask:
            correspondent = self._correspondent(ask)

            async def report(window: Asked, chunk: Chunk) -> MiniReport:
                return await correspondent.report(
                    chunk, cache=window.cache, keystones=window.keystones
                )

            desk = Desk(report, tell, at_once=self.settings.concurrency, careful=careful)
            task = asyncio.ensure_future(desk.sit(asked))
            can_be_stopped(task)
            await task


class _Sitting:
    """An event loop in a thread of its own, so that a stage can write while a model thinks."""

    def __init__(
        self,
        work: Callable[[Callable[[asyncio.Task[None]], None]], Coroutine[None, None, None]],
        say: Callable[[BaseException | None], None],
    ) -> None:
        self._work = work
        self._say = say
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="memclaw-model", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Break off what is not done yet; connections are closed when this returns."""
        if self._task is not None:
            with suppress(RuntimeError):  # it ended by itself in this moment
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._work(self._can_be_stopped))
        except asyncio.CancelledError:
            self._say(None)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            self._say(error)
        else:
            self._say(None)

    def _can_be_stopped(self, task: asyncio.Task[None]) -> None:
        self._task = task
