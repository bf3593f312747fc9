"""Resolving: which memories a set of live items makes. Pure, and blind to the items' order."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from memclaw_etl.memories.items import Item, group_key

Evidence = tuple[str, int, int, int]
"""(node_id, epoch, seq, part) of one event."""

_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One typed statement, resolved from the items that say the same thing in the same scope.

    Wording and provenance (fleet, node, agent, session, section, title, interviewer, versions) are
    those of the oldest item; evidence, item ids and window keys are united over all items and
    sorted. `ts_valid_start` is the earliest and `ts_valid_end` the latest event time, if known.
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

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Every node that gave evidence, sorted."""
        return tuple(sorted({self.node_id, *(entry[0] for entry in self.evidence)}))

    @property
    def begins_at(self) -> tuple[int, int]:
        """(epoch, seq) of its first evidence in the trail of `node_id`; (0, 0) without any."""
        own = ((epoch, seq) for node_id, epoch, seq, _ in self.evidence if node_id == self.node_id)
        return min(own, default=(0, 0))


def resolve(items: Iterable[Item]) -> list[Memory]:
    """Give one memory per group of items, ordered by group key.

    The result is a function of the set of items alone: any order and any batching of the same items
    (a group always whole) gives the same memories, and an item given twice counts once.
    """
    groups: defaultdict[str, set[Item]] = defaultdict(set)
    for item in items:
        groups[group_key(item)].add(item)
    return [_memory(key, groups[key]) for key in sorted(groups)]


def _memory(key: str, items: Collection[Item]) -> Memory:
    """Join the items of one group."""
    ordered = sorted(items, key=_age)
    oldest = ordered[0]
    times = [ts for item in ordered for ts in (item.ts_start, item.ts_end) if ts is not None]
    evidence = {
        (item.node_id, item.epoch, seq, part) for item in ordered for seq, part in item.evidence
    }
    return Memory(
        memory_id=memory_id_for(oldest),
        group_key=key,
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
        ts_valid_end=max(times, default=None),
        status="active",
        interviewer=oldest.interviewer,
        prompt_version=oldest.prompt_version,
        model=oldest.model,
        masker_version=oldest.masker_version,
        window_keys=tuple(sorted({item.window_key for item in ordered})),
        nearby=oldest.nearby,
    )


def memory_id_for(oldest: Item) -> str:
    """Id of a memory, from its oldest item.

    Type and namespace are part of it, since a window may say the same words in two sections: those
    items share an id, but they are two memories.
    """
    identity = f"{oldest.item_id}:{oldest.memory_type}:{oldest.namespace}"
    return "mem_" + hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()


def _age(item: Item) -> tuple[datetime, str, str]:
    """Event time first, unknown times last, then the id; the rest makes the order total."""
    return (item.ts_start or _LATEST, item.item_id, repr(item))
