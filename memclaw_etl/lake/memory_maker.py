"""Opening the memory index as it is, whatever embedding model made it."""

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_pin import made_by


def open_as_made(uri: str, *, ledger_id: str) -> MemoryIndex | None:
    """Open the index with the model that its table names; None when there is none yet.

    Raises:
        HomeMismatchError: another ledger, or another version of the rows.
    """
    from memclaw_etl.lake import memory_table  # noqa: PLC0415 - paid by the first use

    schema = memory_table.schema_of(uri)
    if schema is None:
        return None
    model_id, dimension = made_by(schema)
    return MemoryIndex.open(uri, dimension=dimension, model_id=model_id, ledger_id=ledger_id)
