"""Opening the embedding model that the settings name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.memories.embeddings import EmbeddingModel, MiniLmEmbedder, Vectors, open_embedder
from memclaw_etl.memories.endpoint_embeddings import Clean, EndpointEmbedder, OnUsage
from memclaw_etl.memories.fastembed_embeddings import FastembedEmbedder


def model_id_of(settings: EmbeddingSettings) -> str:
    """The name under which an index is pinned to these settings' model."""
    if settings.provider == "packaged":
        return MiniLmEmbedder.model_id
    return f"{settings.provider}:{settings.model}"


def open_model(
    settings: EmbeddingSettings,
    *,
    clean: Clean,
    cache_dir: Path,
    known_dimension: int | None,
    on_usage: OnUsage,
) -> EmbeddingModel:
    """Give the model; nothing is loaded, fetched or asked before it embeds.

    Args:
        settings: the section [embedding].
        clean: masks texts before they are sent anywhere.
        cache_dir: where fetched weights are kept.
        known_dimension: what is known of the model from earlier, so that it need not be asked.
        on_usage: told the tokens of every call to an endpoint.
    """
    if settings.provider == "openai":
        return EndpointEmbedder(
            settings, clean=clean, known_dimension=known_dimension, on_usage=on_usage
        )
    if settings.provider == "fastembed":
        return FastembedEmbedder(settings, cache_dir=cache_dir)
    return open_embedder()


@dataclass(frozen=True, slots=True)
class ForQuestions:
    """A model as recall asks it: every text is a question, and is masked before it leaves."""

    model: EmbeddingModel
    clean: Clean

    @property
    def model_id(self) -> str:
        """The model's."""
        return self.model.model_id

    @property
    def dimension(self) -> int:
        """The model's."""
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, in order."""
        return self.model.embed_queries(self.clean(texts))
