"""Upkeep: what may be forgotten without losing anything, and keeping the index fast."""

import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memclaw_etl.lake.ledger import Holder, Window, WindowState, results, windows
from memclaw_etl.settings import Limits
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.heartbeat import heartbeat
from memclaw_etl.stages.remember import only_writer

ORPHAN_AGE_S = 24 * 3600.0
"""A stage file that the ledger does not name is left alone for this long: its run may be alive."""


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
    dropped = 0
    for file in Path(bench.files.root).glob("*/*/*"):
        old = clock() - file.stat().st_mtime > ORPHAN_AGE_S
        if old and str(file.relative_to(bench.files.root)) not in named:
            file.unlink(missing_ok=True)
            dropped += 1
    return dropped


def optimize_index(bench: Bench) -> None:
    """Compact the memory index and bring its indexes up to date.

    Raises:
        BusyError: other writers won every try, or the index is being rewritten; the next upkeep
            does it.
    """
    run_id = f"upkeep-{uuid.uuid4().hex}"
    with heartbeat(bench, Holder.here(run_id)), only_writer(bench, ["upkeep"], run_id=run_id):
        bench.index.optimize()
