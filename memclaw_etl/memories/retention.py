"""Retention: from when on memories of a type have expired. Pure; the clock is passed in."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from memclaw_etl.memories.types import fold
from memclaw_etl.tenant_settings import RetentionSettings

Cutoffs = Mapping[tuple[str, str], datetime]
"""(tenant_id, memory type) -> what ended before has expired."""


def moved_cutoffs(
    stored: Cutoffs, rules: Mapping[str, Sequence[RetentionSettings]], *, now: datetime
) -> dict[tuple[str, str], datetime]:
    """The cutoffs that move, and where to: only forward, so that what expired stays expired.

    A longer period, or a rule that is gone, leaves the stored cutoff where it is until time has
    caught up with it. Of two rules for one type the shorter one holds.

    Args:
        stored: the cutoffs that hold.
        rules: tenant_id -> its rules.
        now: the ledger's clock.
    """
    wanted: dict[tuple[str, str], datetime] = {}
    for tenant_id, some in rules.items():
        for rule in some:
            place = (tenant_id, str(fold(rule.memory_type)))
            cutoff = now - timedelta(days=rule.days)
            wanted[place] = max(cutoff, wanted.get(place, cutoff))
    return {
        place: cutoff
        for place, cutoff in wanted.items()
        if place not in stored or cutoff > stored[place]
    }
