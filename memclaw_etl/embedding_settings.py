"""The section [embedding]: which model turns memories and questions into vectors, and where."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memclaw_etl.model_settings import resource_of, url_of

ProviderName = Literal["packaged", "openai", "fastembed"]
_Positive = Annotated[int, Field(gt=0)]


class EmbeddingSettings(BaseModel):
    """The embedding model. The one that ships needs no settings, no network and no key.

    A key is never a setting: `MEMCLAW_EMBEDDING_API_KEY`, else `OPENAI_API_KEY`, is read from the
    environment; a local server that needs none gets none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    provider: ProviderName = "packaged"
    """`packaged`: all-MiniLM-L6-v2, on this machine. `openai`: any OpenAI-compatible endpoint.
    `fastembed`: the package of that name, which may fetch the model that you name."""
    model: Annotated[str, Field(min_length=1, max_length=150)] | None = None
    base_url: str | None = None
    """Of the endpoint; default `OPENAI_BASE_URL`, else OpenAI's own."""
    model_path: Path | None = None
    """fastembed: a folder that holds the model already; nothing is fetched then."""
    dimension: _Positive | None = None
    """Asked of models that can shorten their vectors. Default: the model's own, asked for once."""
    batch_texts: Annotated[int, Field(gt=0, le=2_048)] = 64
    """Texts in one call."""
    concurrency: _Positive = 4
    """Calls at the same time."""
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Of one call, on 408, 409, 429, 5xx and lost connections; `Retry-After` is kept."""
    price_per_million_tokens: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.provider == "packaged":
            given = [name for name in ("model", "base_url", "dimension") if getattr(self, name)]
            if given:
                raise ValueError(
                    f"{' and '.join(given)}: the packaged model takes none; add"
                    ' provider = "openai" for an endpoint, or provider = "fastembed"'
                )
        elif self.model is None:
            example = "text-embedding-3-small" if self.provider == "openai" else "a/model-name"
            raise ValueError(
                f'provider = "{self.provider}" needs the name of a model:'
                f' model = "{example}", for example'
            )
        if self.model_path is not None and self.provider != "fastembed":
            raise ValueError('model_path belongs to provider = "fastembed"')
        if self.base_url is not None and self.provider != "openai":
            raise ValueError('base_url belongs to provider = "openai"')
        if self.dimension is not None and self.provider != "openai":
            raise ValueError('dimension belongs to provider = "openai"')
        return self

    @property
    def url(self) -> str:
        """Where the endpoint is."""
        return url_of(self.base_url)

    @property
    def resource(self) -> str | None:
        """What breakers open for; None where nothing outside of this machine is needed."""
        return resource_of(self.url) if self.provider == "openai" else None
