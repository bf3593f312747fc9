"""The ledger's tables about the life of memories: policies applied, deletions, retention. No text.

`governed_windows` and `governed_items` are derived from items and settings; deletions and cutoffs
are decisions, and nothing could derive them again.
"""

from sqlalchemy import Column, Index, String, Table

from memclaw_etl.lake.ledger.schema import UtcDateTime, id_column, metadata

governed_windows = Table(
    "governed_windows",
    metadata,
    Column("window_id", String(40), primary_key=True),
    id_column("tenant_id"),
    Column("policies", String(64), nullable=False),
)
"""By which policies (their fingerprint) a window's live items were chosen; no row: by none."""

governed_items = Table(
    "governed_items",
    metadata,
    Column("window_id", String(40), primary_key=True),
    Column("item_id", String(64), primary_key=True),
    Column("policy", String(64), primary_key=True),
    Column("action", String(16), primary_key=True),
    id_column("tenant_id"),
    Index("governed_items_by_policy", "policy"),
)

deleted_groups = Table(
    "deleted_groups",
    metadata,
    Column("group_key", String(64), primary_key=True),
    id_column("tenant_id"),
    Column("memory_id", String(64), nullable=False),
    Index("deleted_groups_by_memory", "memory_id"),
)

retention_cutoffs = Table(
    "retention_cutoffs",
    metadata,
    id_column("tenant_id", primary_key=True),
    Column("memory_type", String(32), primary_key=True),
    Column("cutoff", UtcDateTime, nullable=False),
)
