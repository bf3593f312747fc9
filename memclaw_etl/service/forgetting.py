"""`forget`: a memory goes, and what it rests on never makes another one.

A tombstone lies over the text and over the identities of all events of the united evidence: no
other wording, window, fork, re-run or prompt version brings it back. It reaches other memories that
rest on one of these events, too, since they may say the same in other words.

`erase` also takes the text out of every store: stage files, response cache, old versions of the
index, freed pages of the ledger. It can be stopped anywhere and run again. It cannot reach the
trails themselves, nor backups.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from memclaw_etl.errors import BusyError, UsageError
from memclaw_etl.lake.ledger import (
    Stage,
    Window,
    leases,
    nodes,
    pins,
    results,
    tombstones,
    unfinished,
    windows,
)
from memclaw_etl.memories.catalogue import memory_by_id
from memclaw_etl.memories.items import Item, text_hash
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service.remask import alone, lease_window, remove_old_rows, remove_unnamed_files
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.erase import erase_from_window
from memclaw_etl.stages.merge import read_items
from memclaw_etl.stages.remember import remember
from memclaw_etl.stages.surroundings import with_surroundings


@dataclass(slots=True)
class Forgot:
    """What was done. No text."""

    memory_id: str
    events: int
    """So many events lie under the tombstone."""
    memories_gone: int
    """Rows that left the index: the memory, and others that rest on the same events."""
    erased: bool = False
    files_rewritten: int = 0
    answers_removed: int = 0
    files_removed: int = 0
    not_erased: tuple[str, ...] = ()
    """Trails that still hold the text: nobody but their owner writes to them."""


def forget(
    bench: Bench, memory_id: str, *, tenant_id: str, reason: str, erase: bool = False
) -> Forgot:
    """Forget a memory for good. One that is forgotten already can be erased later.

    Raises:
        UsageError: the tenant has no such memory and never forgot one.
        BusyError: a run works on a window that must be rewritten, or keeps writing memories. What
            was to be forgotten is; run it again to erase.
    """
    run_id = f"forget-{uuid.uuid4().hex}"
    memory = memory_by_id(bench.index, memory_id, tenant_id=tenant_id)
    with bench.ledger.read() as tx:
        identities, texts = tombstones.events_of(tx, tenant_id, memory_id)
    if memory is None and not texts:
        raise UsageError(f"there is no memory {memory_id}; `memclaw-etl memories` lists them")
    if memory is not None:
        items = _items_of(bench, memory)
        identities |= {identity for item in items for identity in item.identities}
        texts |= {text_hash(item.content) for item in items}
    identities |= _events_that_say(bench, tenant_id, texts)
    with bench.ledger.write() as tx:
        for one in sorted(texts):
            tombstones.forget(
                tx, tenant_id=tenant_id, memory_id=memory_id, content_hash=one,
                identities=identities, reason=reason, erase=erase, now=bench.ledger.now(),
            )  # fmt: skip
        ids = set(pins.windows_of_events(tx, tenant_id, identities))
        if memory is not None:
            ids |= {window.window_id for window in windows.by_keys(tx, memory.window_keys)}
        holding = windows.by_ids(tx, sorted(ids))
        results.touch(tx, [window.window_id for window in holding])
    before = bench.index.count(tenant_id=tenant_id)
    remember(bench, _remembered(bench, holding), run_id=run_id, batch_id=None)
    gone = before - bench.index.count(tenant_id=tenant_id)
    done = Forgot(memory_id=memory_id, events=len(identities), memories_gone=gone)
    if erase:
        _erase(bench, holding, done, identities=identities, texts=texts, run_id=run_id)
    return done


def _items_of(bench: Bench, memory: Memory) -> list[Item]:
    """The items of a memory, with the identities of their events."""
    found: list[Item] = []
    with bench.ledger.read() as tx:
        ids = [window.window_id for window in windows.by_keys(tx, memory.window_keys)]
        files = results.current(tx, ids, Stage.MERGED_REPORT)
        chunks = results.current(tx, ids, Stage.MASKED_CHUNKS)
    for window_id, file in files.items():
        mine = [item for item in read_items(bench, file) if item.item_id in memory.item_ids]
        found += with_surroundings(mine, bench.files.read(chunks[window_id].path))
    return found


def _events_that_say(bench: Bench, tenant_id: str, texts: Collection[str]) -> set[str]:
    """Identities of the events behind every live item of the tenant with one of these texts.

    Reads all item files of the tenant: the ledger knows no texts, and to forget is rare.
    """
    with bench.ledger.read() as tx:
        known = [one.window_id for one in windows.all_windows(tx) if one.tenant_id == tenant_id]
        files = results.current(tx, known, Stage.MERGED_REPORT)
        chunks = results.current(tx, known, Stage.MASKED_CHUNKS)
    found: set[str] = set()
    for window_id, file in files.items():
        same = [item for item in read_items(bench, file) if text_hash(item.content) in texts]
        if same and window_id in chunks:
            events = bench.files.read(chunks[window_id].path)
            found |= {one for item in with_surroundings(same, events) for one in item.identities}
    return found


def _remembered(bench: Bench, chosen: Collection[Window]) -> list[Window]:
    """Those whose items are in the index; the others will be resolved when their turn comes."""
    with bench.ledger.read() as tx:
        done = results.current(tx, [one.window_id for one in chosen], Stage.MEMORIES)
    return [window for window in chosen if window.window_id in done]


def _erase(
    bench: Bench,
    holding: Collection[Window],
    done: Forgot,
    *,
    identities: Collection[str],
    texts: Collection[str],
    run_id: str,
) -> None:
    with alone(bench, run_id):
        with bench.ledger.write() as tx:
            unfinished.begin(tx, unfinished.REMASK)
        for window in holding:
            if not lease_window(bench, window, run_id=run_id):
                raise BusyError(
                    f"a run works on {window.partition_key}; the memory is forgotten, run"
                    " `forget --erase` again to erase it", resource="lease",
                )  # fmt: skip
            done.files_rewritten += erase_from_window(
                bench, window, identities=identities, texts=texts, run_id=run_id
            )
            with bench.ledger.write() as tx:
                leases.release(tx, [leases.window_lease(window.window_id)], run_id=run_id)
        remember(bench, _remembered(bench, holding), run_id=run_id, batch_id=None)
        tenant_id = next((window.tenant_id for window in holding), "")
        done.answers_removed = _remove_answers(bench, tenant_id)
        done.files_removed = remove_unnamed_files(bench)
        remove_old_rows(bench, run_id=run_id, is_last=True)
    done.erased = True
    done.not_erased = tuple(sorted(_trails_of(bench, holding)))


def _remove_answers(bench: Bench, tenant_id: str) -> int:
    """Every cached answer of the tenant: which of them repeat an event, nobody knows."""
    stored = bench.stored_responses(tenant_id)
    names = list(stored.names())
    for name in names:
        stored.remove(name)
    return len(names)


def _trails_of(bench: Bench, chosen: Collection[Window]) -> set[str]:
    with bench.ledger.read() as tx:
        known = [nodes.get(tx, window.tenant_id, window.node_id) for window in chosen]
    return {node.path for node in known if node is not None}
