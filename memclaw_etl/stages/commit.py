"""watermark: the ledger transaction that makes windows done, materialised last."""

from collections.abc import Sequence

from memclaw_etl.lake.ledger import Stage, Window, commit
from memclaw_etl.stages import failures
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import input_of
from memclaw_etl.stages.report import Done, StageReport


def commit_windows(bench: Bench, windows: Sequence[Window], *, run_id: str) -> StageReport:
    """Commit every window whose memories are durable, and move the watermarks.

    One transaction: either all of these windows are committed, or none is.

    Raises:
        LeaseLostError: another run has taken one of the windows; nothing was committed.
    """
    report = StageReport(Stage.WATERMARK)
    ready: list[Window] = []
    for window in windows:
        try:
            with bench.ledger.read() as tx:
                mark = input_of(tx, window, Stage.WATERMARK)
        except Exception as error:  # noqa: BLE001 - one window's trouble never stops the others
            ours = failures.as_ours(error)
            report.failed.append(
                failures.record(
                    bench.ledger, window, Stage.WATERMARK, ours,
                    run_id=run_id, limits=bench.settings.limits,
                )
            )  # fmt: skip
            continue
        ready.append(window)
        report.done.append(
            Done(
                window=window,
                counts={"events": window.events, "items": mark.row_count},
                path="",
                content_hash=mark.content_hash,
                unchanged=window.committed_at is not None,
            )
        )
    with bench.ledger.write() as tx:
        committed = commit.commit(tx, ready, run_id=run_id, now=bench.ledger.now())
    report.totals = {"committed": len(committed)}
    return report
