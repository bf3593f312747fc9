"""What people decide about windows and memories."""

import uuid
from collections.abc import Callable

from sqlalchemy import Connection

from memclaw_etl.errors import UnknownWindowError, UsageError
from memclaw_etl.lake.ledger import (
    Stage,
    Window,
    WindowState,
    batches,
    decisions,
    governance,
    leases,
    results,
    tombstones,
    windows,
)
from memclaw_etl.memories.catalogue import memory_by_id
from memclaw_etl.memories.items import group_key
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rulings import Status
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.governing import governed
from memclaw_etl.stages.merge import read_items
from memclaw_etl.stages.remember import remember
from memclaw_etl.windows import keys


def find_window(bench: Bench, partition_key: str) -> Window:
    """A window by its partition key.

    Raises:
        UnknownWindowError: the text is no key, or the ledger has no such window.
    """
    keys.decode(partition_key)
    with bench.ledger.read() as tx:
        found = windows.by_keys(tx, [partition_key])
    if not found:
        raise UnknownWindowError(
            f"the ledger has no window {partition_key}; `memclaw-etl status` lists the nodes,"
            " `memclaw-etl sql` with the table `windows` lists the windows"
        )
    return found[0]


def skip(bench: Bench, partition_key: str, *, reason: str, actor: str) -> Window:
    """Record a permanent hole that the watermark may cross.

    Raises:
        UsageError: no reason was given, the window is done already, or a run works on it.
    """
    if not reason.strip():
        raise UsageError("say why with --reason: a skipped window is a permanent hole")
    window = find_window(bench, partition_key)
    with bench.ledger.write() as tx:
        decisions.skip(tx, window, reason=reason, actor=actor, now=bench.ledger.now())
    return find_window(bench, partition_key)


def retry(bench: Bench, partition_key: str, *, actor: str) -> Window:
    """Ask for a window again, with fresh attempts; the next tick or `run` takes it.

    Raises:
        UsageError: the window is in a state that needs no retry.
    """
    window = find_window(bench, partition_key)
    with bench.ledger.write() as tx:
        decisions.retry(tx, window, actor=actor, now=bench.ledger.now())
    return find_window(bench, partition_key)


def pause_batch(bench: Bench, batch_id: str, *, actor: str) -> list[str]:
    """A person cancelled a batch's run: its unfinished windows pause until they are asked for."""
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        ids = [
            one
            for one in batches.window_ids_of(tx, batch_id)
            if not leases.is_held(tx, leases.window_lease(one))
        ]
        paused = windows.set_state(
            tx, ids, WindowState.PAUSED, only_from=[WindowState.PINNED], reason="run cancelled"
        )
        for window in windows.by_ids(tx, paused):
            decisions.record(
                tx, window.partition_key, action="pause", tenant_id=window.tenant_id,
                reason="run cancelled", actor=actor, now=now,
            )  # fmt: skip
    return paused


def delete(bench: Bench, memory_id: str, *, tenant_id: str, reason: str, actor: str) -> Memory:
    """Take a memory away, and give it as it is then; `undelete` brings it back.

    The row stays with status `deleted`. It holds for what the memory says now, in all its wordings:
    whoever says that again, in any run or rebuild, adds to a deleted memory.

    Raises:
        UsageError: no reason was given, or the tenant has no such memory that is not deleted.
        BusyError: a run kept writing memories; what was decided is kept, the next run applies it.
    """
    if not reason.strip():
        raise UsageError("say why with --reason: it is recorded with your decision")
    memory = _memory(bench, memory_id, tenant_id=tenant_id)
    if memory.status == Status.DELETED:
        raise UsageError(f"{memory_id} is deleted already")
    return _decided(
        bench, memory, governance.delete_groups, action=governance.DELETE, tenant_id=tenant_id,
        reason=reason, actor=actor,
    )  # fmt: skip


def undelete(bench: Bench, memory_id: str, *, tenant_id: str, reason: str, actor: str) -> Memory:
    """Bring a deleted memory back, and give it as it is then.

    Raises:
        UsageError: the tenant has no such memory, or it is not deleted.
        BusyError: a run kept writing memories; what was decided is kept, the next run applies it.
    """
    memory = _memory(bench, memory_id, tenant_id=tenant_id)
    if memory.status != Status.DELETED:
        raise UsageError(f"{memory_id} is {memory.status} and was not deleted")
    return _decided(
        bench, memory, governance.restore_groups, action=governance.UNDELETE, tenant_id=tenant_id,
        reason=reason, actor=actor,
    )  # fmt: skip


def _decided(
    bench: Bench,
    memory: Memory,
    change: Callable[..., object],
    *,
    action: str,
    tenant_id: str,
    reason: str,
    actor: str,
) -> Memory:
    """Lay a deletion over a memory, or take it away, and give the memory as it is then."""
    groups, name = _groups_of(bench, memory), memory.memory_id
    with bench.ledger.write() as tx:
        change(tx, groups, tenant_id=tenant_id, memory_id=name)
        decisions.record(
            tx, name, action=action, tenant_id=tenant_id, reason=reason, actor=actor,
            now=bench.ledger.now(),
        )  # fmt: skip
        touched = _touched(tx, memory)
    remember(bench, touched, run_id=f"{action}-{uuid.uuid4().hex}", batch_id=None)
    return _memory(bench, name, tenant_id=tenant_id)


def _memory(bench: Bench, memory_id: str, *, tenant_id: str) -> Memory:
    memory = memory_by_id(bench.index, memory_id, tenant_id=tenant_id)
    if memory is None:
        with bench.ledger.read() as tx:
            if tombstones.is_forgotten(tx, tenant_id, memory_id):
                raise UsageError(f"{memory_id} was forgotten, and a forget cannot be undone")
        raise UsageError(f"there is no memory {memory_id}; `memclaw-etl memories` lists them")
    return memory


def _groups_of(bench: Bench, memory: Memory) -> set[str]:
    """Group keys of everything that a memory says."""
    with bench.ledger.read() as tx:
        ids = [window.window_id for window in windows.by_keys(tx, memory.window_keys)]
        files = results.current(tx, ids, Stage.MERGED_REPORT)
    return {memory.group_key} | {
        group_key(item)
        for file in files.values()
        for item in governed(bench, read_items(bench, file))
        if item.item_id in memory.item_ids
        and (item.memory_type, item.namespace) == (memory.memory_type, memory.namespace)
    }


def _touched(tx: Connection, memory: Memory) -> list[Window]:
    """The windows of a memory, with all their groups to be resolved again."""
    found = windows.by_keys(tx, memory.window_keys)
    results.touch(tx, [window.window_id for window in found])
    return found
