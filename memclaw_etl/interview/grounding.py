"""Checks that a report says only what its chunk can bear: nothing of an answer is trusted."""

from collections.abc import Iterator, Mapping

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.events import EventRef, MaskedEvent
from memclaw_etl.interview.report import MiniReport, ReportItem


def check(report: MiniReport, chunk: Chunk) -> list[str]:
    """What in `report` does not stand in `chunk`; empty when all of it does.

    Evidence must name events of the chunk (its context is none); times and session ids must occur
    in the events that the item cites. The findings carry section, number and positions, never text.
    """
    findings = []
    if report.chunk_index != chunk.index:
        findings.append(f"report of chunk {report.chunk_index} checked against {chunk.index}")
    events = {event.ref: event for event in chunk.events}
    for number, item in enumerate(report.items):
        findings += [f"{item.section.value}[{number}]: {flaw}" for flaw in _flaws(item, events)]
    return findings


def _flaws(item: ReportItem, events: Mapping[EventRef, MaskedEvent]) -> Iterator[str]:
    for ref in item.evidence:
        if ref not in events:
            yield f"evidence {ref[0]}.{ref[1]} is no event of the chunk"
    cited = [events[ref] for ref in item.evidence if ref in events]
    times = {event.ts for event in cited}
    for name, ts in (("ts_start", item.ts_start), ("ts_end", item.ts_end)):
        if ts is not None and ts not in times:
            yield f"{name} is the time of none of its evidence"
    if item.ts_start and item.ts_end and item.ts_start > item.ts_end:
        yield "ts_start is after ts_end"
    if item.session_id is not None and item.session_id not in {e.session_id for e in cited}:
        yield "session_id is that of none of its evidence"
