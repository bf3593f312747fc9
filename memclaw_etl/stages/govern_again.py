"""When a tenant's policies change, what is stored follows: no model is asked, no trail is read."""

from memclaw_etl.errors import InvariantError
from memclaw_etl.lake.ledger import (
    Holder,
    Stage,
    StageFile,
    Window,
    governance,
    leases,
    nodes,
    results,
    windows,
)
from memclaw_etl.memories.govern import fingerprint
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.governing import choose_items, keep_items
from memclaw_etl.stages.merge import read_items


def govern_again(bench: Bench, tenant_id: str, *, run_id: str) -> int:
    """Choose the live items anew where other policies chose them; how many windows changed.

    Their groups are touched: whoever resolves them next brings the index in line. A window that
    another run works on is left to that run, or to the next call; one whose file is damaged waits
    until that is repaired, and no other window waits for it (`audit` names both). Safe to stop and
    to repeat.
    """
    due = governed_otherwise(bench, tenant_id)
    return sum(_again(bench, window, run_id=run_id) for window in due)


def tenants_of(bench: Bench) -> list[str]:
    """Every tenant that the ledger knows a node of."""
    with bench.ledger.read() as tx:
        return sorted({node.tenant_id for node in nodes.all_nodes(tx)})


def governed_otherwise(bench: Bench, tenant_id: str) -> list[Window]:
    """Windows of a tenant whose live items were chosen by other policies than today's."""
    wanted = fingerprint(bench.settings.policies_of(tenant_id))
    with bench.ledger.read() as tx:
        ids = governance.governed_otherwise(tx, tenant_id, policies=wanted)
        return windows.by_ids(tx, ids)


def _again(bench: Bench, window: Window, *, run_id: str) -> bool:
    name, holder = leases.window_lease(window.window_id), Holder.here(run_id)
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        was_mine = bool(leases.held(tx, [name], run_id=run_id))
        lease_s = bench.settings.limits.lease_s
        if not leases.acquire(tx, [name], holder=holder, now=now, lease_s=lease_s):
            return False
        file = results.current(tx, [window.window_id], Stage.MERGED_REPORT)[window.window_id]
    try:
        return _choose_again(bench, window, file)
    finally:
        if not was_mine:
            with bench.ledger.write() as tx:
                leases.release(tx, [name], run_id=run_id)


def _choose_again(bench: Bench, window: Window, file: StageFile) -> bool:
    """Whether the window's items could be read, and stand under today's policies now."""
    try:
        items = read_items(bench, file)
    except InvariantError:  # it is damaged
        return False
    chosen = choose_items(bench, window, items)
    with bench.ledger.write() as tx:
        keep_items(tx, window, chosen)
    return True
