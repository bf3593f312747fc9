"""One chunk and a model: from its prompt to a grounded mini-report, with one repair at most."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from memclaw_etl.errors import (
    AnswerCutError,
    AnswerRefusedError,
    AnswerUnusableError,
    EndpointError,
    WindowError,
)
from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.model_abilities import Abilities, Memory
from memclaw_etl.interview.model_answer import Answer, UnusableError, read_answer
from memclaw_etl.interview.model_grounding import ground
from memclaw_etl.interview.model_prompt import PROMPT_VERSION, Message, messages_for, prompt_hash
from memclaw_etl.interview.model_purse import Purse
from memclaw_etl.interview.model_request import Ask, NotTakenError, RawAnswer
from memclaw_etl.interview.protocols import ResponseCache
from memclaw_etl.interview.report import MiniReport, Usage
from memclaw_etl.model_settings import ModelSettings

REPAIRS: Final = 1
SHOWN_BACK_CHARS: Final = 12_000
"""How much of a broken answer is shown to the model again."""
_FILTERED: Final = "content_filter"
_CUT: Final = "length"

Clock = Callable[[], datetime]


def cache_key(messages: Sequence[Message], settings: ModelSettings) -> str:
    """The key of a prompt's answer. The tenant is in the cache itself: each has its own."""
    return prompt_hash(messages, model=settings.name, version=PROMPT_VERSION)


class _FlawedError(Exception):
    """An answer that a repair may mend, and what it becomes when that fails."""

    def __init__(self, error: WindowError, request: str, *, show_back: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.request = request
        self.show_back = show_back


@dataclass
class Correspondent:
    """Asks a model about chunks, and keeps every answer before it is read."""

    settings: ModelSettings
    ask: Ask
    memory: Memory
    purse: Purse
    clock: Clock
    _finding_out: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _refused: EndpointError | None = field(default=None, init=False)

    async def report(
        self, chunk: Chunk, *, cache: ResponseCache, keystones: Sequence[str]
    ) -> MiniReport:
        """What the model says of a chunk, grounded in it.

        Raises:
            EndpointError: the endpoint is down or refuses.
            BudgetSpentError: nothing more may be spent.
            WindowError: refused, cut off or unusable, also after the repair. The answers are
                forgotten, so that the next attempt asks anew.
        """
        messages: tuple[Message, ...] = messages_for(chunk, keystones=keystones)
        keys: list[str] = []
        usage = Usage()
        try:
            for _ in range(REPAIRS + 1):
                keys.append(cache_key(messages, self.settings))
                answer, cost = await self.answer(keys[-1], messages, cache=cache)
                usage += cost
                try:
                    report = ground(read(answer, chunk), chunk)
                except _FlawedError as flawed:
                    messages, flaw = _repair(messages, answer, flawed), flawed.error
                else:
                    return report.model_copy(update={"usage": usage})
            raise flaw
        except WindowError:
            for key in keys:
                cache.drop(key)
            raise

    async def answer(
        self, key: str, messages: Sequence[Message], *, cache: ResponseCache
    ) -> tuple[RawAnswer, Usage]:
        """The answer to a prompt, from the cache or from the model; the cache has it on return."""
        stored = stored_answer(cache, key)
        if stored is not None:
            return stored, Usage(cache_hits=1)
        chars = sum(len(message["content"]) for message in messages)
        reckoned = self.purse.reckon(chars, now=self.clock())
        answer: RawAnswer | None = None
        try:
            answer = await self._call(messages)
            # a busy disk holds up this answer, and no other
            kept = await asyncio.shield(asyncio.to_thread(_keep, cache, key, answer))
        finally:
            usage = self.purse.settle(reckoned, answer)
        return kept, usage

    async def _call(self, messages: Sequence[Message]) -> RawAnswer:
        abilities = self.memory.recall()
        try:
            answer = await self._call_as(abilities, messages)
        except NotTakenError as refused:
            async with self._finding_out:
                if self.memory.recall() == abilities:
                    return await self._find_out(abilities, messages, refused)
            return await self._call(messages)  # another call found out meanwhile
        self.memory.keep(abilities)
        return answer

    async def _call_as(self, abilities: Abilities, messages: Sequence[Message]) -> RawAnswer:
        temperature = self.settings.temperature if abilities.takes_temperature else None
        return await self.ask(messages, mode=abilities.mode, temperature=temperature)

    async def _find_out(
        self, tried: Abilities, messages: Sequence[Message], refused: NotTakenError
    ) -> RawAnswer:
        """Ask in simpler and simpler ways. What works is remembered; if nothing does, who knows?

        An endpoint that has answered before refuses this chunk; one that never has refuses us.
        """
        if self._refused is not None:
            raise self._refused
        for abilities in _simpler_ways(tried, refused):
            try:
                answer = await self._call_as(abilities, messages)
            except NotTakenError as error:
                refused = error
                continue
            self.memory.keep(abilities)
            return answer
        if self.memory.worked:
            raise AnswerRefusedError(f"{self.settings.resource} refuses the chunk ({refused})")
        self._refused = EndpointError(
            f"{self.settings.resource} refuses every form of request ({refused}); check the"
            " section [model] of memclaw.toml",
            resource=self.settings.resource,
        )
        raise self._refused


def _simpler_ways(tried: Abilities, refused: NotTakenError) -> Iterator[Abilities]:
    if tried.takes_temperature and refused.about_temperature:
        tried = tried.without_temperature()
        yield tried
    way = tried.simpler()
    while way is not None:
        yield way
        tried, way = way, way.simpler()
    if tried.takes_temperature:
        yield tried.without_temperature()


def stored_answer(cache: ResponseCache, key: str) -> RawAnswer | None:
    """What the cache holds for a prompt; a damaged answer is dropped and counts as none."""
    stored = cache.get(key)
    if stored is None:
        return None
    try:
        return RawAnswer.model_validate_json(stored)
    except ValidationError:
        cache.drop(key)
        return None


def _keep(cache: ResponseCache, key: str, answer: RawAnswer) -> RawAnswer:
    """Put an answer into the cache; as it is there then, since a cache may mask what it keeps."""
    cache.put(key, answer.model_dump_json().encode())
    return stored_answer(cache, key) or answer


def read(answer: RawAnswer, chunk: Chunk) -> Answer:
    """Read an answer to a chunk.

    Raises:
        AnswerRefusedError: the model refused; asking again would not help.
        _FlawedError: a repair may help.
    """
    if answer.refused or answer.finish_reason == _FILTERED:
        raise AnswerRefusedError(f"chunk {chunk.index}: the model refused to report on it")
    try:
        return read_answer(answer.text)
    except UnusableError as error:
        flaw = str(error)
    if answer.finish_reason == _CUT:
        raise _FlawedError(
            AnswerCutError(
                f"chunk {chunk.index}: the report was cut off at {answer.completion_tokens} tokens,"
                " twice; raise max_output_tokens or lower chunk_chars"
            ),
            "Your answer was cut off. Answer again in the same form, much shorter: only the notes"
            " of high importance, one sentence each.",
            show_back=False,
        )
    raise _FlawedError(
        AnswerUnusableError(f"chunk {chunk.index}: no usable report, also after a repair ({flaw})"),
        f"That is not in the form that was asked for: {flaw}. Answer again with the whole JSON"
        " object in that form, and nothing else.",
        show_back=True,
    )


def _repair(
    messages: Sequence[Message], answer: RawAnswer, flawed: _FlawedError
) -> tuple[Message, ...]:
    said = answer.text[:SHOWN_BACK_CHARS]
    back = [{"role": "assistant", "content": said}] if flawed.show_back and said else []
    return (*messages, *back, {"role": "user", "content": flawed.request})
