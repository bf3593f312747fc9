"""Keeping the memory index fast while runs write to it."""

from contextlib import suppress

from memclaw_etl.errors import BusyError
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.writers import only_writer

UPKEEP = "upkeep"
"""Held, as a scope, by who optimizes the index."""


def keep_fast(bench: Bench, *, run_id: str) -> None:
    """Index the rows that wait for it, if it is time; for a run that has just written some.

    Another run may do it instead, or win every try: then they wait for the next one, and are found
    more slowly until then.
    """
    if not bench.index.needs_upkeep:
        return
    with suppress(BusyError), only_writer(bench, [UPKEEP], run_id=run_id):
        if bench.index.needs_upkeep:
            bench.index.optimize()
