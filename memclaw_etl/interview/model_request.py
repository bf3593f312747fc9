"""What a model is sent and what comes back, in our own values."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from memclaw_etl.interview.model_prompt import Message, form_reminder
from memclaw_etl.model_settings import ModelSettings


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


def raw_answer(completion: Mapping[str, Any]) -> RawAnswer:
    """What a chat completion says. Servers that leave out half of the form are read, too.

    Raises:
        TypeError, AttributeError, ValueError: it is no chat completion at all.
    """
    choice = (completion.get("choices") or [{}])[0]
    message, usage = choice.get("message") or {}, completion.get("usage") or {}
    return RawAnswer(
        text=message.get("content") or "",
        finish_reason=choice.get("finish_reason"),
        refused=bool(message.get("refusal")),
        prompt_tokens=usage.get("prompt_tokens") or 0,
        completion_tokens=usage.get("completion_tokens") or 0,
    )
