"""The calls to an OpenAI-compatible endpoint. The one place that imports `openai`, on first use.

The SDK tries again by itself (408, 409, 429, 5xx, lost connections; `Retry-After` is kept), a
bounded number of times. What is left becomes an error of ours; none of them repeats what a server
said, since that may be a piece of the prompt.
"""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import BaseModel, ConfigDict

from memclaw_etl.errors import AnswerRefusedError, EndpointError, SettingsError
from memclaw_etl.interview.model_prompt import Message, form_reminder
from memclaw_etl.settings import ModelSettings

if TYPE_CHECKING:
    import openai

KEY_VARIABLE: Final = "OPENAI_API_KEY"
NO_KEY: Final = "none"
"""What a server of ours is sent as a key where the environment names none."""
LONGEST_WAIT_S: Final = 120.0
"""For how long the SDK heeds a `Retry-After`; a longer one is kept by us, as `not_before`."""
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
_TOO_LONG: Final = frozenset({"context_length_exceeded", "string_above_max_length"})
_TOO_LARGE, _BAD_REQUEST, _UNPROCESSABLE = 413, 400, 422


class Mode(StrEnum):
    """How an endpoint is told the form of the answer, best first."""

    SCHEMA = "schema"
    JSON = "json"
    TEXT = "text"


class RawAnswer(BaseModel):
    """What a model answered, before it is read; kept in the response cache as it is."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    text: str = ""
    finish_reason: str | None = None
    refused: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0


class NotTakenError(Exception):
    """The endpoint refused the request itself (400, 422): its form, or what is in it."""

    def __init__(self, status: int, code: str, *, about_temperature: bool) -> None:
        super().__init__(f"{status} {code}".strip())
        self.about_temperature = about_temperature


class Ask(Protocol):
    """One call to a model."""

    async def __call__(
        self, messages: Sequence[Message], *, mode: Mode, temperature: float | None
    ) -> RawAnswer:
        """Ask once.

        Raises:
            EndpointError: down, overloaded, or it refuses our key or model.
            AnswerRefusedError: the prompt is too long for the model.
            NotTakenError: the endpoint does not take the request in this form.
        """


def request_body(
    settings: ModelSettings,
    messages: Sequence[Message],
    schema: dict[str, Any],
    *,
    mode: Mode,
    temperature: float | None,
) -> dict[str, Any]:
    """The body of a chat completion, for a call and for a line of a batch file alike."""
    body: dict[str, Any] = {
        "model": settings.name,
        "messages": [dict(message) for message in messages],
    }
    if temperature is not None:
        body["temperature"] = temperature
    if settings.max_output_tokens is not None:
        body["max_completion_tokens"] = settings.max_output_tokens
    if mode is Mode.SCHEMA:
        form = {"name": "notes", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body
    body["messages"][0]["content"] += f"\n\n{form_reminder(schema)}"
    if mode is Mode.JSON:
        body["response_format"] = {"type": "json_object"}
    return body


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
            with errors_of(settings):
                async with asyncio.timeout(patience_s):
                    return raw_answer(await client.chat.completions.create(**body))

        yield ask


def raw_answer(completion: "openai.types.chat.ChatCompletion") -> RawAnswer:
    """What a completion says. Servers that forget half of the form are read, too."""
    usage = completion.usage
    choice = completion.choices[0] if completion.choices else None
    message = choice.message if choice else None
    return RawAnswer(
        text=(message.content or "") if message else "",
        finish_reason=choice.finish_reason if choice else None,
        refused=bool(message and message.refusal),
        prompt_tokens=(usage.prompt_tokens or 0) if usage else 0,
        completion_tokens=(usage.completion_tokens or 0) if usage else 0,
    )


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
