"""The ledger's tables. Truth about what is owed, done and forgotten; no trail text in any of them.

A window's row is inserted once (unique: tenant, node, epoch, cursor_from, from_part) and its range,
hash and decoder state never change afterwards. Times are UTC.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Enum,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

from memclaw_etl.lake.ledger.values import WindowState

SCHEMA_VERSION = 1

metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC datetimes on every database (SQLite forgets the zone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; refuse naive values."""
        del dialect
        if value is not None and value.tzinfo is None:
            raise ValueError("naive datetime given to the ledger")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ANN401 - SQLAlchemy's signature
        """Attach UTC where the database lost it."""
        del dialect
        if value is None:
            return None
        at: datetime = value
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def id_column(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    """A column of wire ids."""
    return Column(name, String(1024), primary_key=primary_key, nullable=nullable)


_STATE = Enum(
    WindowState,
    native_enum=False,
    length=16,
    values_callable=lambda states: [state.value for state in states],
)

meta = Table(
    "meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", String(512), nullable=False),
)

nodes = Table(
    "nodes",
    metadata,
    id_column("tenant_id", primary_key=True),
    id_column("node_id", primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("path", String(4096), nullable=False),
    Column("real_path", String(4096), nullable=False),
    Column("root", String(4096), nullable=False),
    Column("file_session", String(1024), nullable=False),
    Column("fleet_id", String(256)),
    Column("agent_id", String(256)),
    Column("epoch", Integer, nullable=False, default=0),
    # where the next window starts; moved only together with a pin (compare-and-set)
    Column("frontier_seq", BigInteger, nullable=False, default=0),
    Column("frontier_part", Integer, nullable=False, default=0),
    Column("frontier_byte", BigInteger, nullable=False, default=0),
    Column("frontier_open", Boolean, nullable=False, default=False),
    Column("decoder_state", JSON, nullable=False),
    Column("head_hash", String(64)),
    Column("tail_hash", String(64)),
    # what the planner saw last; droppable
    Column("seen_size", BigInteger),
    Column("seen_mtime_ns", BigInteger),
    Column("seen_inode", BigInteger),
    Column("still_since", UtcDateTime),
    Column("settled", Boolean, nullable=False, default=False),
    Column("at_end", Boolean, nullable=False, default=False),
    Column("scanned_at", UtcDateTime),
    Column("head_seq", BigInteger),
    Column("problem_code", String(64)),
    Column("problem", String(1024)),
    Column("unknown", JSON),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("tenant_id", "real_path", name="one_source_per_real_path"),
)

windows = Table(
    "windows",
    metadata,
    Column("window_id", String(40), primary_key=True),
    Column("partition_key", String(4096), nullable=False, unique=True),
    Column("attempt_id", String(64), nullable=False),
    id_column("tenant_id"),
    id_column("node_id"),
    Column("epoch", Integer, nullable=False),
    Column("cursor_from", BigInteger, nullable=False),
    Column("from_part", Integer, nullable=False),
    Column("cursor_to", BigInteger, nullable=False),
    Column("byte_from", BigInteger, nullable=False),
    Column("byte_to", BigInteger, nullable=False),
    Column("opens_line", Boolean, nullable=False),
    Column("ends_open", Boolean, nullable=False),
    Column("end_part", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("decoder_state", JSON, nullable=False),
    Column("state", _STATE, nullable=False),
    Column("events", Integer, nullable=False),
    Column("replayed", Integer, nullable=False),
    Column("noise_lines", Integer, nullable=False),
    Column("quarantined_lines", Integer, nullable=False),
    Column("noise", JSON, nullable=False),
    Column("ts_first", UtcDateTime),
    Column("ts_last", UtcDateTime),
    Column("project", String(4096)),
    Column("attempts", Integer, nullable=False, default=0),
    Column("not_before", UtcDateTime),
    Column("waits_for", String(1024)),
    Column("failed_stage", String(32)),
    Column("error_code", String(64)),
    Column("error", String(2048)),
    Column("failed_at", UtcDateTime),
    Column("asked_batch", String(64)),
    Column("asked_until", UtcDateTime),
    Column("interviewer", String(64)),
    Column("prompt_version", String(64)),
    Column("reason", String(1024)),
    Column("pinned_at", UtcDateTime, nullable=False),
    Column("committed_at", UtcDateTime),
    UniqueConstraint(
        "tenant_id", "node_id", "epoch", "cursor_from", "from_part", name="one_window_per_start"
    ),
    Index("windows_by_state", "state"),
)

stage_files = Table(
    "stage_files",
    metadata,
    Column("window_id", String(40), primary_key=True),
    Column("stage", String(32), primary_key=True),
    Column("path", String(1024), nullable=False),
    Column("input_hash", String(64), nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("row_count", Integer, nullable=False),
    Column("counts", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

live_items = Table(
    "live_items",
    metadata,
    Column("item_id", String(64), primary_key=True),
    Column("window_id", String(40), primary_key=True),
    Column("group_key", String(64), primary_key=True),
    id_column("scope"),
    Index("live_items_by_group", "group_key"),
    Index("live_items_by_window", "window_id"),
)

touched_groups = Table(
    "touched_groups",
    metadata,
    Column("window_id", String(40), primary_key=True),
    Column("group_key", String(64), primary_key=True),
    id_column("scope"),
)

event_owners = Table(
    "event_owners",
    metadata,
    id_column("tenant_id", primary_key=True),
    Column("identity", String(128), primary_key=True),
    Column("window_id", String(40), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("part", Integer, nullable=False),
    Index("event_owners_by_window", "window_id"),
)

event_copies = Table(
    "event_copies",
    metadata,
    id_column("tenant_id", primary_key=True),
    Column("identity", String(128), primary_key=True),
    Column("window_id", String(40), primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("part", Integer, primary_key=True),
    Index("event_copies_by_window", "window_id"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", String(256), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("host", String(256), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Index("leases_by_holder", "holder"),
)

breakers = Table(
    "breakers",
    metadata,
    Column("resource", String(1024), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("opened_at", UtcDateTime, nullable=False),
    Column("probe_at", UtcDateTime, nullable=False),
)

watermarks = Table(
    "watermarks",
    metadata,
    id_column("tenant_id", primary_key=True),
    id_column("node_id", primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("doc_id", String(64), nullable=False),
    Column("agent_id", String(256)),
    Column("last_seq", BigInteger, nullable=False),
    Column("last_interview_at", UtcDateTime, nullable=False),
    Column("last_command_id", String(256)),
)

batches = Table(
    "batches",
    metadata,
    Column("batch_id", String(64), primary_key=True),
    Column("asked_by", String(32), nullable=False),
    Column("interviewer", String(64), nullable=False),
    Column("asked_at", UtcDateTime, nullable=False),
    Column("deadline", UtcDateTime, nullable=False),
    Column("run_id", String(64)),
    Column("started_at", UtcDateTime),
    Column("counts", JSON),
)

batch_windows = Table(
    "batch_windows",
    metadata,
    Column("batch_id", String(64), primary_key=True),
    Column("window_id", String(40), primary_key=True),
)

tombstones = Table(
    "tombstones",
    metadata,
    Column("tombstone_id", String(64), primary_key=True),
    id_column("tenant_id"),
    Column("memory_id", String(64), nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("reason", String(1024)),
    Column("created_at", UtcDateTime, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("decision_id", String(64), primary_key=True),
    id_column("tenant_id"),
    Column("about", String(4096), nullable=False),
    Column("action", String(32), nullable=False),
    Column("reason", String(1024), nullable=False),
    Column("actor", String(256), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)
