"""What to do next: owed windows first, then new lines. Used by the sensor and by `run`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import Holder, Window, WindowState, batches, leases, windows
from memclaw_etl.service.home import this_machine
from memclaw_etl.settings import SourceSettings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.windows.scan import Budget, Scan, no_progress, scan


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows that were asked for as one run, in the order of their partitions."""

    batch_id: str
    partition_keys: tuple[str, ...]
    run_id: str | None = None
    """The run that holds their leases already; None: whichever run starts for the batch."""


def _say_nothing(batch: Batch) -> None:
    del batch


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks by which a long run shows what it does."""

    on_trail: Callable[[int, int], None] = no_progress
    on_batch: Callable[[Batch], None] = _say_nothing


def owed(bench: Bench, *, limit: int, interviewer: str | None = None) -> list[Window]:
    """What is owed now, oldest first. Leases of dead processes are freed before.

    On a ledger that machines share, only what this one can do: it has no trails of the others.
    """
    needs = bench.needs(interviewer or bench.settings.interviewer)
    machine = this_machine(bench.settings) if bench.ledger.is_shared else None
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        return windows.owed(tx, now=now, limit=limit, needs=needs, machine12=machine)


def room_ahead(bench: Bench) -> int:
    """How many more batches may be asked for ahead of the running ones."""
    with bench.ledger.read() as tx:
        waiting = batches.waiting(tx, now=bench.ledger.now())
    return max(bench.settings.limits.batches_ahead - waiting, 0)


def split(
    due: Sequence[Window], place: Mapping[str, int], *, size: int
) -> list[tuple[Window, ...]]:
    """Split owed windows into runs over contiguous partitions (pure).

    A window that failed before runs alone, so that it cannot take others with it.

    Args:
        due: owed windows, all of them in `place`.
        place: partition key -> its place in Dagster's insertion order.
        size: how many windows one run may have.
    """
    runs: list[list[Window]] = []
    before: Window | None = None
    for window in sorted(due, key=lambda one: place[one.partition_key]):
        joins = (
            before is not None
            and not before.attempts
            and not window.attempts
            and len(runs[-1]) < size
            and place[window.partition_key] == place[before.partition_key] + 1
        )
        if joins:
            runs[-1].append(window)
        else:
            runs.append([window])
        before = window
    return [tuple(run) for run in runs]


def ask(
    bench: Bench,
    due: Sequence[Window],
    *,
    asked_by: str,
    interviewer: str | None = None,
    run_id: str | None = None,
) -> Batch | None:
    """Ask for windows as one batch: until its deadline nobody else asks for them.

    None when another planner asked for one of them meanwhile; nothing was changed then.

    With `run_id`, that run of this process takes their leases in the same transaction: if the
    process dies before the run begins, they are owed at once.
    """
    with bench.ledger.write() as tx:
        if not batches.are_owed(tx, due, now=bench.ledger.now()):
            return None
        return _ask(tx, bench, due, asked_by, interviewer, run_id)


def ask_anew(
    bench: Bench, chosen: Sequence[Window], *, interviewer: str, run_id: str | None = None
) -> Batch | None:
    """Ask for committed windows as one batch, to interview them again.

    None when somebody works on one of them meanwhile; nothing was changed then.
    """
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
        if not batches.are_idle(tx, chosen, now=bench.ledger.now()):
            return None
        return _ask(tx, bench, chosen, batches.BACKFILL, interviewer, run_id)


def _ask(
    tx: Connection,
    bench: Bench,
    wanted: Sequence[Window],
    asked_by: str,
    interviewer: str | None,
    run_id: str | None,
) -> Batch:
    limits, now = bench.settings.limits, bench.ledger.now()
    batch_id = batches.ask(
        tx, wanted, asked_by=asked_by, interviewer=interviewer or bench.settings.interviewer,
        now=now, deadline_s=limits.ask_deadline_s,
    )  # fmt: skip
    if run_id is not None:
        batches.take(
            tx, batch_id=batch_id, holder=Holder.here(run_id), now=now,
            lease_s=limits.lease_s, by_person=False,
        )  # fmt: skip
    return Batch(batch_id, tuple(window.partition_key for window in wanted), run_id)


def windows_of(bench: Bench, batch_ids: Sequence[str]) -> list[Window]:
    """The windows of these batches, each once."""
    with bench.ledger.read() as tx:
        ids = {one for batch_id in batch_ids for one in batches.window_ids_of(tx, batch_id)}
        return windows.by_ids(tx, sorted(ids))


def came_to_nothing(bench: Bench, batch: Batch) -> bool:
    """Whether no window of a batch was done or failed since it was asked for.

    When one of them failed, the others are owed again and run without it: that is progress.
    """
    with bench.ledger.read() as tx:
        worked = windows.by_ids(tx, batches.window_ids_of(tx, batch.batch_id))
        asked_at = batches.asked_at_of(tx, batch.batch_id)
    return all(
        one.state is WindowState.PINNED and (one.failed_at is None or one.failed_at < asked_at)
        for one in worked
    )


def end_run(bench: Bench, run_id: str) -> None:
    """A run of this process came to its end."""
    with bench.ledger.write() as tx:
        leases.release(tx, [leases.run_lease(run_id)], run_id=run_id)


def break_off(bench: Bench, run_id: str) -> None:
    """A run of this process was stopped: what it did not finish is owed at once."""
    with bench.ledger.write() as tx:
        leases.release_all(tx, run_id=run_id)


def look(
    bench: Bench,
    sources: Sequence[SourceSettings] | None = None,
    *,
    flush: bool = False,
    budget: Budget | None = None,
    on_trail: Callable[[int, int], None] = no_progress,
) -> Scan:
    """Look at the sources (default: those of the settings) and pin what is new.

    A relative root in the settings is meant from the home, whatever the process's folder is.
    """
    settings = bench.settings
    chosen = (
        [source_of(one, base=settings.home) for one in settings.sources]
        if sources is None
        else [source_of(one) for one in sources]
    )
    return scan(
        bench.ledger,
        chosen,
        bench.settings.limits,
        machine12=this_machine(bench.settings),
        flush=flush,
        namespaces=settings.namespaces,
        budget=budget,
        on_trail=on_trail,
    )


def tick_budget(bench: Bench) -> Budget:
    """What one tick of the sensor may do."""
    limits = bench.settings.limits
    return Budget(seconds=limits.tick_budget_s, read_bytes=limits.tick_budget_bytes)


def source_of(settings: SourceSettings, *, base: Path | None = None) -> Source:
    """A source as discovery takes it; a relative root is meant from `base`, else from here."""
    root = settings.root.expanduser()
    return Source(
        kind=TrailKind(settings.kind),
        root=root if base is None else base / root,
        include=settings.include,
        tenant_id=settings.tenant_id,
        fleet_id=settings.fleet_id,
        agent_id=settings.agent_id,
    )
