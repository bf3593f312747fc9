"""Vectors that were paid for, with money or time: kept in the lake by what they depend on.

Derived and droppable: losing them costs money or time, never correctness. They are kept beside the
memory index so that a killed run, a rebuild and a re-embedding pay only for what is missing. A
vector says a little of its text, so whatever erases text or masks it again clears them, too.
"""

import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memclaw_etl.lake.ledger.identifiers import sha1_hex

_LENGTH_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class VectorFiles:
    """The folder of kept vectors: one folder per model and dimension, one file per text."""

    root: Path

    def get(self, model: str, dimension: int, key: str) -> NDArray[np.float32] | None:
        """The kept vector of length 1; None when there is none, or what is there is damaged."""
        try:
            data = self._file(model, dimension, key).read_bytes()
        except FileNotFoundError:
            return None
        if len(data) != 4 * dimension:
            return None
        vector = np.frombuffer(data, dtype="<f4")
        is_whole = abs(float(np.linalg.norm(vector)) - 1.0) < _LENGTH_TOLERANCE
        return vector.astype(np.float32) if is_whole else None

    def put(
        self, model: str, dimension: int, keys: Sequence[str], vectors: NDArray[np.float32]
    ) -> None:
        """Keep vectors, each whole or not at all; the disk is not waited for."""
        for key, vector in zip(keys, vectors, strict=True):
            file = self._file(model, dimension, key)
            temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:8]}")
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(vector.astype("<f4").tobytes())
            temporary.rename(file)

    def clear(self) -> None:
        """Remove all of them."""
        shutil.rmtree(self.root, ignore_errors=True)

    def clear_others(self, model: str, dimension: int) -> None:
        """Remove those of every other model and dimension."""
        mine = self._folder(model, dimension)
        with suppress(FileNotFoundError):
            for folder in list(self.root.iterdir()):
                if folder != mine:
                    shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, model: str, dimension: int) -> Path:
        return self.root / sha1_hex(f"{model}\n{dimension}")[:16]

    def _file(self, model: str, dimension: int, key: str) -> Path:
        return self._folder(model, dimension) / key[:2] / f"{key}.f32"
