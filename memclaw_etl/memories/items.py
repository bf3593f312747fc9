"""Items: the statements that one window's report makes, before they are resolved into memories."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from memclaw_etl.errors import InvariantError
from memclaw_etl.memories.types import STORED


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One statement of one window. It belongs to that window and is replaced with it as a whole.

    All text is masked. `evidence` names the events of the item's own trail (`node_id`, `epoch`)
    as (seq, part) pairs. Times are aware and say when the thing happened, never when it was stored.
    """

    item_id: str
    tenant_id: str
    fleet_id: str | None
    node_id: str
    agent_id: str | None
    epoch: int
    window_key: str
    """Partition key of the window."""
    attempt_id: str
    namespace: str
    """The project; empty when there is none."""
    section: str
    memory_type: str
    content: str
    title: str
    session_id: str | None
    ts_start: datetime | None
    ts_end: datetime | None
    evidence: tuple[tuple[int, int], ...]
    chunk_index: int
    interviewer: str
    prompt_version: str
    model: str | None
    masker_version: str
    flags: tuple[str, ...] = ()
    """What is doubtful about it: figures or names that its evidence does not hold."""
    nearby: str = ""
    """Words of the events before and after its evidence, for search: masked, stemmed."""
    source_kind: str = ""
    """The kind of trail: claude_code, cursor, buffer..."""
    hint: int = 0
    """What the interviewer thinks of its importance: 1 high, 0 normal."""
    identities: tuple[str, ...] = ()
    """Identities of the events of its evidence: what a tombstone names, in any copy of a trail."""
    said_hash: str = ""
    """`text_hash` of what was said, where a policy masked it: tombstones know it by that. It is
    never stored."""

    def __post_init__(self) -> None:
        """Refuse a type that no memory has, and a naive time: the machine's zone would order it."""
        if self.memory_type not in STORED:
            raise InvariantError(
                f"item {self.item_id}: memory type {self.memory_type!r}, expected one of"
                f" {', '.join(STORED)}"
            )
        for name, ts in (("ts_start", self.ts_start), ("ts_end", self.ts_end)):
            if ts is not None and ts.tzinfo is None:
                raise InvariantError(f"item {self.item_id}: {name} must be an aware datetime")


def item_id_for(*, tenant_id: str, attempt_id: str, content: str) -> str:
    """Id of an item: a function of what was read (the attempt) and what was said (the content)."""
    return "it_" + _sha1(tenant_id, attempt_id, content)


def group_key(item: Item) -> str:
    """Key of the memory that the item belongs to.

    Items with one key say the same thing in the same scope: same tenant, namespace and memory type,
    and the same content apart from case and white space.
    """
    return _sha1(item.tenant_id, item.namespace, item.memory_type, folded(item.content))


def scope_of(item: Item) -> str:
    """Whose memories an item can be compared with: its tenant and namespace."""
    return scopes_prefix(item.tenant_id) + item.namespace


def scopes_prefix(tenant_id: str) -> str:
    """How every scope of a tenant begins, and no other tenant's."""
    return quote(tenant_id, safe=" ") + "/"


def folded(content: str) -> str:
    """A text without what makes no difference: case and white space."""
    return " ".join(content.casefold().split())


def text_hash(content: str) -> str:
    """Names a text, apart from case and white space, where it must not be stored itself."""
    return hashlib.sha256(folded(content).encode("utf-8", "surrogatepass")).hexdigest()


def _sha1(*parts: str) -> str:
    """Hex digest over length-prefixed parts, so that no two different lists of parts meet."""
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
