"""`remask`: when the rules get better, everything that is stored is masked again.

No trail is read and no model asked. Stage files, live items and memories come first, window by
window; then the response cache and the ledger's own texts; last, whatever older versions hold is
removed: stage files that nothing names, old rows of the index, freed pages of the ledger.

It can be stopped anywhere and run again: windows that are done are known by their
`masker_version`, memories that wait by their touched groups, and the removal by a note in the
ledger that is there until it is finished. What it cannot reach: the trails themselves, Dagster's
event store (which gets counts and no text), and backups.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from memclaw_etl.errors import BusyError
from memclaw_etl.lake.ledger import (
    Holder,
    Window,
    leases,
    nodes,
    results,
    texts,
    unfinished,
)
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.stage_files import window_id_in
from memclaw_etl.settings import DEFAULT_TENANT
from memclaw_etl.stages.answers import masked_answer
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.heartbeat import heartbeat
from memclaw_etl.stages.remask import Remasked, due_files, remask_window
from memclaw_etl.stages.remember import WINDOWS_A_COMMIT, remember_waiting
from memclaw_etl.stages.writers import whole_index

LEASE = "remask"

OnWindow = Callable[[int, int], None]


@dataclass(slots=True)
class RemaskReport:
    """What was done. Numbers, never text."""

    masker_version: str
    windows: int = 0
    """Windows whose texts were masked by other rules."""
    windows_busy: int = 0
    """Of these, the ones that a run works on: they are left for the next `remask`."""
    files_changed: int = 0
    spans_masked: dict[str, int] = field(default_factory=dict)
    """What was found now, by kind, in all places where it stood."""
    statements_dropped: int = 0
    """They rested on what is private now, or nothing of them was left."""
    memories_changed: int = 0
    answers_changed: int = 0
    ledger_texts_changed: int = 0
    files_removed: int = 0


def remask(bench: Bench, *, on_window: OnWindow | None = None) -> RemaskReport:
    """Mask everything that is stored again, and remove what was stored before.

    When it returns without busy windows, no store holds what today's rules mask. Input hashes stay
    right: the next run does not do a stage again because of this.

    Raises:
        BusyError: another `remask` works, or a run kept writing memories. Run it again.
        HomeMismatchError: the index cannot be written as it is; nothing was changed.
    """
    _ = bench.index
    run_id = f"remask-{uuid.uuid4().hex}"
    report = RemaskReport(masker_version=bench.masker.version)
    with alone(bench, run_id):
        done = _remask_windows(bench, report, run_id=run_id, on_window=on_window)
        report.files_changed, report.statements_dropped = done.files_changed, done.rows_dropped
        report.spans_masked = dict(sorted(done.kinds.items()))
        report.answers_changed = _remask_answers(bench)
        _remask_ledger(bench, report)
        report.files_removed = remove_unnamed_files(bench)
        remove_old_rows(bench, run_id=run_id, is_last=not report.windows_busy)
    return report


@contextmanager
def alone(bench: Bench, run_id: str) -> Iterator[None]:
    """Hold the one lease of `remask`, and give back whatever is held at the end."""
    holder = Holder.here(run_id)
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        lease_s = bench.settings.limits.lease_s
        if not leases.acquire(tx, [LEASE], holder=holder, now=now, lease_s=lease_s):
            raise BusyError(
                "a remask, an erasure or a reembed works on this home", resource="remask"
            )
    try:
        with heartbeat(bench, holder):
            yield
    finally:
        with bench.ledger.write() as tx:
            leases.release_all(tx, run_id=run_id)


def _remask_windows(
    bench: Bench, report: RemaskReport, *, run_id: str, on_window: OnWindow | None
) -> Remasked:
    """Every window that is due; the index follows every `WINDOWS_A_COMMIT` of them."""
    due = due_windows(bench)
    report.windows = len(due)
    if due:
        with bench.ledger.write() as tx:
            unfinished.begin(tx, unfinished.REMASK)
    done = Remasked()
    report.memories_changed += remember_waiting(bench, run_id=run_id)
    for number, window in enumerate(due, start=1):
        if lease_window(bench, window, run_id=run_id):
            done.add(remask_window(bench, window, run_id=run_id))
        else:
            report.windows_busy += 1
        if on_window is not None:
            on_window(number, len(due))
        if number % WINDOWS_A_COMMIT == 0 or number == len(due):
            report.memories_changed += remember_waiting(bench, run_id=run_id)
    return done


def due_windows(bench: Bench) -> list[Window]:
    """Windows with a stored text that other rules masked."""
    with bench.ledger.read() as tx:
        return list({window.window_id: window for window, _ in due_files(bench, tx)}.values())


def lease_window(bench: Bench, window: Window, *, run_id: str) -> bool:
    """Take the window's lease; False when a run has it."""
    name, holder = leases.window_lease(window.window_id), Holder.here(run_id)
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        lease_s = bench.settings.limits.lease_s
        return bool(leases.acquire(tx, [name], holder=holder, now=now, lease_s=lease_s))


def _remask_answers(bench: Bench) -> int:
    """The response cache of every tenant; an answer that no masking leaves readable is removed."""
    with bench.ledger.read() as tx:
        tenants = {node.tenant_id for node in nodes.all_nodes(tx)} | {DEFAULT_TENANT}
    return sum(_remask_answers_of(bench, tenant_id) for tenant_id in sorted(tenants))


def _remask_answers_of(bench: Bench, tenant_id: str) -> int:
    stored = bench.stored_responses(tenant_id)
    changed = 0
    for name in stored.names():
        value = stored.read(name)
        masked = masked_answer(value, bench.mask_session(tenant_id)) if value is not None else None
        if value is None or masked == value:
            continue
        if masked is None or not name.endswith(".json"):
            stored.remove(name)
        else:
            stored.replace(name, masked)
        changed += 1
    return changed


def _remask_ledger(bench: Bench, report: RemaskReport) -> None:
    with bench.ledger.write() as tx:
        report.ledger_texts_changed = texts.rewrite(
            tx, lambda text: bench.masker.session().mask(text).text
        )
        if report.ledger_texts_changed:
            unfinished.begin(tx, unfinished.REMASK)


def remove_unnamed_files(bench: Bench) -> int:
    """Stage files that the ledger does not name, except those of a window that a run works on."""
    found = list(bench.files.names())  # before the ledger is read: a run may name one meanwhile
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
        named = results.all_paths(tx)
        unnamed = [name for name in found if name not in named]
        ids = {name: window_id_in(name) or "" for name in unnamed}
        held = leases.held(tx, [leases.window_lease(one) for one in sorted(set(ids.values()))])
    gone = [name for name in unnamed if leases.window_lease(ids[name]) not in held]
    for name in gone:
        bench.files.remove(name)
    return len(gone)


def remove_old_rows(bench: Bench, *, run_id: str, is_last: bool) -> None:
    """If anything was masked again: what index and ledger still hold of it on the disk."""
    with bench.ledger.read() as tx:
        is_begun = unfinished.is_begun(tx, unfinished.REMASK)
    if not is_begun:
        return
    with whole_index(bench, run_id=run_id):
        MemoryIndex.rewrite(bench.index_uri)
        bench.vectors.clear()
        bench.open_index().optimize(keep_versions=timedelta(milliseconds=1))
    texts.wipe(bench.ledger)
    if is_last:
        with bench.ledger.write() as tx:
            unfinished.end(tx, unfinished.REMASK)
