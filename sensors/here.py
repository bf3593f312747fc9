"""Running batches in this process, on the same Dagster instance as the UI. For `run` and `demo`."""

import fcntl
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import dagster as dg

from assets.partitions import ASKED_HERE, NO_RETRY_TAGS
from memclaw_etl.errors import BusyError, SurroundingsError
from memclaw_etl.service import planning
from memclaw_etl.service.planning import Batch, Watch
from memclaw_etl.service.summary import RunSummary, summarise
from memclaw_etl.service.upkeep import keep_policies, optimize_index
from memclaw_etl.settings import SourceSettings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.spending import new_budget
from memclaw_etl.windows.scan import Scan
from sensors.asking import ask_for_owed, ask_for_unfinished, tags_of
from sensors.orphans import end_orphans

OPTIMIZE_AFTER_BATCHES = 20
"""Each batch is one commit of the index, and many small commits make it slow."""

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@contextmanager
def open_instance(dagster_home: Path) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of a home."""
    os.environ["DAGSTER_HOME"] = str(dagster_home)
    with _only_one_makes(dagster_home):
        instance = dg.DagsterInstance.from_config(str(dagster_home))
        instance.get_runs(limit=1)
    with instance:
        yield instance


@contextmanager
def _only_one_makes(dagster_home: Path) -> Iterator[None]:
    """Two processes that make Dagster's tables at once leave a home that no process can open.

    A file lock, since that home is local files, and the kernel frees it however a process ends.
    """
    with (dagster_home / ".memclaw-lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_here(
    job: dg.JobDefinition, instance: dg.DagsterInstance, bench: Bench, batch: Batch, *, run_id: str
) -> bool:
    """Run one batch to its end in this process; whether all of it went well.

    Told to stop, it gives back what it did not finish.

    Raises:
        SurroundingsError: the run failed for a reason that no window has; they are owed at once.
    """
    try:
        with _interruptible() as told_to_stop:
            result = job.execute_in_process(
                instance=instance,
                run_config=_QUIET,
                tags={**NO_RETRY_TAGS, **tags_of(batch, asked_by=ASKED_HERE)},
                raise_on_error=False,
                run_id=run_id,
            )
            stopped = told_to_stop()
    except BaseException:
        planning.break_off(bench, run_id)
        raise
    if stopped:  # Dagster made a failed run of it, and would let us go on
        planning.break_off(bench, run_id)
        raise KeyboardInterrupt
    if not result.success and planning.came_to_nothing(bench, batch):
        planning.break_off(bench, run_id)
        raise SurroundingsError(
            f"Dagster run {run_id} failed before its {len(batch.partition_keys)} windows were done,"
            " and none of them is to blame; `memclaw-etl ui` shows the run, nothing is lost",
            resource="dagster",
        )
    planning.end_run(bench, run_id)
    return bool(result.success)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """SIGTERM stops a run as Ctrl-C does: windows are given back, nothing is lost.

    Gives a function that says whether one of them came, whoever handled it meanwhile.
    """
    before = signal.getsignal(signal.SIGTERM)

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    woken_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield lambda: _has_stop(reader)
    finally:
        signal.set_wakeup_fd(woken_before)
        os.close(reader)
        os.close(writer)
        signal.signal(signal.SIGTERM, before)


def _has_stop(reader: int) -> bool:
    """Whether SIGINT or SIGTERM is among the signals that came since the last call."""
    try:
        came = os.read(reader, 4096)
    except BlockingIOError:
        return False
    return signal.SIGINT in came or signal.SIGTERM in came


def run_all(
    bench: Bench,
    job: dg.JobDefinition,
    *,
    sources: Sequence[SourceSettings] | None = None,
    interviewer: str | None = None,
    flush: bool = False,
    watch: Watch | None = None,
) -> RunSummary:
    """Do everything that is owed, pin what is new, and do that, until nothing is left.

    What waits for its time or is in another process's hands is left to later runs. Stopping at any
    point loses nothing.
    """
    watch = watch or Watch()
    started = time.monotonic()
    scans: list[Scan] = []
    batch_ids: list[str] = []
    with open_instance(bench.settings.dagster_home) as instance:
        end_orphans(instance, bench)
        new_budget(bench)
        with suppress(BusyError):  # whoever keeps it busy, or the hourly upkeep, does it
            keep_policies(bench)
        while True:
            run_id = str(uuid.uuid4())
            asked = ask_for_owed(
                instance, bench, asked_by=ASKED_HERE, max_batches=1, interviewer=interviewer,
                run_id=run_id,
            ) or ask_for_unfinished(instance, bench, run_id=run_id, max_batches=1)  # fmt: skip
            for batch in asked:
                watch.on_batch(batch)
                batch_ids.append(batch.batch_id)
                run_here(job, instance, bench, batch, run_id=run_id)
            if asked:
                continue
            if scans and scans[-1].complete and not scans[-1].windows:
                break
            scans.append(planning.look(bench, sources, flush=flush, on_trail=watch.on_trail))
    if len(batch_ids) >= OPTIMIZE_AFTER_BATCHES:
        optimize_index(bench)
    return summarise(bench, scans, batch_ids, seconds=time.monotonic() - started)
