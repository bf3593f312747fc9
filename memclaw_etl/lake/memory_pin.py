"""What an index was made with: embedding model, dimension, ledger and version of the rows."""

import json
from typing import NamedTuple

import pyarrow as pa

from memclaw_etl.errors import HomeMismatchError
from memclaw_etl.lake.memory_rows import ROW_VERSION, memory_schema

PIN_KEY = b"memclaw_pin"


class MadeBy(NamedTuple):
    """The embedding model that made the vectors of a table, and how long they are."""

    model_id: str
    dimension: int


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
    if found.get("ledger_id") != expected["ledger_id"]:
        raise HomeMismatchError(
            f"memory index: it belongs to ledger {str(found.get('ledger_id'))[:8]}, the settings"
            f" name ledger {str(expected['ledger_id'])[:8]}; fix `ledger_url` or `lake_url`, or run"
            " `memclaw-etl rebuild` to make it anew from this one"
        )
    if found.get("row_version") != ROW_VERSION:
        raise HomeMismatchError(other_rows(found.get("row_version")))
    if made_by(stored) != made_by(wanted):
        raise HomeMismatchError(other_model(made_by(stored), made_by(wanted)))


def other_rows(stored: object) -> str:
    """What is to be done about an index of another version of memclaw-etl."""
    return (
        f"memory index: another version of memclaw-etl made it (its rows are of version {stored},"
        f" this one's of {ROW_VERSION}); run `memclaw-etl rebuild`, which makes it anew from what"
        " is stored"
    )


def other_model(stored: MadeBy, wanted: MadeBy) -> str:
    """What is to be done about an index of another embedding model."""
    return (
        f"memory index: its vectors were made by {stored.model_id} ({stored.dimension} numbers),"
        f" the settings want {wanted.model_id} ({wanted.dimension}); run `memclaw-etl reembed`, or"
        " set the section [embedding] of memclaw.toml back"
    )


def made_by(schema: pa.Schema) -> MadeBy:
    """The model that a table is made for."""
    pin = _pin(schema)
    return MadeBy(str(pin.get("model_id", "")), int(str(pin.get("dimension", 0))))


def in_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the table's column order and exact types."""
    return rows.select(schema.names).cast(schema)


def _pin(schema: pa.Schema) -> dict[str, object]:
    found: dict[str, object] = json.loads((schema.metadata or {}).get(PIN_KEY, b"{}"))
    return found
