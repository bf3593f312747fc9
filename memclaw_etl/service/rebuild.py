"""Making the memory index anew from ledger and stage files."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memclaw_etl.lake.ledger import results, statements
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.relate import relate
from memclaw_etl.stages.remember import live_items, rulings, whole_index

GROUPS_A_COMMIT = 2_000


def rebuild(bench: Bench, *, on_groups: Callable[[int, int], None] | None = None) -> int:
    """Drop the index and make it anew; returns how many memories it holds.

    Nothing is lost when it is stopped: run it again. Holds the whole index meanwhile, so that
    running windows wait.

    Raises:
        BusyError: a run kept writing memories.
    """
    run_id = f"rebuild-{uuid.uuid4().hex}"
    with whole_index(bench, run_id=run_id):
        with bench.ledger.write() as tx:
            statements.clear(tx)
            groups = results.all_groups(tx)
        MemoryIndex.drop(bench.index_uri)
        index = bench.open_index()
        ruled = rulings(bench)
        for some in _slices(groups):
            relate(bench, list(live_items(bench, some)), items_of=partial(live_items, bench))
        done: set[str] = set()
        for some in _slices(groups):
            with bench.ledger.read() as tx:
                component = statements.component(tx, some - done)
            memories = resolve(live_items(bench, component), ruled)
            publish(index, bench.embedder, memories, groups=component)
            done |= component
            if on_groups is not None:
                on_groups(len(done), len(groups))
        return index.count()


def _slices(groups: Sequence[str]) -> Iterator[set[str]]:
    for start in range(0, len(groups), GROUPS_A_COMMIT):
        yield set(groups[start : start + GROUPS_A_COMMIT])
