"""Making the memory index anew from ledger and stage files."""

import uuid
from collections.abc import Callable

from memclaw_etl.lake.ledger import results
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.resolve import resolve
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.remember import live_items, whole_index

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
        with bench.ledger.read() as tx:
            groups = results.all_groups(tx)
        MemoryIndex.drop(bench.index_uri)
        index = bench.open_index()
        for start in range(0, len(groups), GROUPS_A_COMMIT):
            some = set(groups[start : start + GROUPS_A_COMMIT])
            publish(index, bench.embedder, resolve(live_items(bench, some)), groups=some)
            if on_groups is not None:
                on_groups(min(start + GROUPS_A_COMMIT, len(groups)), len(groups))
        return index.count()
