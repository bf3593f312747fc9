"""The baseline interviewer: every event is an item, word for word."""

from collections.abc import Sequence
from typing import ClassVar

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.protocols import ResponseCache
from memclaw_etl.interview.report import MiniReport, ReportItem, Section


class VerbatimInterviewer:
    """No distillation and no joining beyond identity: the floor of every comparison.

    All items stand in `worked_on`, since nothing was read that could tell another section.
    """

    name: ClassVar[str] = "verbatim"
    version: ClassVar[str] = "verbatim-1"
    model: ClassVar[str | None] = None
    max_per_section: ClassVar[int | None] = None
    near_overlap: ClassVar[float | None] = None
    near_meaning: ClassVar[float | None] = None

    def interview(
        self,
        chunks: Sequence[Chunk],
        *,
        cache: ResponseCache,  # noqa: ARG002 - there is no call to save
    ) -> list[MiniReport]:
        """One item per event with text, in order."""
        return [
            MiniReport(chunk_index=chunk.index, items=tuple(_items(chunk.events)))
            for chunk in chunks
        ]


def _items(events: Sequence[MaskedEvent]) -> list[ReportItem]:
    return [
        ReportItem(
            section=Section.WORKED_ON,
            summary=event.content,
            ts_start=event.ts,
            ts_end=event.ts,
            session_id=event.session_id,
            evidence=(event.ref,),
        )
        for event in events
        if event.content.strip()
    ]
