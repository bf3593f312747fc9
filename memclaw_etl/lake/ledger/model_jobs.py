"""Batches at a model's Batch API: what was handed in, and how far each is.

A job's state only moves forward. What a state says has happened is durable: whoever finds a job
later goes on from there, in this process or another.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select, update

from memclaw_etl.lake.ledger.database import batched, insert_all
from memclaw_etl.lake.ledger.schema_models import model_job_requests, model_jobs


class JobState(StrEnum):
    """How far a job is."""

    PREPARED = "prepared"
    """Its requests are known; nothing was sent."""
    UPLOADED = "uploaded"
    """Its file is at the endpoint."""
    SUBMITTED = "submitted"
    """The endpoint works on it."""
    FETCHED = "fetched"
    """Its answers are in the response cache; its windows have not been asked for."""
    DONE = "done"
    FAILED = "failed"
    """The endpoint gave no answer to any of its requests."""


OPEN = (JobState.PREPARED, JobState.UPLOADED, JobState.SUBMITTED, JobState.FETCHED)


LEFT_OUT = -1
"""In the place of the chunk's index: the prompt was erased, and its answer is not wanted."""


@dataclass(frozen=True, slots=True)
class Job:
    """One batch at an endpoint."""

    job_id: str
    endpoint: str
    model: str
    prompt_version: str
    state: str
    file_id: str | None
    remote_id: str | None
    requests: int
    answered: int
    error: str | None
    created_at: datetime
    polled_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One prompt of a job, for one chunk of one window."""

    cache_key: str
    tenant_id: str
    window_id: str
    chunk_index: int


def add(connection: Connection, job: Job, requests: Sequence[JobRequest]) -> None:
    """Write down a new job with all of its requests."""
    insert_all(connection, model_jobs, [asdict(job)])
    rows = [{"job_id": job.job_id, **asdict(request)} for request in requests]
    insert_all(connection, model_job_requests, rows)


def change(connection: Connection, job_id: str, **values: Any) -> None:  # noqa: ANN401 - columns
    """Change columns of a job."""
    connection.execute(update(model_jobs).where(model_jobs.c.job_id == job_id).values(values))


def open_jobs(connection: Connection) -> list[Job]:
    """Jobs that are not at their end, oldest first."""
    rows = connection.execute(
        select(model_jobs)
        .where(model_jobs.c.state.in_(OPEN))
        .order_by(model_jobs.c.created_at, model_jobs.c.job_id)
    )
    return [Job(**row._mapping) for row in rows]


def get(connection: Connection, job_id: str) -> Job:
    """One job; it must be there."""
    row = connection.execute(select(model_jobs).where(model_jobs.c.job_id == job_id)).one()
    return Job(**row._mapping)


def requests_of(connection: Connection, job_id: str) -> list[JobRequest]:
    """The requests of a job whose answers are wanted, by window and chunk."""
    columns = model_job_requests.c
    rows = connection.execute(
        select(columns.cache_key, columns.tenant_id, columns.window_id, columns.chunk_index)
        .where(columns.job_id == job_id, columns.chunk_index != LEFT_OUT)
        .order_by(columns.window_id, columns.chunk_index)
    )
    return [JobRequest(**row._mapping) for row in rows]


def leave_out(connection: Connection, tenant_id: str, window_ids: Sequence[str]) -> list[Job]:
    """Take a tenant's windows out of every job: answers to their prompts will not be kept.

    Returns the jobs whose file at the endpoint holds one of these prompts, whatever their state.
    """
    found: set[str] = set()
    mine = model_job_requests.c.tenant_id == tenant_id
    for some in batched(window_ids):
        theirs = mine & model_job_requests.c.window_id.in_(some)
        rows = connection.execute(
            select(model_job_requests.c.job_id, model_job_requests.c.cache_key).where(theirs)
        ).all()
        found.update(row.job_id for row in rows)
        for keys in batched(sorted({row.cache_key for row in rows})):
            connection.execute(
                update(model_job_requests)
                .where(mine, model_job_requests.c.cache_key.in_(keys))
                .values(chunk_index=LEFT_OUT)
            )
    return [job for one in sorted(found) if (job := get(connection, one)).file_id is not None]


def windows_under_way(connection: Connection) -> set[str]:
    """Windows that an open job is about."""
    rows = connection.execute(
        select(model_job_requests.c.window_id)
        .join(model_jobs, model_jobs.c.job_id == model_job_requests.c.job_id)
        .where(model_jobs.c.state.in_(OPEN), model_job_requests.c.chunk_index != LEFT_OUT)
        .distinct()
    )
    return {row.window_id for row in rows}
