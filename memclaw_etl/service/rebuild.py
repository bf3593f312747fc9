"""Making the memory index anew from ledger and stage files."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from memclaw_etl.lake.ledger import results, statements
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.memories.rows import rows_of
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.govern_again import govern_again, tenants_of
from memclaw_etl.stages.relate import relate_anew
from memclaw_etl.stages.remember import (
    born,
    live_items,
    remember_waiting,
    rulings,
)
from memclaw_etl.stages.writers import whole_index

GROUPS_AT_ONCE = 2_000
OnGroups = Callable[[int, int], None]


def rebuild(bench: Bench, *, on_groups: OnGroups | None = None) -> int:
    """Make the index anew and put it in the place of the old one; how many memories it holds.

    Relations between statements are found anew, too, and today's policies hold. The old index
    answers until the new one is there, in one commit: whoever stops this leaves the old one, whole.
    Holds the index meanwhile, so that running windows wait; what they say is resolved when they go
    on.

    Raises:
        BusyError: a run kept writing memories.
    """
    run_id = f"rebuild-{uuid.uuid4().hex}"
    with whole_index(bench, run_id=run_id):
        for tenant_id in tenants_of(bench):
            govern_again(bench, tenant_id, run_id=run_id)
        with bench.ledger.read() as tx:
            groups = results.all_groups(tx)
        for some in _slices(groups):
            relate_anew(bench, some, items_of=partial(live_items, bench))
        with bench.ledger.write() as tx:
            statements.drop_all_dead(tx)
        MemoryIndex.remake(
            bench.index_uri,
            _rows(bench, groups, on_groups),
            dimension=bench.embedder.dimension,
            model_id=bench.embedder.model_id,
            ledger_id=bench.ledger.ledger_id,
        )
        index = bench.open_index()
        index.optimize()
    remember_waiting(bench, run_id=run_id)  # it is all there: this notes in the ledger that it is
    return index.count()


def _rows(bench: Bench, groups: Sequence[str], on_groups: OnGroups | None) -> Iterator[pa.Table]:
    """The rows of every memory, some components at a time."""
    ruled = rulings(bench)
    done: set[str] = set()
    for some in _slices(groups):
        with bench.ledger.read() as tx:
            component = statements.component(tx, some - done)
        memories = resolve(live_items(bench, component), ruled)
        yield rows_of(memories, bench.embedder, created_at=born(bench, memories))
        done |= component
        if on_groups is not None:
            on_groups(min(len(done), len(groups)), len(groups))


def _slices(groups: Sequence[str]) -> Iterator[set[str]]:
    for start in range(0, len(groups), GROUPS_AT_ONCE):
        yield set(groups[start : start + GROUPS_AT_ONCE])
