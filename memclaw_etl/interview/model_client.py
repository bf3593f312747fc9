"""The calls to an OpenAI-compatible endpoint that interviews need: chat completions, batches."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memclaw_etl.endpoint import (
    LONGEST_WAIT_S,
    Endpoint,
    RequestRefusedError,
    make_client,
    open_async_client,
)
from memclaw_etl.endpoint import errors_of as errors_of_endpoint
from memclaw_etl.errors import AnswerRefusedError
from memclaw_etl.interview.model_prompt import Message
from memclaw_etl.interview.model_request import (
    Ask,
    Mode,
    NotTakenError,
    RawAnswer,
    raw_answer,
    request_body,
)
from memclaw_etl.model_settings import ModelSettings

if TYPE_CHECKING:
    from memclaw_etl.endpoint import Client

KEY_VARIABLE: Final = "OPENAI_API_KEY"
JOB_FIELD: Final = "memclaw_job"
"""Metadata of a batch that says for which job it was submitted."""
SEARCHED_BATCHES: Final = 1_000
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})


def endpoint_of(settings: ModelSettings) -> Endpoint:
    """The endpoint that the section [model] names."""
    return Endpoint(
        url=settings.url,
        resource=settings.resource,
        model=settings.name,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        asker="interviewer openai",
        section="model",
        key_variables=(KEY_VARIABLE,),
    )


def api_key(settings: ModelSettings) -> str:
    """The key from the environment.

    Raises:
        SettingsError: there is none, and OpenAI's own endpoint wants one.
    """
    return endpoint_of(settings).key()


@asynccontextmanager
async def open_calls(settings: ModelSettings, schema: dict[str, Any]) -> AsyncIterator[Ask]:
    """Connections to the endpoint, for as long as the block lasts."""
    patience_s = (settings.max_retries + 1) * (settings.timeout_s + LONGEST_WAIT_S)
    async with open_async_client(endpoint_of(settings)) as client:

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
    """Turn the SDK's errors into ours.

    Raises:
        EndpointError: down, overloaded, or it refuses our key or model.
        AnswerRefusedError: the prompt is too long for the model.
        NotTakenError: the endpoint does not take the request in this form.
    """
    try:
        with errors_of_endpoint(endpoint_of(settings)):
            yield
    except RequestRefusedError as error:
        if error.is_too_long:
            raise AnswerRefusedError(
                f"the prompt is too long for {settings.name} ({error});"
                " lower chunk_chars in the section [limits] of memclaw.toml"
            ) from None
        raise NotTakenError(
            error.status, error.code, about_temperature="temperature" in error.says
        ) from None


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
    client: "Client"

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
    with make_client(endpoint_of(settings)) as client:
        yield RemoteBatches(settings, client)
