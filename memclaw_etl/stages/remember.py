"""memories: live items of the touched groups -> rows of the index, one writer per scope."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import (
    Stage,
    StageFile,
    Window,
    batches,
    governance,
    results,
    statements,
    tombstones,
)
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.memories.govern import fingerprint
from memclaw_etl.memories.items import Item, group_key
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.resolve import Memory, resolve
from memclaw_etl.memories.rulings import Rulings
from memclaw_etl.stages import failures
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import input_of, unchanged
from memclaw_etl.stages.govern_again import govern_again
from memclaw_etl.stages.governing import governed
from memclaw_etl.stages.merge import read_items
from memclaw_etl.stages.relate import relate
from memclaw_etl.stages.report import Done, StageReport
from memclaw_etl.stages.writers import only_writer

RESOLVE_VERSION = "4"
WINDOWS_A_COMMIT = 200
"""So many windows that wait are resolved into the index together."""


def remember(
    bench: Bench, windows: Sequence[Window], *, run_id: str, batch_id: str | None
) -> StageReport:
    """Resolve everything that these windows touched, and make the index say so, in one commit.

    Doing it again finds nothing to change. When this returns, the rows are durable and the ledger
    knows that they are.

    Raises:
        BusyError: another run kept writing to the same scope for `SCOPE_WAIT_S`.
    """
    report = StageReport(Stage.MEMORIES)
    for tenant_id in sorted({window.tenant_id for window in windows}):
        govern_again(bench, tenant_id, run_id=run_id)
    ready = _ready(bench, windows, report, run_id=run_id)
    due = [window for window, file, before in ready if not _is_done(bench, window, file, before)]
    with bench.ledger.read() as tx:
        touched = results.touched(tx, [window.window_id for window in due])
    with only_writer(bench, sorted(set(touched.values())), run_id=run_id):
        report.totals = _publish(bench, set(touched))
        with bench.ledger.write() as tx:
            for window, file, before in ready:
                if before is None or window in due:
                    report.done.append(_mark(tx, bench, window, file))
                else:
                    report.done.append(unchanged(window, before))
            report.totals |= governance.totals(tx, [window.window_id for window in due])
            results.clear_touched(tx, _as_they_were(tx, ready, due))
            if batch_id is not None:
                batches.add_counts(tx, batch_id, report.totals)
    return report


def remember_waiting(bench: Bench, *, run_id: str) -> int:
    """Resolve what was touched since its windows were resolved; how many rows changed.

    Raises:
        BusyError: another run kept writing to the same scope for `SCOPE_WAIT_S`.
    """
    with bench.ledger.read() as tx:
        waiting = window_table.by_ids(tx, results.windows_to_resolve(tx))
    changed = 0
    for start in range(0, len(waiting), WINDOWS_A_COMMIT):
        some = waiting[start : start + WINDOWS_A_COMMIT]
        totals = remember(bench, some, run_id=run_id, batch_id=None).totals
        changed += sum(totals.get(name, 0) for name in ("added", "updated", "deleted"))
    return changed


_Ready = tuple[Window, StageFile, StageFile | None]


def _as_they_were(tx: Connection, ready: Sequence[_Ready], due: Sequence[Window]) -> list[str]:
    """Due windows whose items are still those that were resolved.

    Another run may have stored others meanwhile; what it touched waits for whoever resolves next.
    """
    now = results.current(tx, [window.window_id for window in due], Stage.MERGED_REPORT)
    return [
        window.window_id
        for window, file, _ in ready
        if window.window_id in now and now[window.window_id].path == file.path
    ]


def _ready(
    bench: Bench, windows: Sequence[Window], report: StageReport, *, run_id: str
) -> list[_Ready]:
    """Windows whose items are there; the others are reported as failed."""
    ready: list[_Ready] = []
    for window in windows:
        try:
            with bench.ledger.read() as tx:
                file = input_of(tx, window, Stage.MEMORIES)
                before = results.current(tx, [window.window_id], Stage.MEMORIES)
        except Exception as error:  # noqa: BLE001 - one window's trouble never stops the others
            ours = failures.as_ours(error)
            report.failed.append(
                failures.record(
                    bench.ledger, window, Stage.MEMORIES, ours,
                    run_id=run_id, limits=bench.settings.limits,
                )
            )  # fmt: skip
        else:
            ready.append((window, file, before.get(window.window_id)))
    return ready


def _input_hash(bench: Bench, window: Window, file: StageFile) -> str:
    policies = fingerprint(bench.settings.policies_of(window.tenant_id))
    parts = (RESOLVE_VERSION, file.content_hash, bench.embedder.model_id, policies)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _is_done(bench: Bench, window: Window, file: StageFile, before: StageFile | None) -> bool:
    if before is None or before.input_hash != _input_hash(bench, window, file):
        return False
    with bench.ledger.read() as tx:
        return not results.touched(tx, [window.window_id])


def _publish(bench: Bench, groups: Collection[str]) -> dict[str, int]:
    """Relate what is new, and resolve every component that was touched, in one commit."""
    if not groups:
        return {"added": 0, "updated": 0, "unchanged": 0, "deleted": 0}
    relate(bench, list(live_items(bench, groups)), items_of=partial(live_items, bench))
    with bench.ledger.read() as tx:
        component = statements.component(tx, groups)
    memories = resolve(live_items(bench, component), rulings(bench))
    replaced = publish(
        bench.index, bench.embedder, memories, groups=component, created_at=born(bench, memories)
    )
    with bench.ledger.write() as tx:
        statements.drop_dead(tx, groups)
    return {
        "added": replaced.added,
        "updated": replaced.updated,
        "unchanged": replaced.unchanged,
        "deleted": replaced.deleted,
    }


def rulings(bench: Bench) -> Rulings:
    """What people and retention have decided about memories."""
    with bench.ledger.read() as tx:
        under = tombstones.forgotten(tx)
        return Rulings(
            apart=tombstones.undone(tx),
            forgotten_events=under.events,
            forgotten_texts=under.texts,
            deleted=governance.deleted(tx),
            cutoffs=governance.cutoffs(tx),
        )


def born(bench: Bench, memories: Sequence[Memory]) -> dict[str, datetime]:
    """When each memory began to be known, by id: when the first window that says it was pinned.

    It stands in the ledger and never changes, so that a rebuild says the same.
    """
    keys = sorted({key for memory in memories for key in memory.window_keys})
    with bench.ledger.read() as tx:
        pinned = {one.partition_key: one.pinned_at for one in window_table.by_keys(tx, keys)}
    return {one.memory_id: min(pinned[key] for key in one.window_keys) for one in memories}


def live_items(bench: Bench, groups: Collection[str]) -> Iterator[Item]:
    """Every live item of the groups, from the files that the ledger names, under the policies."""
    with bench.ledger.read() as tx:
        window_ids = results.windows_of_groups(tx, sorted(groups))
        files = results.current(tx, window_ids, Stage.MERGED_REPORT)
    for window_id in window_ids:
        yield from (
            item
            for item in governed(bench, read_items(bench, files[window_id]))
            if group_key(item) in groups
        )


def _mark(tx: Connection, bench: Bench, window: Window, file: StageFile) -> Done:
    """Note in the ledger that the index holds what the window's items say."""
    counts = {
        "items": file.row_count,
        "embedding_model": bench.embedder.model_id,
        **governance.counts(tx, window.window_id),
    }
    mark = StageFile(
        window_id=window.window_id,
        stage=str(Stage.MEMORIES),
        path="",
        input_hash=_input_hash(bench, window, file),
        content_hash=file.content_hash,
        row_count=file.row_count,
        counts=counts,
        created_at=bench.ledger.now(),
    )
    results.set_current(tx, mark)
    return Done(
        window=window, counts=counts, path="", content_hash=file.content_hash, unchanged=False
    )
