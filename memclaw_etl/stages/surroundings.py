"""What an item's window knows of its events: their identities, and the words around them."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from memclaw_etl.memories.items import Item
from memclaw_etl.memories.wording import terms

NEARBY_WORDS = 30
"""Words on either side; more of them helped no question and hurt long texts."""
_Event = tuple[tuple[int, int], str | None, str, str]
"""(seq, part), session, text and identity."""


def with_surroundings(items: Sequence[Item], events: pl.DataFrame) -> list[Item]:
    """The items with the identities of their events, and the words around these.

    Args:
        items: items of one window.
        events: its masked events (`MASKED_CHUNKS`); those of other sessions are not near.
    """
    own = events.filter(~pl.col("context")).sort("seq", "part")
    columns = own.select("seq", "part", "session_id", "content", "identity").iter_rows()
    ordered: list[_Event] = [((seq, part), *rest) for seq, part, *rest in columns]
    at = {event[0]: place for place, event in enumerate(ordered)}
    return [
        replace(item, nearby=_nearby(item, ordered, at), identities=_identities(item, ordered, at))
        for item in items
    ]


def _identities(
    item: Item, ordered: Sequence[_Event], at: dict[tuple[int, int], int]
) -> tuple[str, ...]:
    return tuple(sorted({ordered[at[ref]][3] for ref in item.evidence if ref in at}))


def _nearby(item: Item, ordered: Sequence[_Event], at: dict[tuple[int, int], int]) -> str:
    places = [at[ref] for ref in item.evidence if ref in at]
    if not places:
        return ""
    before = _words_at(min(places), -1, ordered)
    after = _words_at(max(places), +1, ordered)
    return " ".join([*before[-NEARBY_WORDS:], *after[:NEARBY_WORDS]])


def _words_at(place: int, step: int, ordered: Sequence[_Event]) -> list[str]:
    """The words of the event beside this place, if it is of the same session."""
    beside = place + step
    if not 0 <= beside < len(ordered) or ordered[beside][1] != ordered[place][1]:
        return []
    return terms(ordered[beside][2])
