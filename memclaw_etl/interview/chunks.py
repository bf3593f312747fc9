"""Cuts the masked events of a window into chunks: one model call each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memclaw_etl.interview.events import EventRef, MaskedEvent

CHUNK_BUDGET_CHARS: Final = 96_000
CONTEXT_EVENTS: Final = 6


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive events of one window, and a few earlier ones that give them meaning.

    Only `events` can be evidence. `context` (oldest first) may be read, never cited.
    """

    index: int
    events: tuple[MaskedEvent, ...]
    context: tuple[MaskedEvent, ...] = ()

    @property
    def refs(self) -> frozenset[EventRef]:
        """What the items of this chunk may cite."""
        return frozenset(event.ref for event in self.events)

    @property
    def cost_chars(self) -> int:
        """Characters that the chunk's own events take of the budget."""
        return sum(event.cost_chars for event in self.events)


def cut_chunks(
    events: Sequence[MaskedEvent],
    *,
    budget_chars: int = CHUNK_BUDGET_CHARS,
    context_events: int = CONTEXT_EVENTS,
    before: Sequence[MaskedEvent] = (),
) -> tuple[Chunk, ...]:
    """Cut `events` into chunks of at most `budget_chars`, in order, dropping nothing.

    An event that is dearer than the whole budget gets a chunk of its own. Each chunk carries up to
    `context_events` events that stand directly before it; those of the first chunk come from
    `before` (earlier masked events of the same trail). No events give no chunks.

    Raises:
        ValueError: the budget is not positive or the number of context events is negative.
    """
    if budget_chars <= 0 or context_events < 0:
        raise ValueError("budget_chars must be positive and context_events not negative")
    known = [*before, *events]
    chunks: list[Chunk] = []
    start = len(before)
    for index, group in enumerate(_groups(events, budget_chars)):
        context = tuple(known[max(0, start - context_events) : start])
        chunks.append(Chunk(index=index, events=group, context=context))
        start += len(group)
    return tuple(chunks)


def _groups(events: Sequence[MaskedEvent], budget_chars: int) -> Iterator[tuple[MaskedEvent, ...]]:
    """Greedy runs of consecutive events within the budget."""
    group: list[MaskedEvent] = []
    spent = 0
    for event in events:
        if group and spent + event.cost_chars > budget_chars:
            yield tuple(group)
            group, spent = [], 0
        group.append(event)
        spent += event.cost_chars
    if group:
        yield tuple(group)
