"""Working on a run's windows: take the leases, do a stage, keep results and failures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memclaw_etl.errors import UnknownWindowError, UsageError
from memclaw_etl.interview.interviewer import Interviewer
from memclaw_etl.lake.ledger import Holder, Stage, Window, batches, leases
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.stages import commit, failures, interview, mask, merge, remember
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.heartbeat import heartbeat
from memclaw_etl.stages.index_upkeep import keep_fast
from memclaw_etl.stages.report import Done, StageReport


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Which windows a run was started for.

    `batch_id` names the exact windows in the ledger; without one the partition keys do (a person
    materialised them). `by_person`: a person started this run, so waiting windows are taken, too.
    """

    run_id: str
    batch_id: str | None
    partition_keys: Sequence[str]
    by_person: bool


def take(bench: Bench, request: RunRequest) -> list[Window]:
    """Lease the run's windows; the same call in a later stage of the run renews them.

    Windows that another run holds, or that are no longer this batch's, are left out: a late run
    finds nothing to do.

    Raises:
        UnknownWindowError: no partition keys, a key that the ledger does not know, or a batch that
            it does not know. Nothing was changed.
    """
    if not request.partition_keys:
        raise UnknownWindowError("the run has no partition keys; start it for windows, not for all")
    with bench.ledger.write() as tx:
        known = window_table.by_keys(tx, request.partition_keys)
        _refuse_unknown(request, known)
        holder, now = Holder.here(request.run_id), bench.ledger.now()
        lease_s = bench.settings.limits.lease_s
        own = leases.run_lease(request.run_id)
        leases.acquire(tx, [own], holder=holder, now=now, lease_s=lease_s)
        if request.batch_id is None:
            return batches.take_keys(
                tx, request.partition_keys, holder=holder, now=now, lease_s=lease_s
            )
        if batches.interviewer_of(tx, request.batch_id) is None:
            raise UnknownWindowError(
                f"the ledger knows no batch {request.batch_id}; was the ledger replaced?"
            )
        return batches.take(
            tx, batch_id=request.batch_id, by_person=request.by_person,
            holder=holder, now=now, lease_s=lease_s,
        )  # fmt: skip


def _refuse_unknown(request: RunRequest, known: Sequence[Window]) -> None:
    if len(known) == len(set(request.partition_keys)):
        return
    present = {window.partition_key for window in known}
    missing = [key for key in request.partition_keys if key not in present]
    raise UnknownWindowError(
        f"the ledger does not know {len(missing)} of {len(request.partition_keys)} partition keys;"
        " add windows with `memclaw-etl run`, not by hand"
    )


def interviewer_for(bench: Bench, batch_id: str | None) -> Interviewer:
    """The interviewer that the batch was asked for with, else the settings' one."""
    if batch_id is None:
        return bench.interviewer(bench.settings.interviewer)
    with bench.ledger.read() as tx:
        stored = batches.interviewer_of(tx, batch_id)
    return bench.interviewer(stored or bench.settings.interviewer)


def work(bench: Bench, stage: Stage, request: RunRequest, windows: Sequence[Window]) -> StageReport:
    """Do one stage for all windows of a run; each result and each failure is durable at once.

    If the process is told to stop, the windows that are left are owed again at once.
    """
    holder = Holder.here(request.run_id)
    try:
        with heartbeat(bench, holder):
            return _work_all(bench, stage, request, windows)
    except Exception as error:  # noqa: BLE001 - the whole batch failed; the ledger must know
        return _fail_all(bench, stage, request, windows, error)
    except BaseException:  # told to stop: a signal, or Dagster's termination
        give_back(bench, request.run_id, windows)
        raise


def _work_all(
    bench: Bench, stage: Stage, request: RunRequest, windows: Sequence[Window]
) -> StageReport:
    if stage is Stage.MEMORIES:
        report = remember.remember(bench, windows, run_id=request.run_id, batch_id=request.batch_id)
        keep_fast(bench, run_id=request.run_id)
        return report
    if stage is Stage.WATERMARK:
        return commit.commit_windows(bench, windows, run_id=request.run_id)
    if stage is Stage.MINI_REPORTS:
        asked = interviewer_for(bench, request.batch_id)
        return interview.interview_windows(bench, windows, asked, run_id=request.run_id)
    return _work_each(bench, stage, request, windows)


def _fail_all(
    bench: Bench,
    stage: Stage,
    request: RunRequest,
    windows: Sequence[Window],
    error: Exception,
) -> StageReport:
    names = [leases.window_lease(window.window_id) for window in windows]
    with bench.ledger.read() as tx:
        mine = leases.held(tx, names, run_id=request.run_id)
    ours = [window for window in windows if leases.window_lease(window.window_id) in mine]
    failed = failures.record_all(
        bench.ledger, ours, stage, failures.as_ours(error),
        run_id=request.run_id, limits=bench.settings.limits,
    )  # fmt: skip
    return StageReport(stage, failed=failed)


def _work_each(
    bench: Bench, stage: Stage, request: RunRequest, windows: Sequence[Window]
) -> StageReport:
    report = StageReport(stage)
    do = _doer(bench, stage, request)
    for window in windows:
        try:
            report.done.append(do(window))
        except Exception as error:  # noqa: BLE001 - one window's trouble never stops the others
            report.failed.append(
                failures.record(
                    bench.ledger,
                    window,
                    stage,
                    failures.as_ours(error),
                    run_id=request.run_id,
                    limits=bench.settings.limits,
                )
            )
    return report


def _doer(bench: Bench, stage: Stage, request: RunRequest) -> Callable[[Window], Done]:
    if stage is Stage.MASKED_CHUNKS:
        return lambda window: mask.mask_window(bench, window)
    if stage is Stage.MERGED_REPORT:
        merging = interviewer_for(bench, request.batch_id)
        return lambda window: merge.merge_window(bench, window, merging)
    raise UsageError(f"{stage} does not work window by window")


def give_back(bench: Bench, run_id: str, windows: Sequence[Window]) -> None:
    """Release what a run holds; its unfinished windows are owed again."""
    with bench.ledger.write() as tx:
        window_table.give_back(tx, [window.window_id for window in windows])
        leases.release_all(tx, run_id=run_id)
