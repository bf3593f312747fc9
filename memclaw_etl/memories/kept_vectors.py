"""An embedding model that pays for no text twice: what it made is kept as soon as it is there."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memclaw_etl.lake.vectors import VectorFiles
from memclaw_etl.memories.embeddings import EmbeddingModel, Part, Vectors, together


@dataclass(frozen=True, slots=True)
class KeptEmbedder:
    """Looks among the kept vectors first. Questions are not kept."""

    model: EmbeddingModel
    files: VectorFiles

    @property
    def model_id(self) -> str:
        """The model's."""
        return self.model.model_id

    @property
    def dimension(self) -> int:
        """The model's."""
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed every text, in order."""
        return together(self.parts(texts), count=len(texts), dimension=self.dimension)

    def parts(self, texts: Sequence[str]) -> Iterator[Part]:
        """What is kept first; the rest as the model makes it, kept before it is given."""
        if not texts:
            return
        missing: list[int] = []
        found: dict[int, Vectors] = {}
        for at, text in enumerate(texts):
            vector = self.files.get(self.model_id, self.dimension, _key(text))
            if vector is None:
                missing.append(at)
            else:
                found[at] = vector
        if found:
            yield Part(list(found), np.vstack(list(found.values())))
        for part in self.model.parts([texts[at] for at in missing]) if missing else ():
            positions = [missing[at] for at in part.positions]
            keys = [_key(texts[at]) for at in positions]
            self.files.put(self.model_id, self.dimension, keys, part.vectors)
            yield Part(positions, part.vectors)

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The texts that the model would have to be asked for."""
        known = (self.files.get(self.model_id, self.dimension, _key(text)) for text in texts)
        return [text for text, vector in zip(texts, known, strict=True) if vector is None]

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, in order."""
        return self.model.embed_queries(texts)


def _key(text: str) -> str:
    """What a text is kept under; the model and its dimension are a folder."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
