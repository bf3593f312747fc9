"""The calls to an OpenAI-compatible endpoint. The one place that imports `openai`, on first use.

The SDK tries again by itself (408, 409, 429, 5xx, lost connections; `Retry-After` is kept), a
bounded number of times. What is left becomes an error of ours; none of them repeats what a server
said, since that may be a piece of the prompt.
"""

import asyncio
import itertools
import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from memclaw_etl.errors import AnswerRefusedError, EndpointError, SettingsError
from memclaw_etl.interview.model_prompt import Message
from memclaw_etl.interview.model_request import (
    Ask,
    Mode,
    NotTakenError,
    RawAnswer,
    raw_answer,
    request_body,
)
from memclaw_etl.settings import ModelSettings

if TYPE_CHECKING:
    import openai

KEY_VARIABLE: Final = "OPENAI_API_KEY"
NO_KEY: Final = "none"
"""What a server of ours is sent as a key where the environment names none."""
LONGEST_WAIT_S: Final = 120.0
"""For how long the SDK heeds a `Retry-After`; a longer one is kept by us, as `not_before`."""
JOB_FIELD: Final = "memclaw_job"
"""Metadata of a batch that says for which job it was submitted."""
SEARCHED_BATCHES: Final = 1_000
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
_TOO_LONG: Final = frozenset({"context_length_exceeded", "string_above_max_length"})
_TOO_LARGE, _BAD_REQUEST, _UNPROCESSABLE = 413, 400, 422


def api_key(settings: ModelSettings) -> str:
    """The key from the environment.

    Raises:
        SettingsError: there is none, and OpenAI's own endpoint wants one.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if key:
        return key
    if settings.resource == "endpoint:api.openai.com":
        raise SettingsError(
            f"interviewer openai: set {KEY_VARIABLE} in the environment, or base_url in the"
            " section [model] of memclaw.toml to use a server of yours"
        )
    return NO_KEY


@asynccontextmanager
async def open_calls(settings: ModelSettings, schema: dict[str, Any]) -> AsyncIterator[Ask]:
    """Connections to the endpoint, for as long as the block lasts."""
    import openai  # noqa: PLC0415 - half a second, paid by those who ask a model

    key = api_key(settings)
    patience_s = (settings.max_retries + 1) * (settings.timeout_s + LONGEST_WAIT_S)
    async with openai.AsyncOpenAI(
        api_key=key, base_url=settings.url, timeout=settings.timeout_s,
        max_retries=settings.max_retries,
    ) as client:  # fmt: skip

        async def ask(
            messages: Sequence[Message], *, mode: Mode, temperature: float | None
        ) -> RawAnswer:
            body = request_body(settings, messages, schema, mode=mode, temperature=temperature)
            # what we built is what is sent, and what came is read by us: the SDK walks through
            # neither, which takes half the time of a call
            with errors_of(settings):
                async with asyncio.timeout(patience_s):
                    response = await client.chat.completions.with_raw_response.create(
                        model=body.pop("model"), messages=[], extra_body=body
                    )
                return raw_answer(json.loads(response.http_response.content))

        yield ask


@contextmanager
def errors_of(settings: ModelSettings) -> Iterator[None]:
    """Turn the SDK's errors into ours."""
    import openai  # noqa: PLC0415

    resource = settings.resource
    try:
        yield
    except openai.APIStatusError as error:
        raise _of_status(error, settings) from None
    except openai.APITimeoutError:
        raise EndpointError(
            f"{resource} did not answer within {settings.timeout_s:g} s,"
            f" {settings.max_retries + 1} times",
            resource=resource,
        ) from None
    except TimeoutError:
        raise EndpointError(
            f"{resource} kept a call open for too long", resource=resource
        ) from None
    except (openai.APIConnectionError, ConnectionError) as error:
        cause = type(error.__cause__ or error).__name__
        raise EndpointError(
            f"{resource} cannot be reached ({cause}); is it running, and is base_url right?",
            resource=resource,
        ) from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        raise EndpointError(
            f"{resource} does not answer as an OpenAI-compatible endpoint does"
            f" ({type(error).__name__}); is base_url right?",
            resource=resource,
        ) from None


def _of_status(error: "openai.APIStatusError", settings: ModelSettings) -> Exception:
    status, code = error.status_code, _code_of(error)
    if code in _TOO_LONG or status == _TOO_LARGE:
        return AnswerRefusedError(
            f"the prompt is too long for {settings.name} ({status} {code});"
            " lower chunk_chars in the section [limits] of memclaw.toml"
        )
    if status in (_BAD_REQUEST, _UNPROCESSABLE):
        about = f"{error.param or ''} {error.message}".casefold()
        return NotTakenError(status, code, about_temperature="temperature" in about)
    hint = {
        401: f"; check {KEY_VARIABLE}",
        403: f"; check {KEY_VARIABLE} and what it may use",
        404: f"; is there a model {settings.name!r}, and does base_url end as it should (/v1)?",
    }.get(status, "")
    return EndpointError(
        f"{settings.resource} answered {status} {code}".rstrip() + hint,
        resource=settings.resource,
        not_before=_retry_after(error),
    )


def _code_of(error: "openai.APIStatusError") -> str:
    """The error's code or type where it is a plain word; never free text."""
    words = [one for one in (error.code, error.type) if one and _CODE.fullmatch(one)]
    return words[0] if words else ""


def _retry_after(error: "openai.APIStatusError") -> datetime | None:
    """When a server wants to be asked again, where that is longer than the SDK waits."""
    text = error.response.headers.get("retry-after", "")
    try:
        wait_s = float(text)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    if not LONGEST_WAIT_S < wait_s < timedelta(days=7).total_seconds():
        return None
    return datetime.now(UTC) + timedelta(seconds=wait_s)


@dataclass(frozen=True, slots=True)
class RemoteState:
    """How far a batch is at its endpoint."""

    status: str
    ended: bool
    file_ids: tuple[str, ...]
    """Files of answers, those of failed requests included."""


@dataclass(frozen=True, slots=True)
class RemoteBatches:
    """The Batch API of an endpoint. Every call raises EndpointError when it cannot be made."""

    settings: ModelSettings
    client: "openai.OpenAI"

    def upload(self, content: bytes, *, name: str) -> str:
        """Hand in a file of requests; its id."""
        with errors_of(self.settings):
            return self.client.files.create(file=(name, content), purpose="batch").id

    def submit(self, file_id: str, *, job_id: str) -> str:
        """Have a file worked on within a day; the batch's id."""
        with errors_of(self.settings):
            batch = self.client.batches.create(
                input_file_id=file_id, endpoint="/v1/chat/completions", completion_window="24h",
                metadata={JOB_FIELD: job_id},
            )  # fmt: skip
        return batch.id

    def find(self, job_id: str) -> str | None:
        """The batch that was submitted for a job, if it was; looks at the newest ones."""
        with errors_of(self.settings):
            newest = itertools.islice(self.client.batches.list(limit=100), SEARCHED_BATCHES)
            return next(
                (one.id for one in newest if (one.metadata or {}).get(JOB_FIELD) == job_id), None
            )

    def look(self, remote_id: str) -> RemoteState:
        """How far a batch is."""
        with errors_of(self.settings):
            batch = self.client.batches.retrieve(remote_id)
        files = tuple(one for one in (batch.output_file_id, batch.error_file_id) if one)
        return RemoteState(batch.status, batch.status in _ENDED, files)

    def fetch(self, file_id: str) -> bytes:
        """A file of answers."""
        with errors_of(self.settings):
            return self.client.files.content(file_id).content


@contextmanager
def open_batches(settings: ModelSettings) -> Iterator[RemoteBatches]:
    """The endpoint's Batch API, for as long as the block lasts."""
    import openai  # noqa: PLC0415

    with openai.OpenAI(
        api_key=api_key(settings), base_url=settings.url, timeout=settings.timeout_s,
        max_retries=settings.max_retries,
    ) as client:  # fmt: skip
        yield RemoteBatches(settings, client)
