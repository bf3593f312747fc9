"""A process of its own that pins, or works, against a ledger. Started by test_ledger_processes."""

import random
import sys
import time

from sqlalchemy import select

from memclaw_etl.errors import LeaseLostError
from memclaw_etl.lake.ledger import (
    Holder,
    Ledger,
    WindowState,
    batches,
    commit,
    nodes,
    open_ledger,
    windows,
)
from memclaw_etl.lake.ledger import leases as lease_table
from memclaw_etl.lake.ledger.schema import windows as table
from tests.ledger_rows import ask, try_pin

WINDOWS_A_NODE = 12


def pin_until_full(ledger: Ledger, node_ids: list[str], seed: int) -> None:
    """Pin whatever is next on any node, until each has its windows. Forks share events."""
    chance = random.Random(seed)
    left = set(node_ids)
    while left:
        node_id = chance.choice(sorted(left))
        with ledger.read() as tx:
            node = nodes.get(tx, "default", node_id)
        assert node is not None
        lines = chance.randint(1, 9)
        if node.frontier_seq >= WINDOWS_A_NODE * 5:
            left.discard(node_id)
            continue
        shared = [f"uuid:{number}" for number in range(node.frontier_seq, node.frontier_seq + 9)]
        chance.shuffle(shared)
        try_pin(ledger, node, shared, lines=lines)


def work_until_done(ledger: Ledger, name: str, seed: int) -> None:
    """Ask, take and commit until nothing is owed; says which windows this process committed."""
    chance = random.Random(seed)
    for number in range(10_000):
        with ledger.write() as tx:
            lease_table.drop_dead(tx, now=ledger.now())
            due = windows.owed(tx, now=ledger.now(), limit=8)
            pinned = select(table.c.window_id).where(table.c.state == WindowState.PINNED)
            if tx.execute(pinned).first() is None:
                return
        if not due:
            time.sleep(0.01)
            continue
        chance.shuffle(due)
        run = f"{name}-{number}"
        batch = ask(ledger, due, deadline_s=5)
        with ledger.write() as tx:
            taken = batches.take(
                tx, batch_id=batch, holder=Holder.here(run), now=ledger.now(), lease_s=30,
                by_person=False,
            )  # fmt: skip
        time.sleep(chance.random() * 0.01)
        try:
            with ledger.write() as tx:
                done = commit.commit(tx, taken, run_id=run, now=ledger.now())
        except LeaseLostError:
            continue
        for window_id in done:
            print(window_id, flush=True)


if __name__ == "__main__":
    what, url, seed = sys.argv[1:4]
    opened = open_ledger(url)
    if what == "pin":
        pin_until_full(opened, sys.argv[4:], int(seed))
    else:
        work_until_done(opened, f"p{seed}", int(seed))
    opened.engine.dispose()
