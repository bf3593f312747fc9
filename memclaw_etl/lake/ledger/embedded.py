"""What the memory index was made with, as far as this ledger knows: embedding model, kind of rows.

The truth stands in the index itself. This note says what the settings were then, so that the model
can be opened again, and so that a look at the ledger tells whether the settings name another one,
or another version of this program made the rows.
"""

from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection, select

from memclaw_etl.lake.ledger.database import upsert
from memclaw_etl.lake.ledger.schema import meta

KEY: Final = "embedding"


class Embedded(BaseModel):
    """An embedding model, and the settings that named it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_id: str
    dimension: int
    provider: str
    model: str | None
    asked_dimension: int | None
    """What the settings said; None: the model's own."""
    place: str
    """Hash of the endpoint or folder: two places may serve different models under one name."""
    row_version: int = 5
    """Of the rows. The first notes did not say it, and were about these."""


def note(connection: Connection, embedded: Embedded) -> None:
    """Note what the index was made with."""
    upsert(connection, meta, {"key": KEY, "value": embedded.model_dump_json()})


def noted(connection: Connection) -> Embedded | None:
    """What was noted last; None before there was an index, or when a newer program noted it."""
    value = connection.execute(select(meta.c.value).where(meta.c.key == KEY)).scalar_one_or_none()
    if value is None:
        return None
    try:
        return Embedded.model_validate_json(value)
    except ValidationError:
        return None
