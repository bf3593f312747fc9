"""What was forgotten is in no index, what was erased in no store, and what was begun was ended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from memclaw_etl.lake.ledger import Stage, Window, leases, pins, results, tombstones, unfinished
from memclaw_etl.memories.items import text_hash
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service.checks import Finding
from memclaw_etl.service.remask import LEASE
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.left_out import LeftOut, left_out
from memclaw_etl.stages.texts import TEXT_COLUMNS


def given_up(
    bench: Bench, known: Sequence[Window], readable: Sequence[Window]
) -> Iterator[Finding]:
    """Everything but the index: see `stored_though_erased`, `cut_short`, `events_without_owner`."""
    yield from stored_though_erased(bench, readable)
    yield from cut_short(bench)
    yield from events_without_owner(bench, known)


def recalled_though_forgotten(bench: Bench, stored: Sequence[Memory]) -> Iterator[Finding]:
    """Memories of the index that say what lies under a tombstone, or rest on it."""
    with bench.ledger.read() as tx:
        texts = tombstones.forgotten(tx).texts
        places = tombstones.places(tx)
    for memory in stored:
        if (memory.tenant_id, text_hash(memory.content)) in texts:
            yield Finding("stays_forgotten", memory.memory_id, "its text was forgotten")
        elif any((memory.tenant_id, *place) in places for place in memory.evidence):
            yield Finding("stays_forgotten", memory.memory_id, "it rests on a forgotten event")


def stored_though_erased(bench: Bench, readable: Sequence[Window]) -> Iterator[Finding]:
    """Rows of stage files, and cached answers, that hold what was erased.

    Args:
        bench: the stores.
        readable: every window whose files can be read.
    """
    with bench.ledger.read() as tx:
        tenants = sorted({window.tenant_id for window in readable})
        erased = {tenant: left_out(tx, tenant) for tenant in tenants}
        ids = [one.window_id for one in readable if erased[one.tenant_id].identities]
        files = {stage: results.current(tx, ids, stage) for stage in TEXT_COLUMNS}
        owned = {one: pins.owned_events(tx, one) for one in ids}
    for window in readable:
        gone = erased[window.tenant_id]
        for stage, current in files.items():
            if (file := current.get(window.window_id)) is not None:
                rows = bench.files.read(file.path).iter_rows(named=True)
                held = sum(_holds(row, stage, gone, owned[window.window_id]) for row in rows)
                if held:
                    message = f"{held} rows of {stage} hold what was erased (file {file.path})"
                    yield Finding("stays_erased", window.partition_key, message)
    for tenant, gone in erased.items():
        yield from _answers_that_hold(bench, tenant, gone)


def _holds(
    row: Mapping[str, Any], stage: Stage, gone: LeftOut, owned: Mapping[tuple[int, int], str]
) -> bool:
    refs = row.get("evidence", [row])
    events = [owned[ref] for one in refs if (ref := (one["seq"], one["part"])) in owned]
    return gone.rests_on(events) or gone.says(*(row[name] for name in TEXT_COLUMNS[stage]))


def _answers_that_hold(bench: Bench, tenant_id: str, gone: LeftOut) -> Iterator[Finding]:
    if not gone.texts:
        return
    stored = bench.stored_responses(tenant_id)
    for name in stored.names():
        if any(gone.says(text) for text in _texts_in(stored.read(name) or b"")):
            yield Finding("stays_erased", f"response cache {name}", "it holds what was erased")


def _texts_in(value: object) -> Iterator[str]:
    """Every text of an answer, JSON inside of texts too."""
    if isinstance(value, bytes | str):
        try:
            document = orjson.loads(value)
        except orjson.JSONDecodeError:
            yield value if isinstance(value, str) else value.decode("utf-8", "replace")
        else:
            if isinstance(document, dict | list):
                yield from _texts_in(document)
            elif isinstance(value, str):
                yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


def cut_short(bench: Bench) -> Iterator[Finding]:
    """Changes that were begun and not ended, and that nobody works on."""
    with bench.ledger.write() as tx:
        leases.drop_dead(tx, now=bench.ledger.now())
        forgets = unfinished.begun(tx, unfinished.FORGET)
        erases = unfinished.begun(tx, unfinished.ERASE)
        is_begun = unfinished.is_begun(tx, unfinished.REMASK)
        is_busy = leases.is_held(tx, LEASE)
        known = {
            unfinished.about(unfinished.ERASE, *one): one[1] for one in tombstones.memory_ids(tx)
        }
    if forgets:
        message = f"{len(forgets)} were cut short; the next recall or `forget` ends them"
        yield Finding("changes_ended", "forget", message)
    if is_busy:
        return
    for what in erases:
        message = "its erasure was cut short; run `memclaw-etl forget --erase` for it again"
        yield Finding("changes_ended", known.get(what, "forget --erase"), message)
    if is_begun and not erases:
        message = "it was cut short: old texts may still be stored; run `memclaw-etl remask` again"
        yield Finding("changes_ended", "remask", message)


def events_without_owner(bench: Bench, known: Sequence[Window]) -> Iterator[Finding]:
    """Events of committed windows that no window owns: nobody interviews them."""
    keys = {window.window_id: window.partition_key for window in known}
    with bench.ledger.read() as tx:
        found = pins.events_without_owner(tx)
    for window_id, count in found.items():
        message = (
            f"holds {count} events that belonged to a window which was given up while a run worked"
            " on this one; `memclaw-etl backfill` interviews it again, with them"
        )
        yield Finding("events_owned", keys.get(window_id, window_id), message)
