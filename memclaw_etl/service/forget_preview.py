"""What `forget` would do, before anybody does it: there is no way back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memclaw_etl.lake.ledger import Stage, results, statements
from memclaw_etl.memories.items import text_hash
from memclaw_etl.memories.resolve import Memory, resolve
from memclaw_etl.memories.rows import memory_of
from memclaw_etl.memories.rulings import Rulings
from memclaw_etl.service.reach import Reach, reach_of, reach_of_quotations, trails_of
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.erase import plan_erasure
from memclaw_etl.stages.remember import live_items, rulings


@dataclass(frozen=True, slots=True)
class Leaving:
    """A memory that would leave the index. Its content is what `recall` shows."""

    memory_id: str
    memory_type: str
    content: str
    why: str
    """`the memory itself`, `says the same`, or `rests on the same events`."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A stage file that `--erase` would write without what is to go."""

    window: str
    stage: Stage
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What would be done. Nothing was changed."""

    memory_id: str
    is_forgotten: bool
    """A tombstone lies over it already; only `--erase` would do more."""
    events: int
    """So many events would lie under the tombstone."""
    event_ids: tuple[str, ...]
    memories: tuple[Leaving, ...]
    memories_changed: tuple[str, ...]
    """Memories that stay and change: less evidence, other relations, or a place taken back."""
    windows: tuple[str, ...]
    """Windows that own the events or said the memory."""
    files: tuple[Rewriting, ...]
    """Empty without `--erase`."""
    answers: int
    """Cached answers of models that would be removed; 0 without `--erase`."""
    trails: tuple[str, ...]
    """Trails that hold the events, copies included. They are never written to."""


def preview_forget(bench: Bench, memory_id: str, *, tenant_id: str) -> Preview:
    """What `forget` would do.

    Raises:
        UsageError: the tenant has no such memory and never forgot one.
    """
    return _preview(bench, reach_of(bench, memory_id, tenant_id=tenant_id))


def preview_erase(bench: Bench, memory_id: str, *, tenant_id: str) -> Preview:
    """What `forget --erase` would do.

    Raises:
        UsageError: the tenant has no such memory and never forgot one.
    """
    reach = reach_of_quotations(bench, reach_of(bench, memory_id, tenant_id=tenant_id))
    answers = sum(1 for _ in bench.stored_responses(tenant_id).names())
    return replace(_preview(bench, reach), files=tuple(_files(bench, reach)), answers=answers)


def _preview(bench: Bench, reach: Reach) -> Preview:
    before, after = _before_and_after(bench, reach)
    return Preview(
        memory_id=reach.memory_id,
        is_forgotten=reach.memory is None,
        events=len(reach.identities),
        event_ids=tuple(sorted(reach.identities)),
        memories=tuple(
            Leaving(one.memory_id, one.memory_type, one.content, _why(one, reach))
            for memory_id, one in sorted(before.items())
            if memory_id not in after
        ),
        memories_changed=tuple(
            sorted(name for name, one in after.items() if before.get(name) != one)
        ),
        windows=tuple(window.partition_key for window in reach.windows),
        files=(),
        answers=0,
        trails=tuple(trails_of(bench, reach)),
    )


def _before_and_after(bench: Bench, reach: Reach) -> tuple[dict[str, Memory], dict[str, Memory]]:
    """Memories of every component that is touched: as the index has them, and as they would be."""
    with bench.ledger.read() as tx:
        ids = [window.window_id for window in reach.windows]
        component = statements.component(tx, results.groups_of_windows(tx, ids))
    known = bench.index.existing(component).to_pylist()
    found = resolve(live_items(bench, component), _with_tombstones(rulings(bench), reach))
    return (
        {row["memory_id"]: memory_of(row) for row in known},
        {memory.memory_id: memory for memory in found},
    )


def _with_tombstones(ruled: Rulings, reach: Reach) -> Rulings:
    events = {(reach.tenant_id, identity) for identity in reach.identities}
    texts = {(reach.tenant_id, text) for text in reach.texts}
    return replace(
        ruled,
        forgotten_events=ruled.forgotten_events | events,
        forgotten_texts=ruled.forgotten_texts | texts,
    )


def _why(memory: Memory, reach: Reach) -> str:
    if memory.memory_id == reach.memory_id:
        return "the memory itself"
    same = text_hash(memory.content) in reach.texts
    return "says the same" if same else "rests on the same events"


def _files(bench: Bench, reach: Reach) -> Iterator[Rewriting]:
    for window in reach.windows:
        erasure = plan_erasure(bench, window, identities=reach.identities, texts=reach.texts)
        for stage in sorted(erasure.changed):
            yield Rewriting(window.partition_key, stage, erasure.before[stage].path)
