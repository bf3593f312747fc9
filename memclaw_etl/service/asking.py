"""Asking the index: with the model that made it, also while it is embedded anew."""

from collections.abc import Sequence

from memclaw_etl.errors import BusyError, HomeMismatchError
from memclaw_etl.lake.ledger import embedded
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_maker import open_as_made
from memclaw_etl.memories.embedders import ForQuestions
from memclaw_etl.memories.embeddings import EmbeddingModel
from memclaw_etl.memories.endpoint_embeddings import Clean
from memclaw_etl.memories.recall import Hit, RecallQuery, recall_many
from memclaw_etl.service.forgetting import finish_forgets
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.embedding import earlier_model, is_same

TRIES = 3


def answer(bench: Bench, queries: Sequence[RecallQuery]) -> list[list[Hit]]:
    """Answer questions, in order; each sees only its own scope.

    While the settings name another model than the one that made the index, that one answers, if
    the settings still allow it. If the index is embedded anew meanwhile, they are asked once more.

    Raises:
        EndpointError: the model's endpoint is down or refuses. Nothing is answered by halves.
        HomeMismatchError: the model that made the index cannot be had: `memclaw-etl reembed`.
    """
    finish_forgets(bench)
    for _ in range(TRIES):
        index, model = _index_and_model(bench)
        before = index.made_by
        asked = ForQuestions(model, clean=_clean(bench, queries))
        try:
            hits = recall_many(index, asked, queries)
        except (OSError, RuntimeError, ValueError):
            if index.made_by == before:
                raise
        else:
            if index.made_by == before == (model.model_id, model.dimension):
                return hits
    raise BusyError("the memories were embedded anew again and again", resource="memory_index")


def _index_and_model(bench: Bench) -> tuple[MemoryIndex, EmbeddingModel]:
    """The index, and the model that made it."""
    with bench.ledger.read() as tx:
        made = embedded.noted(tx)
    if made is None or is_same(made, bench.settings.embedding):
        return bench.index, bench.embedder
    index = open_as_made(bench.index_uri, ledger_id=bench.ledger.ledger_id)
    if index is None or index.made_by != (made.model_id, made.dimension):
        return bench.index, bench.embedder
    model = earlier_model(bench, made)
    if model is None:
        raise HomeMismatchError(
            f"the memories were embedded by {made.model_id} elsewhere than the section [embedding]"
            " of memclaw.toml says now, and nothing is sent there any more; run"
            " `memclaw-etl reembed`"
        )
    return index, model


def _clean(bench: Bench, queries: Sequence[RecallQuery]) -> Clean:
    """What happens to questions before they are embedded: masked, where they leave the machine."""
    tenant_of = {query.text: query.tenant_id for query in queries}

    def clean(texts: Sequence[str]) -> list[str]:
        if bench.settings.embedding.resource is None:
            return list(texts)
        return [bench.mask_session(tenant_of[text]).mask(text).text for text in texts]

    return clean
