"""Policies where items become memories: which items of a window are live, and in which words.

The items' file keeps what the report said. What resolving sees are these items under the tenant's
policies, and the ledger's live items are of the same words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import Window, governance, results, reworded
from memclaw_etl.memories.govern import Record, fingerprint, govern
from memclaw_etl.memories.items import Item, group_key, scope_of
from memclaw_etl.stages.bench import Bench


@dataclass(frozen=True, slots=True)
class Chosen:
    """A window's items under the policies that held when they were chosen."""

    items: tuple[Item, ...]
    records: tuple[Record, ...]
    policies: str
    """Their fingerprint."""


def governed(bench: Bench, items: Sequence[Item]) -> tuple[Item, ...]:
    """The items of one window that may become memories, as they may be said."""
    if not items:
        return ()
    return govern(items, bench.settings.policies_of(items[0].tenant_id)).items


def choose_items(bench: Bench, window: Window, items: Sequence[Item]) -> Chosen:
    """Apply the policies of the window's tenant to its items."""
    policies = bench.settings.policies_of(window.tenant_id)
    left = govern(items, policies)
    return Chosen(left.items, left.records, fingerprint(policies))


def keep_items(
    tx: Connection,
    window: Window,
    chosen: Chosen,
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make these the window's live items, and note what became of the others.

    Old and new groups are touched by it. A statement that a person deleted stays deleted when a
    policy or a newer masker words it otherwise, and a relation that was undone stays undone.

    Args:
        tx: the transaction that points to the items' file.
        window: the window.
        chosen: its items from now on.
        renamed: old -> new ids of items that are the same statements in other words.
    """
    before: dict[str, set[str]] = {}
    for item_id, groups in governance.groups_of_items(tx, window.window_id).items():
        before.setdefault(renamed.get(item_id, item_id), set()).update(groups)
    results.replace_items(tx, window.window_id, _live_rows(chosen.items))
    after = governance.groups_of_items(tx, window.window_id)
    governance.carry_over(tx, before, after)
    reworded.carry_undone(tx, before, after)
    records = [(one.item_id, one.policy, one.action) for one in chosen.records]
    governance.keep_governed(tx, window, policies=chosen.policies, records=records)


def _live_rows(items: Sequence[Item]) -> list[dict[str, str]]:
    """What the ledger keeps of live items."""
    return [
        {"item_id": item.item_id, "group_key": group_key(item), "scope": scope_of(item)}
        for item in items
    ]
