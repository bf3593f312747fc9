"""`forget`: a memory goes, and what it rests on never makes another one.

A tombstone lies over the text and over the identities of all events of the united evidence: no
other wording, window, fork, re-run or prompt version brings it back. It reaches other memories that
rest on one of these events, too, since they may say the same in other words.

`erase` also takes the text out of every store: stage files, response cache, old versions of the
index, freed pages of the ledger; and with it whatever else repeats it. It can be stopped anywhere
and run again. It cannot reach the trails themselves, nor backups, nor a model's endpoint.

There is no way back: a tombstone is never taken away.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from memclaw_etl.errors import BusyError
from memclaw_etl.lake.ledger import (
    Stage,
    Window,
    leases,
    model_jobs,
    results,
    tombstones,
    unfinished,
    windows,
)
from memclaw_etl.service.reach import Reach, reach_of, reach_of_quotations, trails_of
from memclaw_etl.service.remask import alone, lease_window, remove_old_rows, remove_unnamed_files
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.erase import erase_from_window, plan_erasure
from memclaw_etl.stages.remember import remember


@dataclass(slots=True)
class Forgot:
    """What was done. No text."""

    memory_id: str
    events: int
    """So many events lie under the tombstone."""
    memories_gone: int
    """Rows that left the index: the memory, and others that rest on the same events."""
    erased: bool = False
    files_rewritten: int = 0
    answers_removed: int = 0
    files_removed: int = 0
    not_erased: tuple[str, ...] = ()
    """What still holds the text, since nobody but its owner writes to it: trails, files at a
    model's endpoint, previews that the settings allowed in Dagster's store."""


def forget(
    bench: Bench, memory_id: str, *, tenant_id: str, reason: str, erase: bool = False
) -> Forgot:
    """Forget a memory for good. One that is forgotten already can be erased later.

    From the moment that the tombstone is durable nothing recalls it: what is left to be done by
    then is finished by whoever comes next (`finish_forgets`).

    Raises:
        UsageError: the tenant has no such memory and never forgot one.
        BusyError: a run works on a window that must be rewritten, or keeps writing memories. What
            was to be forgotten is; run it again to erase.
    """
    run_id = f"forget-{uuid.uuid4().hex}"
    reach = reach_of(bench, memory_id, tenant_id=tenant_id)
    if erase:
        reach = reach_of_quotations(bench, reach)
    _lay_tombstones(bench, reach, reason=reason, erase=erase)
    totals = remember(bench, _with_items(bench, reach.windows), run_id=run_id, batch_id=None).totals
    _end(bench, unfinished.about(unfinished.FORGET, tenant_id, memory_id))
    done = Forgot(
        memory_id=memory_id, events=len(reach.identities), memories_gone=totals.get("deleted", 0)
    )
    if erase:
        _erase(bench, reach, done, run_id=run_id)
    return done


def finish_forgets(bench: Bench) -> None:
    """Let what was forgotten leave the index, if whoever forgot it was stopped before it did.

    Call it before memories are shown: it costs one look into the ledger.

    Raises:
        BusyError: a run keeps writing memories; nothing may be shown before it is done.
    """
    with bench.ledger.read() as tx:
        begun = unfinished.begun(tx, unfinished.FORGET)
        touched = windows.by_ids(tx, results.windows_touched(tx)) if begun else []
    if not begun:
        return
    run_id = f"forget-{uuid.uuid4().hex}"
    try:
        remember(bench, _with_items(bench, touched), run_id=run_id, batch_id=None)
    except BusyError as error:  # it names a scope, perhaps of another tenant
        raise BusyError(
            "something was forgotten that has not left the memories yet, since a run keeps writing"
            " them; nothing is shown until it has: ask again in a moment", resource=error.resource,
        ) from None  # fmt: skip
    for what in begun:
        _end(bench, what)


def _lay_tombstones(bench: Bench, reach: Reach, *, reason: str, erase: bool) -> None:
    """Tombstones, groups to be resolved, and a note that this is to be finished: all or none."""
    tenant_id, memory_id = reach.tenant_id, reach.memory_id
    with bench.ledger.write() as tx:
        for text in sorted(reach.texts):
            tombstones.forget(
                tx, tenant_id=tenant_id, memory_id=memory_id, content_hash=text,
                identities=reach.identities, reason=reason, erase=erase, now=bench.ledger.now(),
            )  # fmt: skip
        results.touch(tx, [window.window_id for window in reach.windows])
        unfinished.begin(tx, unfinished.about(unfinished.FORGET, tenant_id, memory_id))
        if erase:
            unfinished.begin(tx, unfinished.about(unfinished.ERASE, tenant_id, memory_id))
            unfinished.begin(tx, unfinished.REMASK)


def _end(bench: Bench, what: str) -> None:
    with bench.ledger.write() as tx:
        unfinished.end(tx, what)


def _with_items(bench: Bench, chosen: Collection[Window]) -> list[Window]:
    """Those that have items; of the others nothing can be in the index."""
    with bench.ledger.read() as tx:
        done = results.current(tx, [one.window_id for one in chosen], Stage.MERGED_REPORT)
    return [window for window in chosen if window.window_id in done]


def _erase(bench: Bench, reach: Reach, done: Forgot, *, run_id: str) -> None:
    with alone(bench, run_id):
        for window in reach.windows:
            done.files_rewritten += _erase_from(bench, window, reach, run_id=run_id)
        remember(bench, _with_items(bench, reach.windows), run_id=run_id, batch_id=None)
        with bench.ledger.write() as tx:
            jobs = model_jobs.leave_out(
                tx, reach.tenant_id, [window.window_id for window in reach.windows]
            )
        done.answers_removed = _remove_answers(bench, reach.tenant_id)
        done.files_removed = remove_unnamed_files(bench)
        remove_old_rows(bench, run_id=run_id, is_last=True)
    _end(bench, unfinished.about(unfinished.ERASE, reach.tenant_id, reach.memory_id))
    done.erased = True
    elsewhere = [f"file {job.file_id} of batch {job.remote_id} at {job.endpoint}" for job in jobs]
    if bench.settings.preview_text:
        elsewhere.append(str(bench.settings.dagster_home))
    done.not_erased = (*trails_of(bench, reach), *elsewhere)


def _erase_from(bench: Bench, window: Window, reach: Reach, *, run_id: str) -> int:
    if not lease_window(bench, window, run_id=run_id):
        raise BusyError(
            f"a run works on {window.partition_key}; the memory is forgotten, run"
            " `forget --erase` again to erase it", resource="lease",
        )  # fmt: skip
    erasure = plan_erasure(bench, window, identities=reach.identities, texts=reach.texts)
    rewritten = erase_from_window(bench, window, erasure, run_id=run_id)
    with bench.ledger.write() as tx:
        leases.release(tx, [leases.window_lease(window.window_id)], run_id=run_id)
    return rewritten


def _remove_answers(bench: Bench, tenant_id: str) -> int:
    """Every cached answer of the tenant: which of them repeat an event, nobody knows."""
    stored = bench.stored_responses(tenant_id)
    names = list(stored.names())
    for name in names:
        stored.remove(name)
    return len(names)
