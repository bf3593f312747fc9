"""What people and their settings have decided about memories; resolving asks here. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memclaw_etl.memories.items import Item
from memclaw_etl.memories.quoting import pieces_of


class Status(StrEnum):
    """Where a memory stands in its life."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """Another one took its place."""
    DELETED = "deleted"
    """A person took it away, and may bring it back."""
    EXPIRED = "expired"
    """It ended before the cutoff of its tenant and type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulings:
    """What has been decided about one ledger's memories. Empty: nothing."""

    apart: frozenset[str] = frozenset()
    """Ids of relations (`Edge.edge_id`) that a person undid: such statements stand side by side."""
    forgotten_events: frozenset[tuple[str, str]] = frozenset()
    """(tenant_id, identity of an event) whose statements must not come back in any wording."""
    forgotten_texts: frozenset[tuple[str, str]] = frozenset()
    """(tenant_id, `text_hash`) of statements that must not come back from any event."""
    deleted: frozenset[str] = frozenset()
    """Group keys of statements that a person deleted: a memory that says one of them is deleted."""
    cutoffs: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    """(tenant_id, memory type) -> what ended before has expired."""

    def forgets(self, item: Item) -> bool:
        """Whether a tombstone lies over what the item rests on or says."""
        if not (self.forgotten_events or self.forgotten_texts):
            return False
        tenant = item.tenant_id
        said = {*pieces_of(item.content), item.said_hash}
        return any((tenant, one) in self.forgotten_texts for one in said) or any(
            (tenant, identity) in self.forgotten_events for identity in item.identities
        )

    def status_of(
        self, oldest: Item, keys: Collection[str], *, ended: datetime | None, is_replaced: bool
    ) -> Status:
        """The status of a memory. What has no time never expires: nobody knows how old it is.

        Args:
            oldest: the item that names the memory.
            keys: group keys of all that it says.
            ended: its latest event time.
            is_replaced: whether another memory took its place.
        """
        if not self.deleted.isdisjoint(keys):
            return Status.DELETED
        if is_replaced:
            return Status.SUPERSEDED
        cutoff = self.cutoffs.get((oldest.tenant_id, oldest.memory_type))
        if cutoff is not None and ended is not None and ended < cutoff:
            return Status.EXPIRED
        return Status.ACTIVE


NO_RULINGS = Rulings()
