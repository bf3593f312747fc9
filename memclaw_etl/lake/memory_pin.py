"""What an index was made with: embedding model, dimension, ledger and version of the rows."""

import json

import pyarrow as pa

from memclaw_etl.errors import HomeMismatchError
from memclaw_etl.lake.memory_rows import ROW_VERSION, memory_schema

PIN_KEY = b"memclaw_pin"


def pinned_schema(*, dimension: int, model_id: str, ledger_id: str) -> pa.Schema:
    """The table's schema, with what it is made for in its metadata."""
    pin = {
        "dimension": dimension,
        "ledger_id": ledger_id,
        "model_id": model_id,
        "row_version": ROW_VERSION,
    }
    return memory_schema(dimension).with_metadata({PIN_KEY: json.dumps(pin).encode()})


def check_pin(stored: pa.Schema, wanted: pa.Schema) -> None:
    """Compare a table's schema with the one that this home would make.

    Raises:
        HomeMismatchError: another model, dimension, ledger or version made the table.
    """
    found, expected = _pin(stored), _pin(wanted)
    for name, value in expected.items():
        if found.get(name) != value:
            raise HomeMismatchError(
                f"memory index: it was made with {name} {found.get(name)!r}, "
                f"but this home has {value!r}; run `memclaw-etl rebuild`, or use its own home"
            )


def in_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the table's column order and exact types."""
    return rows.select(schema.names).cast(schema)


def _pin(schema: pa.Schema) -> dict[str, object]:
    found: dict[str, object] = json.loads((schema.metadata or {}).get(PIN_KEY, b"{}"))
    return found
