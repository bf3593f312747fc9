"""Upkeep: what may be forgotten without losing anything, policies, and keeping the index fast."""

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from memclaw_etl.lake.ledger import Holder, Window, WindowState, governance, results, windows
from memclaw_etl.memories.retention import moved_cutoffs
from memclaw_etl.settings import Limits
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.govern_again import govern_again, tenants_of
from memclaw_etl.stages.heartbeat import heartbeat
from memclaw_etl.stages.index_upkeep import UPKEEP
from memclaw_etl.stages.remember import remember_waiting
from memclaw_etl.stages.writers import only_writer

ORPHAN_AGE_S = 24 * 3600.0
"""A stage file that the ledger does not name is left alone for this long: its run may be alive. So
is a half-written file: no writer takes as long."""
HALF_WRITTEN = ("index/**/.tmp*", "responses/*/*/.*", "vectors/*/*/.*")
"""Names in the lake under which files are written before they get their own: LanceDB's and ours."""


def forgettable_keys(bench: Bench, keys: Sequence[str]) -> list[str]:
    """Partition keys that the UI can do without; the ledger keeps every window.

    Args:
        bench: the stores.
        keys: the keys that Dagster holds, oldest first.
    """
    with bench.ledger.read() as tx:
        known = {window.partition_key: window for window in windows.by_keys(tx, keys)}
    return choose_forgettable(keys, known, bench.settings.limits, now=bench.ledger.now())


def choose_forgettable(
    keys: Sequence[str], known: dict[str, Window], limits: Limits, *, now: datetime
) -> list[str]:
    """Decide which keys go (pure): unknown ones, old committed ones, and the oldest over the cap.

    Keys of windows that are owed, running or waiting for a person always stay.
    """
    oldest = now - timedelta(days=limits.partition_key_days)
    gone = [key for key in keys if key not in known or _done_before(known[key], oldest)]
    left = [key for key in keys if key not in set(gone)]
    done = [key for key in left if known[key].state is WindowState.COMMITTED]
    return gone + done[: max(len(left) - limits.partition_keys, 0)]


def _done_before(window: Window, oldest: datetime) -> bool:
    done = window.state is WindowState.COMMITTED and window.committed_at is not None
    return done and window.committed_at is not None and window.committed_at < oldest


def drop_orphan_files(bench: Bench, *, clock: Callable[[], float] = time.time) -> int:
    """Remove stage files that the ledger does not name and that are old; returns how many.

    They come from attempts that were killed between writing a file and pointing to it, and from
    results that were replaced.
    """
    with bench.ledger.read() as tx:
        named = results.all_paths(tx)
    root = Path(bench.files.root)
    nameless = [file for file in root.glob("*/*/*") if str(file.relative_to(root)) not in named]
    return _drop_old(nameless, now_s=clock())


def drop_half_written(bench: Bench, *, clock: Callable[[], float] = time.time) -> int:
    """Remove old files that killed writers left unfinished in the lake; returns how many.

    Nothing reads them, and masked text stands in some.
    """
    lake = bench.settings.lake_root
    found = [file for pattern in HALF_WRITTEN for file in lake.glob(pattern)]
    return _drop_old(found, now_s=clock())


def _drop_old(files: Sequence[Path], *, now_s: float) -> int:
    """Remove those that nobody has written to for `ORPHAN_AGE_S`; another upkeep may be faster."""
    dropped = 0
    for file in files:
        with suppress(FileNotFoundError):
            if now_s - file.stat().st_mtime > ORPHAN_AGE_S:
                file.unlink()
                dropped += 1
    return dropped


@dataclass(frozen=True, slots=True)
class Kept:
    """What policies and retention changed."""

    windows_governed: int
    """Their live items were chosen by other policies than today's."""
    cutoffs_moved: int
    memories_changed: int


def keep_policies(bench: Bench) -> Kept:
    """Bring memories in line with today's policies, and let expire what is old enough.

    No model is asked. Nothing to do costs a few queries. Stopped anywhere, the next call goes on:
    the ledger knows which windows still wait.

    Raises:
        BusyError: a run kept writing memories; the next call does it.
    """
    run_id = f"policies-{uuid.uuid4().hex}"
    with heartbeat(bench, Holder.here(run_id)):
        governed = sum(govern_again(bench, one, run_id=run_id) for one in tenants_of(bench))
        moved = _move_cutoffs(bench)
        changed = remember_waiting(bench, run_id=run_id)
    return Kept(windows_governed=governed, cutoffs_moved=moved, memories_changed=changed)


def _move_cutoffs(bench: Bench) -> int:
    """Store how far retention reaches now, and touch what lies between; how many cutoffs moved."""
    tenants = {one.tenant_id for one in bench.settings.tenants}
    rules = {one: bench.settings.retention_of(one) for one in sorted(tenants)}
    if not any(rules.values()):
        return 0
    with bench.ledger.write() as tx:
        stored = governance.cutoffs(tx)
        moved = moved_cutoffs(stored, rules, now=bench.ledger.now())
        governance.move_cutoffs(tx, moved)
        for (tenant_id, memory_type), cutoff in moved.items():
            before = stored.get((tenant_id, memory_type))
            ids = governance.windows_between(tx, tenant_id, after=before, before=cutoff)
            results.touch(tx, ids)
    return len(moved)


def optimize_index(bench: Bench) -> None:
    """Compact the memory index and bring its indexes up to date.

    Raises:
        BusyError: other writers won every try, or the index is being rewritten; the next upkeep
            does it.
    """
    run_id = f"upkeep-{uuid.uuid4().hex}"
    with heartbeat(bench, Holder.here(run_id)), only_writer(bench, [UPKEEP], run_id=run_id):
        bench.index.optimize()
