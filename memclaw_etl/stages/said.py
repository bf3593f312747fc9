"""What an interviewer said, masked: reports that come back are not trusted to be clean."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memclaw_etl.interview.report import MiniReport, ReportItem
from memclaw_etl.masking import MaskSession


def masked_reports(
    session: MaskSession, reports: Sequence[MiniReport]
) -> tuple[list[MiniReport], Counter[str]]:
    """Mask every text of reports; also what was found, by kind.

    An item whose summary is private from end to end is left out. Session ids are not touched: they
    are checked against the masked events.
    """
    session.continue_after(texts_of(item for report in reports for item in report.items))
    kinds: Counter[str] = Counter()
    masked = [
        report.model_copy(update={"items": tuple(_masked_items(session, report.items, kinds))})
        for report in reports
    ]
    return masked, kinds


def texts_of(items: Iterable[ReportItem]) -> Iterator[str]:
    """Every text of these items."""
    for item in items:
        yield from (text for text in (item.summary, item.rationale, item.alternative) if text)


def _masked_items(
    session: MaskSession, items: Iterable[ReportItem], kinds: Counter[str]
) -> Iterator[ReportItem]:
    for item in items:
        masked = masked_item(session, item, kinds)
        if masked is not None:
            yield masked


def masked_item(session: MaskSession, item: ReportItem, kinds: Counter[str]) -> ReportItem | None:
    """Mask the texts of one item; None when nothing of its summary is left."""
    changed: dict[str, str | None] = {}
    for name in ("summary", "rationale", "alternative"):
        text: str | None = getattr(item, name)
        if text is not None:
            masked = session.mask(text)
            kinds.update(finding.kind for finding in masked.findings)
            if masked.text != text:
                changed[name] = masked.text.strip() or None
    if not changed:
        return item
    summary = changed.get("summary", item.summary)
    return item.model_copy(update=changed) if summary else None
