"""What a forget reaches: which events, texts and windows. Looking only; nothing is changed here."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import Stage, Window, nodes, pins, results, tombstones, windows
from memclaw_etl.memories.catalogue import memory_by_id
from memclaw_etl.memories.items import Item, text_hash
from memclaw_etl.memories.quoting import names_of, pieces_of, quotes
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.erase import events_that_say
from memclaw_etl.stages.governing import governed
from memclaw_etl.stages.merge import read_items
from memclaw_etl.stages.surroundings import with_surroundings

_STAGES = (Stage.MASKED_CHUNKS, Stage.MINI_REPORTS, Stage.MERGED_REPORT)


@dataclass(frozen=True, slots=True)
class Reach:
    """What lies, or will lie, under the tombstones of one memory."""

    tenant_id: str
    memory_id: str
    memory: Memory | None
    """None: it left the index already."""
    identities: frozenset[str]
    """Identities of events."""
    texts: frozenset[str]
    """`text_hash` of statements."""
    windows: tuple[Window, ...]
    """Windows that own one of the events, or said the memory."""


def reach_of(bench: Bench, memory_id: str, *, tenant_id: str) -> Reach:
    """What a forget of a memory reaches: its events, and those behind whatever says the same.

    Raises:
        UsageError: the tenant has no such memory and never forgot one.
    """
    memory = memory_by_id(bench.index, memory_id, tenant_id=tenant_id)
    with bench.ledger.read() as tx:
        identities, texts = tombstones.events_of(tx, tenant_id, memory_id)
    if memory is None and not texts:
        raise UsageError(f"there is no memory {memory_id}; `memclaw-etl memories` lists them")
    if memory is not None:
        items = _items_of(bench, memory)
        identities |= {identity for item in items for identity in item.identities}
        texts |= {name for item in items for name in names_of(item.content)}
        texts |= {item.said_hash for item in items if item.said_hash}
    identities |= _events_saying(
        bench,
        tenant_id,
        lambda text: not texts.isdisjoint(pieces_of(text)),
        stages=[Stage.MERGED_REPORT],
    )
    return _with_windows(
        bench,
        Reach(tenant_id, memory_id, memory, frozenset(identities), frozenset(texts), ()),
    )


def reach_of_quotations(bench: Bench, reach: Reach) -> Reach:
    """The same, and every event that repeats the memory's words as a part of what it says.

    To erase a text is to erase whatever holds it. Short texts count as a whole only
    (`memories.quoting.LEAST_WORDS`). Where no live item holds the words any more, they are still
    known by their hashes, as a whole, a line or a sentence.
    """
    wordings = _wordings(bench, reach)

    def says(text: str) -> bool:
        is_known = not reach.texts.isdisjoint(pieces_of(text))
        return is_known or any(quotes(text, one) for one in wordings)

    quoting = _events_saying(bench, reach.tenant_id, says, stages=_STAGES)
    return _with_windows(bench, replace(reach, identities=reach.identities | quoting))


def trails_of(bench: Bench, reach: Reach) -> list[str]:
    """Paths of the trails that held one of the events when they were read, copies included."""
    with bench.ledger.read() as tx:
        copies = pins.windows_of_copies(tx, reach.tenant_id, reach.identities)
        holding = [*reach.windows, *windows.by_ids(tx, copies)]
        owners = {(window.tenant_id, window.node_id) for window in holding}
        known = [nodes.get(tx, *owner) for owner in owners]
    return sorted({node.path for node in known if node is not None})


def _items_of(bench: Bench, memory: Memory) -> list[Item]:
    """The items of a memory, with the identities of their events."""
    found: list[Item] = []
    with bench.ledger.read() as tx:
        ids = [window.window_id for window in windows.by_keys(tx, memory.window_keys)]
        files = results.current(tx, ids, Stage.MERGED_REPORT)
        chunks = results.current(tx, ids, Stage.MASKED_CHUNKS)
    for window_id, file in files.items():
        said = governed(bench, read_items(bench, file))
        mine = [item for item in said if item.item_id in memory.item_ids]
        found += with_surroundings(mine, bench.files.read(chunks[window_id].path))
    return found


def _events_saying(
    bench: Bench, tenant_id: str, says: Callable[[str], bool], *, stages: Collection[Stage]
) -> set[str]:
    """Identities of the tenant's events behind everything stored that says it.

    Reads all such files of the tenant: the ledger knows no texts, and to forget is rare.
    """
    with bench.ledger.read() as tx:
        known = [one for one in windows.all_windows(tx) if one.tenant_id == tenant_id]
        ids = [window.window_id for window in known]
        current = {stage: results.current(tx, ids, stage) for stage in stages}
    found: set[str] = set()
    for window in known:
        name = window.window_id
        files = {stage: files[name] for stage, files in current.items() if name in files}
        found |= events_that_say(bench, window, files, says)
    return found


def _wordings(bench: Bench, reach: Reach) -> set[str]:
    """The memory's words, as they stand in the index or in live items."""
    with bench.ledger.read() as tx:
        ids = [window.window_id for window in reach.windows]
        files = results.current(tx, ids, Stage.MERGED_REPORT)
    items: Iterable[Item] = (item for file in files.values() for item in read_items(bench, file))
    found = {item.content for item in items if text_hash(item.content) in reach.texts}
    return found | ({reach.memory.content} if reach.memory is not None else set())


def _with_windows(bench: Bench, reach: Reach) -> Reach:
    with bench.ledger.read() as tx:
        ids = set(pins.windows_of_events(tx, reach.tenant_id, reach.identities))
        if reach.memory is not None:
            said = windows.by_keys(tx, reach.memory.window_keys)
            ids |= {window.window_id for window in said}
        return replace(reach, windows=tuple(windows.by_ids(tx, sorted(ids))))
