"""The ledger's tables about memories: which statements are related, and what must not come back.

`statement_marks` and `statement_edges` are derived from live items (`rebuild` makes them anew);
marks are hashes of words, so that no text stands here.
"""

from sqlalchemy import Boolean, Column, Index, String, Table

from memclaw_etl.lake.ledger.schema import id_column, metadata

statement_marks = Table(
    "statement_marks",
    metadata,
    Column("group_key", String(64), primary_key=True),
    Column("mark", String(32), primary_key=True),
    Index("statement_marks_by_mark", "mark"),
)

statement_edges = Table(
    "statement_edges",
    metadata,
    Column("left_key", String(64), primary_key=True),
    Column("right_key", String(64), primary_key=True),
    Column("edge_id", String(40), nullable=False),
    id_column("scope"),
    Column("kind", String(16), nullable=False),
    Column("reason", String(64), nullable=False),
    Index("statement_edges_by_right", "right_key"),
    Index("statement_edges_by_id", "edge_id"),
)

forgotten_events = Table(
    "forgotten_events",
    metadata,
    id_column("tenant_id", primary_key=True),
    Column("identity", String(128), primary_key=True),
    Column("tombstone_id", String(64), nullable=False),
    Column("is_erased", Boolean, nullable=False),
    Index("forgotten_events_by_tombstone", "tombstone_id"),
)
