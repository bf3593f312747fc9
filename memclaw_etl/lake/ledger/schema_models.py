"""The ledger's tables about models: what they cost, what they failed at, what is under way."""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table

from memclaw_etl.lake.ledger.schema import UtcDateTime, id_column, metadata

model_spending = Table(
    "model_spending",
    metadata,
    Column("day", String(10), primary_key=True),
    id_column("endpoint", primary_key=True),
    Column("model", String(256), primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
)

reinterviews = Table(
    "reinterviews",
    metadata,
    Column("window_id", String(40), primary_key=True),
    Column("target", String(512), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("error_code", String(64), nullable=False),
    Column("failed_at", UtcDateTime, nullable=False),
)

model_jobs = Table(
    "model_jobs",
    metadata,
    Column("job_id", String(64), primary_key=True),
    id_column("endpoint"),
    Column("model", String(256), nullable=False),
    Column("prompt_version", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("file_id", String(256)),
    Column("remote_id", String(256)),
    Column("requests", Integer, nullable=False),
    Column("answered", Integer, nullable=False, default=0),
    Column("error", String(1024)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("polled_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Index("model_jobs_by_state", "state"),
)

model_job_requests = Table(
    "model_job_requests",
    metadata,
    Column("job_id", String(64), primary_key=True),
    Column("cache_key", String(64), primary_key=True),
    id_column("tenant_id", primary_key=True),
    Column("window_id", String(40), primary_key=True),
    Column("chunk_index", Integer, nullable=False),
    Index("model_job_requests_by_window", "window_id"),
)
