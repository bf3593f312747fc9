"""The embedded interviewer: deterministic rules on turn structure and language, no model."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.report import MiniReport, ReportItem, Section

_SHORTEST_CHARS = 20
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class HeuristicInterviewer:
    """Distils the sentences of a chunk that a teammate needs weeks later."""

    name: ClassVar[str] = "heuristic"
    version: ClassVar[str] = "heuristic-1"
    model: ClassVar[str | None] = None
    max_per_section: ClassVar[int | None] = None
    near_overlap: ClassVar[float | None] = 0.85

    def interview(self, chunks: Sequence[Chunk], *, cache: object = None) -> list[MiniReport]:
        """One mini-report per chunk; `cache` is not used, there is no call to save."""
        del cache
        return [
            MiniReport(chunk_index=chunk.index, items=tuple(_items(chunk.events)))
            for chunk in chunks
        ]


def _items(events: Sequence[MaskedEvent]) -> Iterator[ReportItem]:
    for event, following in zip(events, [*events[1:], None], strict=True):
        last_reply = following is None or following.role == "user"
        if event.role == "assistant" and not last_reply:
            continue
        section = Section.OUTCOMES if event.role == "assistant" else Section.WORKED_ON
        pieces = (piece.strip() for piece in _SENTENCE.split(event.content))
        sentences = [piece for piece in pieces if len(piece) > _SHORTEST_CHARS]
        if sentences:
            yield ReportItem(
                section=section,
                summary=" ".join(sentences[:2])[:300],
                ts_start=event.ts,
                ts_end=event.ts,
                session_id=event.session_id,
                evidence=(event.ref,),
            )
