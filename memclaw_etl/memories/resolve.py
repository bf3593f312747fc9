"""Resolving: which memories a set of live items makes. Pure, and blind to the items' order."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from memclaw_etl.memories import enrich
from memclaw_etl.memories.items import Item, folded, group_key, scope_of
from memclaw_etl.memories.relate import Edge, Kind, Said, edges
from memclaw_etl.memories.rulings import NO_RULINGS, Rulings

Evidence = tuple[str, int, int, int]
"""(node_id, epoch, seq, part) of one event."""

VERBATIM = "verbatim"
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One typed statement, resolved from the items that say the same thing in the same scope.

    Wording and provenance (fleet, node, agent, session, section, title, interviewer, versions) are
    those of the oldest item; evidence, item ids and window keys are united over all items and
    sorted. `ts_valid_start` is the earliest and `ts_valid_end` the latest event time, if known.
    A memory that another one superseded was valid until that one began; `status` is one of
    `rulings.Status`, and a deleted memory still says what took its place.
    """

    memory_id: str
    group_key: str
    tenant_id: str
    namespace: str
    fleet_id: str | None
    node_id: str
    agent_id: str | None
    session_id: str | None
    memory_type: str
    section: str
    title: str
    content: str
    item_ids: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    ts_valid_start: datetime | None
    ts_valid_end: datetime | None
    status: str
    interviewer: str
    prompt_version: str
    model: str | None
    masker_version: str
    window_keys: tuple[str, ...]
    nearby: str = ""
    """Words that stood around the oldest item, for search."""
    supersedes: tuple[str, ...] = ()
    """Ids of the memories whose place it took, sorted."""
    superseded_by: str | None = None
    superseded_why: str | None = None
    """The rule that decided (`memories.relate`)."""
    source_kind: str = ""
    source_ref: str = ""
    """`node_id~epoch#seq` of the first event of the oldest item."""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    """`file:`, `package:`, `command:` or `symbol:` and the name."""
    hint: str = ""
    """For which question it is good."""
    importance: float = 0.0
    """In [0, 1], without its age."""
    importance_parts: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Source, structure, novelty, the interviewer's hint (`memories.enrich.Importance`)."""
    flags: tuple[str, ...] = ()
    """What is doubtful about it, over all items."""

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Every node that gave evidence, sorted."""
        return tuple(sorted({self.node_id, *(entry[0] for entry in self.evidence)}))

    @property
    def begins_at(self) -> tuple[int, int]:
        """(epoch, seq) of its first evidence in the trail of `node_id`; (0, 0) without any."""
        own = ((epoch, seq) for node_id, epoch, seq, _ in self.evidence if node_id == self.node_id)
        return min(own, default=(0, 0))


def resolve(items: Iterable[Item], rulings: Rulings = NO_RULINGS) -> list[Memory]:
    """Give the memories that a set of items makes, ordered by group key and id.

    The result is a function of the set of items and the rulings alone: any order and any batching
    (everything that is related always together) gives the same memories, and an item given twice
    counts once. In each component of related statements, items come in by event time; each one

    - joins a living memory that says the same (NOOP, its evidence counts),
    - takes the place of living memories that it updates or contradicts (they end where it begins),
    - or stands beside them (ADD).

    What was superseded and is said again later becomes a new memory.
    """
    groups: defaultdict[str, set[Item]] = defaultdict(set)
    for item in items:
        if not rulings.forgets(item):
            groups[group_key(item)].add(item)
    links = _links(groups, rulings)
    memories = [
        memory
        for component in _components(sorted(groups), links)
        for memory in _live(chain.from_iterable(groups[key] for key in component), links, rulings)
    ]
    return sorted(memories, key=lambda memory: (memory.group_key, memory.memory_id))


def said_by(item: Item) -> Said | None:
    """What an item can be related by; None for raw events, which are joined by identity only."""
    if item.interviewer == VERBATIM:
        return None
    return Said(scope_of(item), item.memory_type, folded(item.content))


_Links = Mapping[str, Mapping[str, Edge]]


def _links(groups: Mapping[str, Collection[Item]], rulings: Rulings) -> _Links:
    """Related groups of each group, by key."""
    said = {key: one for key in groups if (one := _said(groups[key])) is not None}
    links: defaultdict[str, dict[str, Edge]] = defaultdict(dict)
    for edge in edges(said):
        if edge.edge_id not in rulings.apart:
            links[edge.left][edge.right] = links[edge.right][edge.left] = edge
    return links


def _said(items: Collection[Item]) -> Said | None:
    """What a group can be related by, if any of its items can."""
    return next((one for item in items if (one := said_by(item)) is not None), None)


def _components(keys: Sequence[str], links: _Links) -> Iterator[list[str]]:
    """Groups that are related over any number of steps."""
    seen: set[str] = set()
    for start in keys:
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for key in component:
            fresh = [other for other in links.get(key, ()) if other not in seen]
            seen.update(fresh)
            component += fresh
        yield component


@dataclass(slots=True)
class _Draft:
    """A memory while its component is being resolved."""

    items: list[Item]
    keys: set[str]
    replaced: list["_Draft"] = field(default_factory=list)
    successor: "_Draft | None" = None
    why: str | None = None
    until: datetime | None = None


def _live(items: Iterable[Item], links: _Links, rulings: Rulings) -> list[Memory]:
    """The memories of one component."""
    drafts: list[_Draft] = []
    for item in sorted(items, key=_age):
        _take_in(item, drafts, links)
    return [_memory(draft, rulings, related_before=place) for place, draft in enumerate(drafts)]


def _take_in(item: Item, drafts: list[_Draft], links: _Links) -> None:
    """ADD, UPDATE, NOOP or INVALIDATE: what one more item does to the drafts."""
    key = group_key(item)
    near = links.get(key, {})
    living = [draft for draft in drafts if draft.successor is None]
    draft = next((one for one in living if key in one.keys), None) or next(
        (one for one in living if _kinds(near, one) == {Kind.SAME}), None
    )
    if draft is None:
        draft = _Draft([], set())
        drafts.append(draft)
    draft.items.append(item)
    draft.keys.add(key)
    if item.ts_start is None:
        return  # nobody knows what it came after
    for other in living:
        kinds = _kinds(near, other) - {Kind.SAME}
        if other is not draft and kinds:
            edge = min(near[one] for one in other.keys if one in near if near[one].kind in kinds)
            other.successor, other.why, other.until = draft, edge.reason, item.ts_start
            draft.replaced.append(other)


def _kinds(near: Mapping[str, Edge], draft: _Draft) -> set[str]:
    return {near[key].kind for key in draft.keys if key in near}


def _memory(draft: _Draft, rulings: Rulings, *, related_before: int) -> Memory:
    """Join the items of one draft; the first one is the oldest."""
    oldest, ordered = draft.items[0], draft.items
    times = [ts for item in ordered for ts in (item.ts_start, item.ts_end) if ts is not None]
    evidence = {
        (item.node_id, item.epoch, seq, part) for item in ordered for seq, part in item.evidence
    }
    successor, ended = draft.successor, max(times, default=None)
    matters = enrich.importance(
        oldest, related_before=related_before, replaces=bool(draft.replaced)
    )
    status = rulings.status_of(oldest, draft.keys, ended=ended, is_replaced=successor is not None)
    return Memory(
        memory_id=memory_id_for(oldest),
        group_key=group_key(oldest),
        tenant_id=oldest.tenant_id,
        namespace=oldest.namespace,
        fleet_id=oldest.fleet_id,
        node_id=oldest.node_id,
        agent_id=oldest.agent_id,
        session_id=oldest.session_id,
        memory_type=oldest.memory_type,
        section=oldest.section,
        title=oldest.title,
        content=oldest.content,
        item_ids=tuple(sorted({item.item_id for item in ordered})),
        evidence=tuple(sorted(evidence)),
        ts_valid_start=min(times, default=None),
        ts_valid_end=draft.until if successor else ended,
        status=str(status),
        interviewer=oldest.interviewer,
        prompt_version=oldest.prompt_version,
        model=oldest.model,
        masker_version=oldest.masker_version,
        window_keys=tuple(sorted({item.window_key for item in ordered})),
        nearby=oldest.nearby,
        supersedes=tuple(sorted(memory_id_for(one.items[0]) for one in draft.replaced)),
        superseded_by=memory_id_for(successor.items[0]) if successor else None,
        superseded_why=draft.why,
        source_kind=oldest.source_kind,
        source_ref=_source_ref(oldest),
        tags=enrich.tags(oldest.content),
        entities=enrich.entities(oldest.content),
        hint=enrich.retrieval_hint(oldest.memory_type, oldest.content),
        importance=matters.total,
        importance_parts=(matters.source, matters.structure, matters.novelty, matters.hint),
        flags=tuple(sorted({flag for item in ordered for flag in item.flags})),
    )


def _source_ref(item: Item) -> str:
    seq = item.evidence[0][0] if item.evidence else 0
    return f"{item.node_id}~{item.epoch}#{seq}"


def memory_id_for(oldest: Item) -> str:
    """Id of a memory, from its oldest item.

    Type and namespace are part of it, since a window may say the same words in two sections: those
    items share an id, but they are two memories.
    """
    identity = f"{oldest.item_id}:{oldest.memory_type}:{oldest.namespace}"
    return "mem_" + hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()


def _age(item: Item) -> tuple[datetime, str, int, tuple[tuple[int, int], ...], str, str]:
    """Event time first, unknown times last, then the place in the trail, then the id.

    The rest makes the order total.
    """
    at = item.ts_start or _LATEST
    return (at, item.node_id, item.epoch, item.evidence[:1], item.item_id, repr(item))
