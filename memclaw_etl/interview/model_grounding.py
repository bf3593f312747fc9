"""Grounding of a model's report: what the chunk does not bear is taken out, and counted.

Nothing in an answer is trusted. Evidence must name events of the chunk; times and sessions must be
those of cited events; figures and names should stand in them, and an item whose figures or names do
not is flagged.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.model_answer import Answer, Decision, Episode, Note, Outcome
from memclaw_etl.interview.model_prompt import label
from memclaw_etl.interview.names import figures_in, names_in, plain
from memclaw_etl.interview.report import Flag, Grounding, MiniReport, ReportItem, Section, time_span

_SMALL: Final = frozenset("0123456789")
"""A single digit may count things ("two of 3"): flagging it would be noise."""


def ground(answer: Answer, chunk: Chunk) -> MiniReport:
    """The items of an answer that the chunk bears, with counts of what was taken out or flagged."""
    events = {label(event.ref): event for event in chunk.events}
    counts: dict[str, int] = {}
    items = [
        item
        for section, note in answer.notes()
        if (item := _item(section, note, events, counts)) is not None
    ]
    return MiniReport(chunk_index=chunk.index, items=tuple(items), grounding=Grounding(**counts))


def _item(
    section: Section, note: Note, events: Mapping[str, MaskedEvent], counts: dict[str, int]
) -> ReportItem | None:
    named = [reference.strip().lstrip("#") for reference in note.evidence]
    cited = sorted({events[one] for one in named if one in events}, key=lambda one: one.ref)
    _count(counts, "evidence_dropped", sum(one not in events for one in named))
    if not cited or not note.summary.strip():
        _count(counts, "items_dropped", 1)
        return None
    first, last = _times(note, cited, counts)
    item = ReportItem(
        section=section,
        summary=note.summary.strip(),
        rationale=_text(note.rationale) if isinstance(note, Decision) else None,
        alternative=_text(note.alternative) if isinstance(note, Decision) else None,
        result=note.result if isinstance(note, Outcome) else None,
        ts_start=first,
        ts_end=last,
        session_id=cited[0].session_id,
        evidence=tuple(event.ref for event in cited),
        importance=1 if note.importance == "high" else 0,
    )
    flags = flags_of(item.content, cited)
    for flag in flags:
        _count(counts, f"{flag}s", 1)
    return item.model_copy(update={"flags": flags})


def _count(counts: dict[str, int], name: str, count: int) -> None:
    counts[name] = counts.get(name, 0) + count


def _text(text: str | None) -> str | None:
    return (text or "").strip() or None


def _times(
    note: Note, cited: Sequence[MaskedEvent], counts: dict[str, int]
) -> tuple[datetime | None, datetime | None]:
    """The note's times where they are those of cited events, else the span of what it cites."""
    known = {event.ts.replace(microsecond=0): event.ts for event in cited if event.ts}
    said = [note.ts, note.ts_end if isinstance(note, Episode) else None]
    given = [text for text in said if text and text.strip()]
    found = [known[at] for text in given if (at := _parsed(text)) is not None and at in known]
    _count(counts, "times_removed", len(given) - len(found))
    return time_span(found or list(known.values()))


def _parsed(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    aware = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.replace(microsecond=0)


def flags_of(content: str, cited: Iterable[MaskedEvent]) -> tuple[Flag, ...]:
    """What of `content` does not stand in the events that it cites."""
    texts = [text for one in cited for text in (one.content, one.tool, one.outcome) if text]
    return flags_against(content, "\n".join(texts))


def flags_against(content: str, source: str) -> tuple[Flag, ...]:
    """What of `content` does not stand in `source`: figures, names."""
    spoken = plain(source)
    figures = figures_in(spoken) | _SMALL
    flags = []
    if not figures_in(content) <= figures:
        flags.append(Flag.UNSUPPORTED_FIGURE)
    if any(name not in spoken for name in names_in(content)):
        flags.append(Flag.UNSUPPORTED_NAME)
    return tuple(flags)
