"""Chunks, caches and interviewers for tests that ask a scripted model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.model_interviewer import ModelInterviewer
from memclaw_etl.interview.model_purse import Purse
from memclaw_etl.interview.protocols import Asked, Told
from memclaw_etl.model_settings import ModelSettings
from tests.openai_server import ModelServer

START = datetime(2026, 2, 3, 9, 0, tzinfo=UTC)
MODEL = "scripted-1"


@dataclass
class DictCache:
    """A response cache in memory."""

    stored: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> bytes | None:
        return self.stored.get(key)

    def put(self, key: str, value: bytes) -> None:
        self.stored.setdefault(key, value)

    def drop(self, key: str) -> None:
        self.stored.pop(key, None)


def event(seq: int, content: str, **fields: Any) -> MaskedEvent:
    given: dict[str, Any] = {
        "part": 0, "ts": START + timedelta(minutes=seq), "ts_inferred": False, "session_id": "s-1",
        "role": "assistant", "kind": "reply", "origin": "model",
    }  # fmt: skip
    return MaskedEvent(seq=seq, content=content, **{**given, **fields})


def chunk(*texts: str, index: int = 0, first: int = 0) -> Chunk:
    events = (event(first + number, text) for number, text in enumerate(texts))
    return Chunk(index=index, events=tuple(events))


def chunks(count: int) -> list[Chunk]:
    return [
        chunk(f"We settled on plan {number} for the ferry.", index=number, first=number)
        for number in range(count)
    ]


def settings(server: ModelServer, **fields: Any) -> ModelSettings:
    given = {"name": MODEL, "base_url": server.url, "timeout_s": 5.0, "max_retries": 1}
    return ModelSettings(**{**given, **fields})


def interviewer(server: ModelServer, **fields: Any) -> ModelInterviewer:
    chosen = settings(server, **fields)
    return ModelInterviewer(chosen, purse=Purse(chosen))


def windows(count: int, *, cache: DictCache | None = None, each: int = 1) -> list[Asked]:
    """Windows of `each` chunks, which share a cache."""
    shared = cache or DictCache()
    made = []
    for number in range(count):
        texts = [f"Window {number} settled on plan {number}-{one}." for one in range(each)]
        own = tuple(chunk(text, index=one, first=one) for one, text in enumerate(texts))
        made.append(Asked(key=str(number), chunks=own, cache=shared))
    return made


def told(asker: ModelInterviewer, asked: Sequence[Asked], *, careful: bool = False) -> list[Told]:
    found = list(asker.interview_all(asked, careful=careful))
    assert sorted(one.key for one in found) == sorted(one.key for one in asked)
    return sorted(found, key=lambda one: int(one.key))
