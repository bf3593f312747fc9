"""Who may write to the memory index: one writer per scope, or one of the whole, by leases."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memclaw_etl.errors import BusyError
from memclaw_etl.lake.ledger import Holder, leases
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.heartbeat import heartbeat

INDEX_LEASE = "index"
"""Held by who rewrites the whole index; nobody writes to any scope then."""
SCOPE_LEASE = "scope:"
SCOPE_WAIT_S = 120.0
_POLL_S = 0.2


@contextmanager
def only_writer(bench: Bench, scopes: Sequence[str], *, run_id: str) -> Iterator[None]:
    """Hold the lease of every scope; all or none, so that two runs cannot block each other.

    It is renewed until the block ends: an embedding model may take longer than a lease lasts.

    Raises:
        BusyError: another run kept writing to one of them, or to the whole index.
    """
    names = [f"{SCOPE_LEASE}{scope}" for scope in scopes]
    holder = Holder.here(run_id)
    deadline = time.monotonic() + SCOPE_WAIT_S
    while not _try_hold(bench, names, holder):
        if time.monotonic() > deadline:
            raise BusyError(
                f"another run keeps writing memories of {scopes[0]!r}", resource="scope"
            )
        time.sleep(_POLL_S)
    try:
        with heartbeat(bench, holder):
            yield
    finally:
        with bench.ledger.write() as tx:
            leases.release(tx, names, run_id=run_id)


@contextmanager
def whole_index(bench: Bench, *, run_id: str) -> Iterator[None]:
    """Hold the index as a whole: writers of any scope wait, and those that were first are awaited.

    Raises:
        BusyError: another run kept writing for `SCOPE_WAIT_S`, or rewrites the index, too.
    """
    holder = Holder.here(run_id)
    deadline = time.monotonic() + SCOPE_WAIT_S
    try:
        with heartbeat(bench, holder):
            while not _try_hold_index(bench, holder):
                if time.monotonic() > deadline:
                    raise BusyError("another run keeps writing memories", resource="scope")
                time.sleep(_POLL_S)
            yield
    finally:
        with bench.ledger.write() as tx:
            leases.release(tx, [INDEX_LEASE], run_id=run_id)


def _try_hold_index(bench: Bench, holder: Holder) -> bool:
    """Take the index, so that no new writer begins; True when there is no old one either."""
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        lease_s = bench.settings.limits.lease_s
        mine = leases.acquire(tx, [INDEX_LEASE], holder=holder, now=now, lease_s=lease_s)
        return bool(mine) and not leases.others_hold(tx, SCOPE_LEASE, run_id=holder.run_id)


def _try_hold(bench: Bench, names: Sequence[str], holder: Holder) -> bool:
    """Take all of the leases or none."""
    if not names:
        return True
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        if leases.others_hold(tx, INDEX_LEASE, run_id=holder.run_id):
            return False
        lease_s = bench.settings.limits.lease_s
        got = leases.acquire(tx, names, holder=holder, now=now, lease_s=lease_s)
        if len(got) == len(set(names)):
            return True
        leases.release(tx, sorted(got), run_id=holder.run_id)
        return False
