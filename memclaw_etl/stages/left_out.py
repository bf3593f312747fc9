"""What a person had erased: no stage stores it again, whoever says it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from memclaw_etl.interview.report import MiniReport, ReportItem
from memclaw_etl.lake.ledger import tombstones
from memclaw_etl.memories.quoting import pieces_of


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The erased events and texts of one tenant; of the texts nobody knows more than a hash."""

    identities: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def says(self, *texts: str | None) -> bool:
        """Whether any of these texts, or a line or sentence of it, was erased."""
        if not self.texts:
            return False
        return any(piece in self.texts for text in texts if text for piece in pieces_of(text))

    def rests_on(self, identities: Iterable[str]) -> bool:
        """Whether any of these events was erased."""
        return not self.identities.isdisjoint(identities)


def without_erased(reports: Sequence[MiniReport], erased: LeftOut) -> list[MiniReport]:
    """Reports without the items that say what was erased."""
    return [
        report.model_copy(update={"items": tuple(_items_left(report.items, erased))})
        for report in reports
    ]


def _items_left(items: Iterable[ReportItem], erased: LeftOut) -> Iterator[ReportItem]:
    for item in items:
        if not erased.says(item.content, item.summary, item.rationale, item.alternative):
            yield item


def left_out(connection: Connection, tenant_id: str) -> LeftOut:
    """What of a tenant must not be stored."""
    events = tombstones.erased(connection, tenant_id)
    texts = tombstones.erased_texts(connection, tenant_id, events)
    return LeftOut(identities=frozenset(events), texts=frozenset(texts))
