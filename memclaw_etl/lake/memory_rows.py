"""Rows of the memory index: their Arrow schema, and the SQL that filters them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, time

import pyarrow as pa

from memclaw_etl.errors import UsageError

ROW_VERSION = 6
"""Raise it when the columns change: an index of other rows is refused, `rebuild` makes it anew."""
ACTIVE, ANY_STATUS = "active", "any"
VECTOR = "vector"
CREATED_AT = "created_at"
DOCUMENT = "document"
UTC_TIME = pa.timestamp("us", tz="UTC")
_EVIDENCE = pa.struct(
    [
        pa.field("node_id", pa.string()),
        pa.field("epoch", pa.int64()),
        pa.field("seq", pa.int64()),
        pa.field("part", pa.int64()),
    ]
)
MEMORY_FIELDS = (
    pa.field("memory_id", pa.string(), nullable=False),
    pa.field("group_key", pa.string(), nullable=False),
    pa.field("tenant_id", pa.string(), nullable=False),
    pa.field("namespace", pa.string(), nullable=False),
    pa.field("fleet_id", pa.string()),
    pa.field("node_id", pa.string(), nullable=False),
    pa.field("node_ids", pa.list_(pa.string()), nullable=False),
    pa.field("agent_id", pa.string()),
    pa.field("session_id", pa.string()),
    pa.field("memory_type", pa.string(), nullable=False),
    pa.field("section", pa.string(), nullable=False),
    pa.field("title", pa.string(), nullable=False),
    pa.field("content", pa.string(), nullable=False),
    pa.field("item_ids", pa.list_(pa.string()), nullable=False),
    pa.field("evidence", pa.list_(_EVIDENCE), nullable=False),
    pa.field("first_epoch", pa.int64(), nullable=False),
    pa.field("first_seq", pa.int64(), nullable=False),
    pa.field("ts_valid_start", UTC_TIME),
    pa.field("ts_valid_end", UTC_TIME),
    pa.field("status", pa.string(), nullable=False),
    pa.field("interviewer", pa.string(), nullable=False),
    pa.field("prompt_version", pa.string(), nullable=False),
    pa.field("model", pa.string()),
    pa.field("masker_version", pa.string(), nullable=False),
    pa.field("window_keys", pa.list_(pa.string()), nullable=False),
    pa.field("nearby", pa.string(), nullable=False),
    pa.field("supersedes", pa.list_(pa.string()), nullable=False),
    pa.field("superseded_by", pa.string()),
    pa.field("superseded_why", pa.string()),
    pa.field("source_kind", pa.string(), nullable=False),
    pa.field("source_ref", pa.string(), nullable=False),
    pa.field("tags", pa.list_(pa.string()), nullable=False),
    pa.field("entities", pa.list_(pa.string()), nullable=False),
    pa.field("hint", pa.string(), nullable=False),
    pa.field("importance", pa.float64(), nullable=False),
    pa.field("importance_parts", pa.list_(pa.float64()), nullable=False),
    pa.field("flags", pa.list_(pa.string()), nullable=False),
    pa.field("content_chars", pa.int64(), nullable=False),
    pa.field("search_text", pa.string(), nullable=False),
    pa.field("session_key", pa.int64(), nullable=False),
    pa.field("words_key", pa.int64(), nullable=False),
    pa.field("end_day", pa.int32()),
    pa.field(DOCUMENT, pa.string(), nullable=False),
    pa.field("row_hash", pa.string(), nullable=False),
    pa.field("embedding_model", pa.string(), nullable=False),
    pa.field("embedding_dimension", pa.int64(), nullable=False),
)
"""What a caller gives per memory, besides the vector. `row_hash` covers all other fields but those
of the embedding, which are the same in all rows of a table.

`first_epoch` and `first_seq` say where in the trail of `node_id` the memory begins. `search_text`
holds the words that full-text search knows, made by the caller and divided by blanks.

Four columns repeat others, in a form that recall reads fast: `session_key` is equal for memories
of one session of a trail, `words_key` for contents of the same words, `end_day` is the UTC day of
`ts_valid_end` (1 is the first day of the year 1), and `document` the whole memory as JSON (reading
10 rows of it takes 2 ms, of its 35 columns 10).
"""
UNSHOWN = frozenset({VECTOR, DOCUMENT, "session_key", "words_key", "end_day"})
"""Columns that only recall reads."""


def memory_schema(dimension: int) -> pa.Schema:
    """Arrow schema of the table: the memory's fields, `created_at` and `vector`.

    `vector` is a fixed-size list of `dimension` float32 of length 1.
    """
    stamped = pa.field(CREATED_AT, UTC_TIME, nullable=False)
    vector = pa.field(VECTOR, pa.list_(pa.float32(), dimension), nullable=False)
    return pa.schema([*MEMORY_FIELDS, stamped, vector])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories a read may see, and which of them are asked for. None asks for all."""

    tenant_id: str
    memory_type: str | None = None
    node_id: str | None = None
    """A memory counts as a node's when the node gave any of its evidence."""
    namespace: str | None = None
    namespaces: Collection[str] | None = None
    """What the reader was granted. It holds beside `namespace`; none at all finds nothing."""
    since: datetime | None = None
    """Memories that were valid at or after this time; those without a time are left out."""
    until: datetime | None = None
    """Memories whose validity began before this time; those without a time are left out."""
    valid_at: datetime | None = None
    """What held at this moment: begun, and not yet replaced by something else. A memory that was
    replaced since is found by this alone."""
    status: str = ACTIVE
    """`active`, `superseded`, `deleted`, `expired`, or `any`."""

    def predicate(self) -> str:
        """Give the filter as SQL."""
        parts = [f"tenant_id = {quoted(self.tenant_id)}"]
        if self.valid_at is not None:
            moment = sql_time(self.valid_at)
            parts.append(f"ts_valid_start <= {moment}")
            replaced_since = f"(status = 'superseded' AND ts_valid_end > {moment})"
            parts.append(f"(status = '{ACTIVE}' OR {replaced_since})")
        elif self.status != ANY_STATUS:
            parts.append(f"status = {quoted(self.status)}")
        if self.memory_type is not None:
            parts.append(f"memory_type = {quoted(self.memory_type)}")
        if self.node_id is not None:
            parts.append(f"array_has(node_ids, {quoted(self.node_id)})")
        if self.namespace is not None:
            parts.append(f"namespace = {quoted(self.namespace)}")
        if self.namespaces is not None:
            parts.append(in_list("namespace", self.namespaces))
        if self.since is not None:
            parts.append(_ends_at_or_after(self.since))
        if self.until is not None:
            parts.append(f"ts_valid_start < {sql_time(self.until)}")
        return " AND ".join(parts)


def day_of(value: datetime) -> int:
    """The UTC day of an aware time, counted from the first day of the year 1."""
    return value.astimezone(UTC).date().toordinal()


def _ends_at_or_after(moment: datetime) -> str:
    """SQL for it: the days after that of the moment by their bitmaps, its own day by the times.

    A range over all times costs 6 ms of two searches at 100,000 rows, this one 2.
    """
    first = sql_time(moment)
    last = sql_time(datetime.combine(moment.astimezone(UTC).date(), time.max, UTC))
    return f"(end_day > {day_of(moment)} OR ts_valid_end BETWEEN {first} AND {last})"


def in_list(column: str, values: Collection[str]) -> str:
    """SQL for "column is one of"; never true for no values."""
    if not values:
        return "false"
    return f"{column} IN ({', '.join(quoted(value) for value in sorted(values))})"


def quoted(value: str) -> str:
    """SQL text literal. The one place where values become SQL."""
    if "\0" in value:
        raise UsageError("a filter value holds a NUL character")
    return "'" + value.replace("'", "''") + "'"


def sql_time(value: datetime) -> str:
    """SQL literal of an aware time."""
    if value.tzinfo is None:
        raise UsageError("a time filter needs a zone, for example 2026-01-31T00:00:00Z")
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return f"CAST('{utc.isoformat(sep=' ', timespec='microseconds')}' AS TIMESTAMP)"
