"""The section [model]: which model the interviewer `openai` asks, where, and for how much."""

import os
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

_Positive = Annotated[int, Field(gt=0)]


def url_of(base_url: str | None) -> str:
    """Where an endpoint is: what the settings say, else the environment, else OpenAI's own."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"


def resource_of(url: str) -> str:
    """An endpoint as breakers name it: without user and password."""
    return f"endpoint:{urlsplit(url).netloc.rpartition('@')[2]}"


class ModelSettings(BaseModel):
    """The model that the interviewer `openai` asks. Its key is never a setting.

    `OPENAI_API_KEY` is read from the environment; a local server that needs none gets none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: Annotated[str, Field(min_length=1)] = "gpt-5.4-mini"
    base_url: str | None = None
    """Of any OpenAI-compatible server; default `OPENAI_BASE_URL`, else OpenAI's own."""
    concurrency: _Positive = 32
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """How long one try waits for the server to connect, or to go on sending."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Of one call, on 408, 409, 429, 5xx and lost connections; `Retry-After` is kept."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.2
    max_output_tokens: _Positive | None = None
    price_per_million_prompt_tokens: Annotated[float, Field(ge=0)] | None = None
    price_per_million_completion_tokens: Annotated[float, Field(ge=0)] | None = None
    batch_price_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """What a token costs through the Batch API, as a share of its price."""
    max_tokens_per_run: _Positive | None = None
    max_cost_per_day: Annotated[float, Field(gt=0)] | None = None
    """In the currency of the prices; days are UTC."""
    merge_with_model: bool = False
    """Let the model find what several chunks of a window say alike: one more call a window."""

    @model_validator(mode="after")
    def _can_count_cost(self) -> Self:
        prices = (self.price_per_million_prompt_tokens, self.price_per_million_completion_tokens)
        if self.max_cost_per_day is not None and None in prices:
            raise ValueError("max_cost_per_day needs both prices per million tokens")
        return self

    @property
    def url(self) -> str:
        """Where the server is."""
        return url_of(self.base_url)

    @property
    def resource(self) -> str:
        """The endpoint as breakers name it."""
        return resource_of(self.url)
