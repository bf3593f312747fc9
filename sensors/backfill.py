"""Interviewing again: the nightly schedule, the Batch API's sensor, a backfill in this process."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import dagster as dg

from assets.resources import Memclaw
from memclaw_etl.errors import EndpointError
from memclaw_etl.lake.ledger import Window
from memclaw_etl.service import model_jobs, planning
from memclaw_etl.service.backfill import Order, Outdated, choose, outdated, up_to_date
from memclaw_etl.service.planning import Watch
from memclaw_etl.service.summary import RunSummary, summarise
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.spending import must_wait, new_budget
from sensors.asking import ask_again, run_request, runs_over
from sensors.here import open_instance, run_here
from sensors.jobs import interview_windows
from sensors.orphans import end_orphans

ASKED_BY = "backfill"
OPENAI = "openai"


@dg.schedule(
    job=interview_windows,
    cron_schedule="23 2 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Interviews windows again whose report was made by an older prompt, model or"
    " interviewer, within the limits of the section [backfill]. Start it when you want that; it"
    " costs what the model costs.",
)
def nightly_backfill(
    context: dg.ScheduleEvaluationContext, memclaw: Memclaw
) -> list[dg.RunRequest] | dg.SkipReason:
    """Plan one night."""
    bench = memclaw.bench
    if must_wait(bench, bench.settings.interviewer):
        return dg.SkipReason("the model's endpoint is down or its budget is spent")
    chosen = plan(bench, Plan.of(bench))
    if not chosen:
        return dg.SkipReason("every report is of the newest prompt, model and interviewer")
    windows = [one.window for one in chosen]
    if bench.settings.backfill.batch_api and bench.settings.interviewer == OPENAI:
        windows = hand_in(bench, windows)
    batches = ask_again(context.instance, bench, windows, interviewer=bench.settings.interviewer)
    return [run_request(batch, asked_by=ASKED_BY) for batch in batches]


@dg.sensor(
    job=interview_windows,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Polls the batches that a backfill has handed in at the model's Batch API. Their"
    " answers go into the response cache, and their windows run without a call.",
)
def model_job_sensor(
    context: dg.SensorEvaluationContext, memclaw: Memclaw
) -> dg.SensorResult | dg.SkipReason:
    """Take every job as far as it gets, and ask for the windows of those that are answered."""
    bench = memclaw.bench
    try:
        jobs = model_jobs.advance(bench)
    except EndpointError as error:
        return dg.SkipReason(f"{error}; polled again at the next tick")
    requests = []
    for job_id, windows in model_jobs.fetched(bench):
        batches = ask_again(context.instance, bench, windows, interviewer=OPENAI)
        requests += [run_request(batch, asked_by=ASKED_BY) for batch in batches]
        model_jobs.finish(bench, [job_id])
    if not requests:
        return dg.SkipReason(f"{len(jobs)} batches are under way")
    return dg.SensorResult(run_requests=requests)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a backfill may do."""

    interviewer: str
    order: Order = "oldest"
    limit: int | None = None
    tokens: int | None = None
    batch_api: bool = False

    @classmethod
    def of(cls, bench: Bench) -> "Plan":
        """That of the settings."""
        night = bench.settings.backfill
        return cls(
            interviewer=bench.settings.interviewer, order=night.order,
            limit=night.windows_per_night, tokens=night.tokens_per_night,
            batch_api=night.batch_api,
        )  # fmt: skip


@dataclass(slots=True)
class Backfilled:
    """What a backfill did."""

    outdated: int = 0
    chosen: int = 0
    estimated_tokens: int = 0
    handed_in: int = 0
    """Windows whose prompts wait at the Batch API."""
    jobs_open: int = 0
    windows_done: int = 0
    windows_failed: int = 0
    run: RunSummary = field(default_factory=RunSummary)


def plan(bench: Bench, wanted: Plan) -> list[Outdated]:
    """The windows that a backfill takes now."""
    found = outdated(bench, wanted.interviewer)
    return choose(found, order=wanted.order, limit=wanted.limit, tokens=wanted.tokens)


def look_only(bench: Bench, wanted: Plan) -> Backfilled:
    """What a backfill would do now; nothing is changed."""
    chosen = plan(bench, wanted)
    return Backfilled(
        outdated=len(outdated(bench, wanted.interviewer)), chosen=len(chosen),
        estimated_tokens=sum(one.tokens for one in chosen), jobs_open=model_jobs.count_open(bench),
    )  # fmt: skip


def hand_in(bench: Bench, windows: Sequence[Window]) -> list[Window]:
    """Hand in what is not answered yet; returns the windows that can run without a call."""
    ready = [window for window in windows if model_jobs.is_answered(bench, window)]
    ids = {window.window_id for window in ready}
    model_jobs.submit(bench, [window for window in windows if window.window_id not in ids])
    return ready


def backfill_here(
    bench: Bench, job: dg.JobDefinition, wanted: Plan, *, watch: Watch | None = None
) -> Backfilled:
    """Interview again in this process. Stopping at any point leaves every window a whole report.

    Raises:
        EndpointError: the Batch API is down; what was handed in before is written down.
    """
    watch, started = watch or Watch(), time.monotonic()
    done = Backfilled()
    if wanted.tokens is not None:
        bench.purse.max_tokens = wanted.tokens
    with open_instance(bench.settings.dagster_home) as instance:
        end_orphans(instance, bench)
        new_budget(bench)
        due = _fetched_windows(bench) if wanted.interviewer == OPENAI else []
        found = outdated(bench, wanted.interviewer)
        chosen = choose(found, order=wanted.order, limit=wanted.limit, tokens=wanted.tokens)
        done.outdated, done.chosen = len(found), len(chosen)
        done.estimated_tokens = sum(one.tokens for one in chosen)
        windows = [one.window for one in chosen]
        if wanted.batch_api:
            ready = hand_in(bench, windows)
            done.handed_in = len(windows) - len(ready)
            windows = [*_fetched_windows(bench), *ready]
        taken = {window.window_id for window in due}
        due += [window for window in windows if window.window_id not in taken]
        batch_ids = _run(instance, job, bench, due, wanted.interviewer, watch)
    done.run = summarise(bench, [], batch_ids, seconds=time.monotonic() - started)
    asked = planning.windows_of(bench, batch_ids)
    done.windows_done = len(up_to_date(bench, asked, wanted.interviewer))
    done.windows_failed = len(asked) - done.windows_done
    done.jobs_open = model_jobs.count_open(bench)
    return done


def _fetched_windows(bench: Bench) -> list[Window]:
    """Windows whose answers a batch brought; they run now."""
    model_jobs.advance(bench)
    found = model_jobs.fetched(bench)
    model_jobs.finish(bench, [job_id for job_id, _ in found])
    return [window for _, windows in found for window in windows]


def _run(
    instance: dg.DagsterInstance,
    job: dg.JobDefinition,
    bench: Bench,
    due: Sequence[Window],
    interviewer: str,
    watch: Watch,
) -> list[str]:
    """Run windows batch by batch, until all are done, the budget is spent or the endpoint down."""
    batch_ids: list[str] = []
    for windows in runs_over(instance, bench, due):
        if must_wait(bench, interviewer):
            break
        run_id = str(uuid.uuid4())
        batch = planning.ask_anew(bench, windows, interviewer=interviewer, run_id=run_id)
        if batch is not None:
            watch.on_batch(batch)
            batch_ids.append(batch.batch_id)
            run_here(job, instance, bench, batch, run_id=run_id)
    return batch_ids
