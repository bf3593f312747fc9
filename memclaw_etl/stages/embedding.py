"""Which embedding model a home uses: the settings' one, and the one that made its index."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.errors import HomeMismatchError
from memclaw_etl.interview.model_purse import day_of
from memclaw_etl.lake.ledger import Ledger, embedded, spending
from memclaw_etl.lake.ledger.embedded import Embedded
from memclaw_etl.lake.ledger.identifiers import sha1_hex
from memclaw_etl.lake.ledger.spending import Spent
from memclaw_etl.lake.memory_pin import MadeBy, other_rows
from memclaw_etl.lake.memory_rows import ROW_VERSION
from memclaw_etl.lake.vectors import VectorFiles
from memclaw_etl.masking import Masker
from memclaw_etl.memories.embedders import model_id_of, open_model
from memclaw_etl.memories.embeddings import Embedder, EmbeddingModel
from memclaw_etl.memories.kept_vectors import KeptEmbedder
from memclaw_etl.settings import Settings

if TYPE_CHECKING:
    from memclaw_etl.stages.bench import Bench

_MILLION = 1_000_000


def chosen_model(
    settings: Settings, ledger: Ledger, masker: Masker, vectors: VectorFiles
) -> EmbeddingModel:
    """The model of the settings. What it costs something to make is kept."""
    wanted = settings.embedding
    with ledger.read() as tx:
        made = embedded.noted(tx)
    known = made.dimension if made is not None and is_same(made, wanted) else None
    model = _opened(settings, wanted, ledger, masker, known_dimension=known)
    return model if wanted.provider == "packaged" else KeptEmbedder(model, vectors)


def earlier_model(bench: "Bench", made: Embedded) -> EmbeddingModel | None:
    """The model that made the index, if the settings still let us use it.

    That is the packaged one, or another model of the endpoint or package that the settings name
    now: nothing is sent to a place that they do not name any more.
    """
    now = bench.settings.embedding
    if made.provider == "packaged":
        then = EmbeddingSettings()
    elif made.provider == now.provider and made.place == place_of(now) and not now.model_path:
        then = now.model_copy(update={"model": made.model, "dimension": made.asked_dimension})
    else:
        return None
    return _opened(bench.settings, then, bench.ledger, bench.masker, known_dimension=made.dimension)


def why_not_writable(bench: "Bench") -> str | None:
    """Says why no memory can be written to the index; None when nothing is in the way.

    The settings name another model than the one that made it, or another version of this program
    made its rows. By the ledger's note, where there is one: then the index is not opened.
    """
    with bench.ledger.read() as tx:
        made = embedded.noted(tx)
    if made is None:
        return _why_not_opened(bench)
    if made.row_version != ROW_VERSION:
        return other_rows(made.row_version)
    return other_model_made_it(bench)


def other_model_made_it(bench: "Bench") -> str | None:
    """Says so, when the settings name another model than the one that made the index.

    By the ledger's note alone: the index is not opened.
    """
    wanted = bench.settings.embedding
    with bench.ledger.read() as tx:
        made = embedded.noted(tx)
    if made is None or is_same(made, wanted):
        return None
    return (
        f"the memories were embedded by {made.model_id} ({made.dimension} numbers), the settings"
        f" name {model_id_of(wanted)}; run `memclaw-etl reembed` (a process that was started with"
        " other settings has to be started again)"
    )


def _why_not_opened(bench: "Bench") -> str | None:
    """An index without a note is of an earlier program, or its maker was killed before the note."""
    if not Path(bench.index_uri).exists():
        return None
    try:
        bench.open_index()
    except HomeMismatchError as error:
        return str(error)
    return None


def is_same(made: Embedded, wanted: EmbeddingSettings) -> bool:
    """Whether settings name the model that made the index, with vectors of the same length."""
    same_length = wanted.dimension in (made.asked_dimension, made.dimension)
    return made.model_id == model_id_of(wanted) and same_length


def place_of(settings: EmbeddingSettings) -> str:
    """Where a model is, as a hash: the endpoint, or the folder of fastembed's model."""
    return sha1_hex(f"{settings.resource or ''}\n{settings.model_path or ''}")[:16]


def made_by_of(embedder: Embedder) -> MadeBy:
    """How an index is pinned to this embedder."""
    return MadeBy(embedder.model_id, embedder.dimension)


def note_made_by(settings: Settings, ledger: Ledger, made: MadeBy) -> None:
    """Note which model made the index, and by what settings; nothing if that is known."""
    wanted = settings.embedding
    new = Embedded(
        model_id=made.model_id,
        dimension=made.dimension,
        provider=wanted.provider,
        model=wanted.model,
        asked_dimension=wanted.dimension,
        place=place_of(wanted),
        row_version=ROW_VERSION,
    )
    with ledger.read() as tx:
        is_known = embedded.noted(tx) == new
    if not is_known:
        with ledger.write() as tx:
            embedded.note(tx, new)


def cost_of_tokens(settings: EmbeddingSettings, tokens: int) -> float | None:
    """What tokens cost by the settings' price; None without one."""
    price = settings.price_per_million_tokens
    return None if price is None else price * tokens / _MILLION


def _opened(
    settings: Settings,
    wanted: EmbeddingSettings,
    ledger: Ledger,
    masker: Masker,
    *,
    known_dimension: int | None,
) -> EmbeddingModel:
    def clean(texts: Sequence[str]) -> list[str]:
        """By today's rules: what is stored may have been masked by earlier ones."""
        return [masker.session().mask(text).text for text in texts]

    def book(tokens: int) -> None:
        spent = Spent(calls=1, prompt_tokens=tokens, cost=cost_of_tokens(wanted, tokens) or 0.0)
        with ledger.write() as tx:
            spending.add(
                tx, spent, day=day_of(ledger.now()), endpoint=wanted.resource or "",
                model=wanted.model or "",
            )  # fmt: skip

    return open_model(
        wanted, clean=clean, cache_dir=settings.cache_dir / "fastembed",
        known_dimension=known_dimension, on_usage=book,
    )  # fmt: skip
