"""`reembed`: after another embedding model was set, the memory index gets new vectors.

The texts are embedded first, while runs write and recall asks, with the old model; what is made is
kept in the lake as soon as it is there, so that a killed run goes on where it was and pays only for
what is missing. Then writers wait for as long as it takes to embed what came meanwhile and to put
the rows with their new vectors in the place of the old ones, in one commit. No trail is read, no
memory changes.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_maker import open_as_made
from memclaw_etl.lake.memory_rows import VECTOR
from memclaw_etl.memories.embeddings import EmbeddingModel
from memclaw_etl.memories.kept_vectors import KeptEmbedder
from memclaw_etl.service.remask import alone
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.embedding import cost_of_tokens, made_by_of, note_made_by
from memclaw_etl.stages.writers import whole_index

ROWS_AT_ONCE = 2_000
CHARS_A_TOKEN = 4.0
"""For estimates: about right for English; code and other scripts have fewer."""

OnTexts = Callable[[int, int], None]
"""Told how many texts are embedded, and of how many."""


@dataclass(frozen=True, slots=True)
class Reembedding:
    """What is to be done, or was. Numbers, never text."""

    old_model: str | None
    """None: there is no index yet."""
    old_dimension: int | None
    new_model: str
    new_dimension: int
    memories: int
    texts: int
    """Different contents to embed; 0 when the model is the same."""
    chars: int
    texts_missing: int
    """Of these, the ones whose vectors are not kept from an earlier try."""
    chars_missing: int
    tokens_estimate: int
    cost_estimate: float | None
    """Without a price in the section [embedding]: None."""
    is_done: bool = False

    @property
    def is_new(self) -> bool:
        """Whether the model is another one than that of the index."""
        return (self.old_model, self.old_dimension) != (self.new_model, self.new_dimension)


def plan(bench: Bench) -> Reembedding:
    """What `reembed` would do. An endpoint may be asked for one word, to learn the dimension.

    Raises:
        EndpointError: it had to be asked, and could not.
        HomeMismatchError: the index belongs to another ledger, or is of another version.
    """
    index = open_as_made(bench.index_uri, ledger_id=bench.ledger.ledger_id)
    return _plan(bench, index, _texts(bench, index))


def reembed(bench: Bench, *, on_texts: OnTexts | None = None) -> Reembedding:
    """Give the index the vectors of the settings' model; nothing is done if it has them.

    Raises:
        EndpointError: the model's endpoint is down. What is embedded is kept: run it again.
        BusyError: another reembed, a remask or an erasure works, or a run kept writing memories.
    """
    run_id = f"reembed-{uuid.uuid4().hex}"
    with alone(bench, run_id):
        index = open_as_made(bench.index_uri, ledger_id=bench.ledger.ledger_id)
        texts = _texts(bench, index)
        planned = _plan(bench, index, texts)
        if index is not None and index.made_by != made_by_of(bench.embedder):
            model = _kept(bench)
            _embed(model, texts, on_texts)
            with whole_index(bench, run_id=run_id):
                _replace(bench, model)
        elif index is not None:  # a killed reembed, or other settings for the same vectors
            note_made_by(bench.settings, bench.ledger, index.made_by)
        _clear_others(bench)
    return replace(planned, is_done=True)


def _embed(model: KeptEmbedder, texts: list[str], on_texts: OnTexts | None) -> None:
    """Make and keep the vectors of all texts."""
    done = 0
    for start in range(0, len(texts), ROWS_AT_ONCE):
        for part in model.parts(texts[start : start + ROWS_AT_ONCE]):
            done += len(part.positions)
            if on_texts is not None:
                on_texts(done, len(texts))


def _replace(bench: Bench, model: EmbeddingModel) -> None:
    """Put every row with its new vector in the place of the old rows. Writers are kept away."""
    index = open_as_made(bench.index_uri, ledger_id=bench.ledger.ledger_id)
    if index is None:
        return
    MemoryIndex.remake(
        bench.index_uri,
        _rows(index.every_row(), model),
        dimension=model.dimension,
        model_id=model.model_id,
        ledger_id=bench.ledger.ledger_id,
    )
    note_made_by(bench.settings, bench.ledger, made_by_of(model))
    bench.index.optimize()


def _rows(rows: pa.Table, model: EmbeddingModel) -> Iterator[pa.Table]:
    """The rows with new vectors, some at a time."""
    for start in range(0, rows.num_rows, ROWS_AT_ONCE):
        some = rows.slice(start, ROWS_AT_ONCE)
        contents = some["content"].to_pylist()
        place = {text: at for at, text in enumerate(dict.fromkeys(contents))}
        vectors = model.embed(list(place))[[place[text] for text in contents]]
        flat = pa.array(np.ascontiguousarray(vectors).ravel(), pa.float32())
        made_by = made_by_of(model)
        for name, value in (
            ("embedding_model", pa.repeat(pa.scalar(made_by.model_id), some.num_rows)),
            ("embedding_dimension", pa.repeat(pa.scalar(made_by.dimension), some.num_rows)),
        ):
            some = some.set_column(some.column_names.index(name), name, value)
        lists = pa.FixedSizeListArray.from_arrays(flat, made_by.dimension)
        yield some.append_column(VECTOR, lists)


def _texts(bench: Bench, index: MemoryIndex | None) -> list[str]:
    """The different contents of an index that another model made."""
    if index is None or index.made_by == made_by_of(bench.embedder):
        return []
    texts: list[str] = pc.unique(index.every_row(["content"])["content"]).to_pylist()
    return texts


def _plan(bench: Bench, index: MemoryIndex | None, texts: list[str]) -> Reembedding:
    missing = _kept(bench).missing(texts)
    chars_missing = sum(map(len, missing))
    tokens = int(chars_missing / CHARS_A_TOKEN)
    old = None if index is None else index.made_by
    new = made_by_of(bench.embedder)
    return Reembedding(
        old_model=old.model_id if old else None,
        old_dimension=old.dimension if old else None,
        new_model=new.model_id,
        new_dimension=new.dimension,
        memories=index.count() if index is not None else 0,
        texts=len(texts),
        chars=sum(map(len, texts)),
        texts_missing=len(missing),
        chars_missing=chars_missing,
        tokens_estimate=tokens,
        cost_estimate=cost_of_tokens(bench.settings.embedding, tokens),
    )


def _kept(bench: Bench) -> KeptEmbedder:
    """The settings' model, keeping what it makes: the packaged one does not by itself."""
    model = bench.embedder
    return model if isinstance(model, KeptEmbedder) else KeptEmbedder(model, bench.vectors)


def _clear_others(bench: Bench) -> None:
    """Vectors that no index needs any more."""
    if bench.settings.embedding.provider == "packaged":
        bench.vectors.clear()
    else:
        bench.vectors.clear_others(bench.embedder.model_id, bench.embedder.dimension)
