"""Answers to `POST /v1/embeddings`: texts that share words are near, whoever asks and when."""

import base64
import hashlib
import json
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Odd:
    """What is done instead of answering well."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    dimension: int | None = None
    drop: int = 0
    """So many embeddings are left out."""
    raw: bytes | None = None
    zeros: bool = False
    number: float | None = None
    """Stands in the place of the first number."""


class EmbeddingDesk:
    """One embedding model and what it was asked."""

    def __init__(self, dimension: int = 24) -> None:
        self.dimension = dimension
        self.knows_base64 = True
        self.takes_dimensions = True
        self.longest_chars: int | None = None
        self.backwards = False
        """Give the embeddings in another order than that of the texts."""
        self.without_index = False
        self.down = False
        self.planned: deque[Odd] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.embedded: Counter[str] = Counter()
        """How often each text was embedded: what is paid for."""
        self.stop_after: int | None = None
        """So many texts, and then nothing is answered."""
        self.stuck = threading.Event()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes] | None:
        """Status, headers and body; None: no answer at all."""
        self.bodies.append(body)
        if self.stop_after is not None and self.embedded.total() >= self.stop_after:
            self.stuck.set()
            return None
        odd = self.planned.popleft() if self.planned else Odd()
        if self.down:
            odd = Odd(status=503)
        texts: list[str] = body["input"]
        if self._is_refused(body):
            odd = Odd(status=400, error={"message": f"not taken: {texts[0]}", "code": "bad"})
        if odd.raw is not None:
            return odd.status, odd.headers, odd.raw
        if odd.status != 200:
            error = odd.error or {"message": f"failed on {texts[0]}"}
            return odd.status, odd.headers, json.dumps({"error": error}).encode()
        self.embedded.update(texts)
        return 200, odd.headers, json.dumps(self._good(body, texts, odd)).encode()

    def _is_refused(self, body: dict[str, Any]) -> bool:
        too_long = self.longest_chars is not None and any(
            len(text) > self.longest_chars for text in body["input"]
        )
        empty = any(not text for text in body["input"])
        return too_long or empty or ("dimensions" in body and not self.takes_dimensions)

    def _good(self, body: dict[str, Any], texts: list[str], odd: Odd) -> dict[str, Any]:
        dimension = odd.dimension or body.get("dimensions") or self.dimension
        rows = [vector(text, dimension) for text in texts]
        if odd.zeros:
            rows = [np.zeros_like(row) for row in rows]
        if odd.number is not None:
            rows[0][0] = odd.number
        as_text = self.knows_base64 and body.get("encoding_format") == "base64"
        data: list[dict[str, Any]] = [
            {
                "object": "embedding",
                "index": at,
                "embedding": base64.b64encode(row.tobytes()).decode() if as_text else row.tolist(),
            }
            for at, row in enumerate(rows)
        ][odd.drop :]
        if self.without_index:
            for one in data:
                del one["index"]
        if self.backwards:
            data.reverse()
        used = sum(len(text) for text in texts) // 4
        usage = {"prompt_tokens": used, "total_tokens": used}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def vector(text: str, dimension: int) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """Deterministic; not of length 1, as some servers give them."""
    row = np.full(dimension, 0.01, dtype=np.float32)
    for word in text.casefold().split():
        digest = hashlib.sha256(word.encode()).digest()
        row[digest[0] % dimension] += 1
        row[digest[1] % dimension] += 0.5
    return row * np.float32(3)


def normal(texts: Sequence[str], dimension: int) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """What an embedder should make of the answer."""
    rows = np.vstack([vector(text, dimension) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
