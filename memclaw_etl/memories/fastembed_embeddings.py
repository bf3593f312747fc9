"""Embedding texts with `fastembed`, an optional extra: many ONNX models, run on this machine.

The one place that imports it. It may fetch the weights of the model that the settings name, and
nothing else does.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.errors import EndpointError, SettingsError
from memclaw_etl.memories.embeddings import Part, Vectors, to_length_one, together

if TYPE_CHECKING:
    from fastembed import TextEmbedding

RESOURCE: Final = "fastembed"
"""What a breaker opens for when the weights cannot be had."""


class FastembedEmbedder:
    """A model of fastembed's list, or one in a folder of the user's (`model_path`).

    Some of its models give a text a slightly other vector among other texts. Since vectors are kept
    by text, a rebuild takes the same ones again.

    Raises, from everything but `model_id`:
        SettingsError: the extra is not installed, or there is no such model.
        EndpointError: its weights could not be fetched or loaded.
    """

    def __init__(self, settings: EmbeddingSettings, *, cache_dir: Path) -> None:
        self.model_id = f"fastembed:{settings.model}"
        self._settings = settings
        self._cache_dir = cache_dir

    @cached_property
    def dimension(self) -> int:
        """As fastembed's list says."""
        return int(self._model.embedding_size)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed every text, in order."""
        return together(self.parts(texts), count=len(texts), dimension=self.dimension)

    def parts(self, texts: Sequence[str]) -> Iterator[Part]:
        """Embed the texts, `batch_texts` at a time."""
        size = self._settings.batch_texts
        for start in range(0, len(texts), size):
            some = list(texts[start : start + size])
            found = self._model.passage_embed(some, batch_size=size)
            yield Part(range(start, start + len(some)), self._vectors(found, count=len(some)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, as the model wants them: some have a form of their own for them."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._vectors(self._model.query_embed(list(texts)), count=len(texts))

    def _vectors(self, found: "Iterable[Vectors]", *, count: int) -> Vectors:
        try:
            vectors = to_length_one(np.vstack(list(found)).astype(np.float32))
        except ValueError as error:
            raise EndpointError(
                f"fastembed model {self._settings.model!r} gave no usable vectors"
                f" ({type(error).__name__})", resource=RESOURCE,
            ) from None  # fmt: skip
        if vectors.shape != (count, self.dimension):
            raise EndpointError(
                f"fastembed model {self._settings.model!r} gave vectors of shape"
                f" {vectors.shape}, expected {(count, self.dimension)}", resource=RESOURCE,
            )  # fmt: skip
        return vectors

    @cached_property
    def _model(self) -> "TextEmbedding":
        try:
            with warnings.catch_warnings(action="ignore"):  # of its own dependencies
                from fastembed import TextEmbedding  # noqa: PLC0415 - an extra, and slow
        except ImportError as error:
            raise SettingsError(
                'embedding: provider = "fastembed" needs an extra that is not installed'
                f" ({error.name}): pip install 'memclaw-etl[fastembed]'"
            ) from None
        settings, path = self._settings, self._settings.model_path
        _refuse_unknown(settings.model or "", TextEmbedding.list_supported_models())
        if path is not None and not path.expanduser().is_dir():
            raise SettingsError(f"embedding: model_path {path} is no folder")
        where = {} if path is None else {"specific_model_path": str(path.expanduser())}
        try:
            return TextEmbedding(settings.model, cache_dir=str(self._cache_dir), **where)
        except Exception as error:
            raise EndpointError(
                f"fastembed cannot load the model {settings.model!r} ({type(error).__name__}):"
                " can this machine fetch it? Else put its files into a folder and set model_path",
                resource=RESOURCE,
            ) from error


def _refuse_unknown(name: str, known: Sequence[dict[str, object]]) -> None:
    names = sorted(str(one["model"]) for one in known)
    if name.casefold() not in {one.casefold() for one in names}:
        raise SettingsError(
            f"embedding: fastembed knows no model {name!r}; it knows {', '.join(names)}"
        )
