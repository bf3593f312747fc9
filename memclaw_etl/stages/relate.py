"""Relating new statements to those that are there, and noting it in the ledger."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from memclaw_etl.lake.ledger import statements
from memclaw_etl.lake.ledger.statements import StoredEdge
from memclaw_etl.memories.items import Item, group_key
from memclaw_etl.memories.relate import Edge, Said, edges, marks
from memclaw_etl.memories.resolve import said_by
from memclaw_etl.stages.bench import Bench

ItemsOf = Callable[[Collection[str]], Iterator[Item]]


def relate(bench: Bench, items: Sequence[Item], *, items_of: ItemsOf) -> None:
    """Find the edges between groups that are new and all live ones of their scopes.

    On return the ledger holds marks and edges of every group of `items`. The caller is the only
    writer of their scopes. Doing it again finds nothing to do.

    Args:
        bench: the stores.
        items: live items of touched groups.
        items_of: gives the live items of groups.
    """
    said = _said(items)
    with bench.ledger.read() as tx:
        new = said.keys() - statements.marked(tx, said.keys())
    if not new:
        return
    marks_of, found = _related(bench, said, new, items_of)
    with bench.ledger.write() as tx:
        statements.add(tx, marks_of, found)


def relate_anew(bench: Bench, groups: Collection[str], *, items_of: ItemsOf) -> None:
    """Find marks and edges of these groups as if there were none, in place of those that are.

    Whoever stops in between leaves each group with its old ones or its new ones. The caller is the
    only writer of all scopes.
    """
    said = _said(items_of(groups))
    marks_of, found = _related(bench, said, set(said), items_of)
    with bench.ledger.write() as tx:
        statements.remove(tx, groups)
        statements.add(tx, marks_of, found)


def _related(
    bench: Bench, said: Mapping[str, Said], new: Collection[str], items_of: ItemsOf
) -> tuple[dict[str, list[str]], list[StoredEdge]]:
    """Marks of the groups that are new, and their edges to each other and to all that are there."""
    marks_of = {key: _mark_hashes(said[key]) for key in new}
    with bench.ledger.read() as tx:
        near = statements.sharing(tx, {mark for some in marks_of.values() for mark in some})
    missing = near - said.keys()
    both = {key: said[key] for key in {*new, *(near & said.keys())}}
    both |= _said(items_of(missing)) if missing else {}
    return marks_of, [_stored(edge, both) for edge in edges(both, new=new)]


def _said(items: Iterable[Item]) -> dict[str, Said]:
    return {group_key(item): said for item in items if (said := said_by(item)) is not None}


def _mark_hashes(said: Said) -> list[str]:
    """The marks of a statement as they may stand in the ledger; one at least, as a note of it."""
    shared = [f"{said.scope}:{said.memory_type}:{mark}" for mark in marks(said.content)]
    alone = f"{said.scope}:{said.memory_type}::{said.content}"
    return [
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        for text in shared or [alone]
    ]


def _stored(edge: Edge, said: Mapping[str, Said]) -> StoredEdge:
    return StoredEdge(
        edge_id=edge.edge_id,
        left_key=edge.left,
        right_key=edge.right,
        scope=said[edge.left].scope,
        kind=edge.kind,
        reason=edge.reason,
    )
