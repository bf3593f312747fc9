"""The embedded interviewer: deterministic rules on turn structure and language, no model."""

from collections.abc import Sequence
from typing import ClassVar

from memclaw_etl.interview import heuristic_language as language
from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.heuristic_ranking import Chosen, choose
from memclaw_etl.interview.heuristic_statements import read_statements
from memclaw_etl.interview.protocols import ResponseCache
from memclaw_etl.interview.report import MiniReport, ReportItem, Result, Section, time_span


class HeuristicInterviewer:
    """Distils what a teammate needs weeks later: statements, not turns.

    Each message is read into statements of at most 290 characters (`heuristic_statements`), these
    are rated by where they stand and how they are worded, and the worthiest that repeat each other
    least are kept, up to about 15 for 10,000 characters (`heuristic_ranking`). An item cites the
    message of its statement, the offer that a prompt answers, and messages that say the same.
    """

    name: ClassVar[str] = "heuristic"
    version: ClassVar[str] = "heuristic-2"
    model: ClassVar[str | None] = None
    max_per_section: ClassVar[int | None] = None
    near_overlap: ClassVar[float | None] = 0.85
    near_meaning: ClassVar[float | None] = None

    def interview(
        self,
        chunks: Sequence[Chunk],
        *,
        cache: ResponseCache,  # noqa: ARG002 - there is no call to save
    ) -> list[MiniReport]:
        """One mini-report per chunk, in order; the same chunks always give the same reports."""
        return [_report(chunk) for chunk in chunks]


def _report(chunk: Chunk) -> MiniReport:
    statements = read_statements(chunk.events, chunk.context)
    source_chars = sum(len(event.content) for event in chunk.events)
    chosen = choose(statements, source_chars=source_chars)
    return MiniReport(chunk_index=chunk.index, items=tuple(_item(c) for c in chosen))


def _item(chosen: Chosen) -> ReportItem:
    first, last = time_span([event.ts for event in chosen.events if event.ts])
    return ReportItem(
        section=chosen.section,
        summary=chosen.statement.text,
        result=_result(chosen),
        ts_start=first,
        ts_end=last,
        session_id=chosen.statement.events[0].session_id,
        evidence=tuple(event.ref for event in chosen.events),
    )


def _result(chosen: Chosen) -> Result | None:
    """How an outcome ended, where its words leave no doubt."""
    if chosen.section is not Section.OUTCOMES:
        return None
    text = chosen.statement.text
    changed, failed, remains = (
        bool(cue.search(text)) for cue in (language.CHANGED, language.FAILED, language.REMAINS)
    )
    if failed:
        return None if changed else "failure"
    if not changed:
        return None
    return "partial" if remains else "success"
