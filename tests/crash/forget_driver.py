"""`forget`, `forget --erase` and `rebuild` in a process that dies at a chosen place.

    python -m tests.crash.forget_driver HOME DO MEMORY_ID POINT NTH

DO: forget, erase or rebuild. POINT: one of `POINTS`; SIGKILL the NTH time that it comes there.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from lancedb.table import LanceTable

from memclaw_etl.lake import memory_table
from memclaw_etl.lake.ledger import (
    leases,
    model_jobs,
    results,
    statements,
    texts,
    tombstones,
    unfinished,
)
from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.lake.stage_files import StageFiles
from memclaw_etl.service import forgetting, rebuild
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from memclaw_etl.stages import remember
from tests.crash.driver import Countdown, after, before

Point = Callable[[Countdown], None]

FORGET: Mapping[str, Point] = {
    "in_tombstones": lambda die: after(tombstones, "forget", die),
    "tombstones": lambda die: after(forgetting, "_lay_tombstones", die),
    "before_index": lambda die: before(remember, "publish", die),
    "after_index": lambda die: after(remember, "publish", die),
    "index_marked": lambda die: after(forgetting, "remember", die),
    "note_ended": lambda die: after(unfinished, "end", die),
}
"""Every place where what is durable changes, in the order of a forget."""

ERASE: Mapping[str, Point] = {
    "leased": lambda die: after(forgetting, "lease_window", die),
    "file": lambda die: after(StageFiles, "write", die),
    "in_pointers": lambda die: after(results, "set_current", die),
    "pointers": lambda die: after(forgetting, "erase_from_window", die),
    "lease_back": lambda die: after(leases, "release", die),
    "jobs": lambda die: after(model_jobs, "leave_out", die),
    "answer": lambda die: after(FileResponseCache, "remove", die),
    "answers": lambda die: after(forgetting, "_remove_answers", die),
    "old_file": lambda die: after(StageFiles, "remove", die),
    "old_files": lambda die: after(forgetting, "remove_unnamed_files", die),
    "before_new_words": lambda die: before(LanceTable, "create_index", die),
    "before_old_versions": lambda die: before(LanceTable, "optimize", die),
    "rewritten": lambda die: after(memory_table, "rewrite", die),
    "before_wipe": lambda die: before(texts, "wipe", die),
    "wiped": lambda die: after(texts, "wipe", die),
    "remask_ended": lambda die: after(forgetting, "remove_old_rows", die),
}
"""The same of an erasure, behind what it has in common with a forget."""

REBUILD: Mapping[str, Point] = {
    "in_relations": lambda die: after(statements, "remove", die),
    "relations": lambda die: after(rebuild, "relate_anew", die),
    "rows": lambda die: after(rebuild, "rows_of", die),
    "before_new_words": lambda die: before(LanceTable, "create_index", die),
    "before_old_versions": lambda die: before(LanceTable, "optimize", die),
    "remade": lambda die: after(memory_table, "remake", die),
}
"""The same of a rebuild."""

POINTS = {**FORGET, **ERASE, **REBUILD}


def main() -> None:
    home, do, memory_id, point, nth = sys.argv[1:]
    bench = open_home(load_settings(Path(home)))
    rebuild.GROUPS_AT_ONCE = 1
    POINTS[point](Countdown(int(nth)))
    if do == "rebuild":
        rebuild.rebuild(bench)
    else:
        forgetting.forget(
            bench, memory_id, tenant_id="default", reason="asked", erase=do == "erase"
        )


if __name__ == "__main__":
    main()
