"""Trails that are no longer where they were: their nodes stay, and say so."""

from collections.abc import Collection
from pathlib import Path

from memclaw_etl.lake.ledger import Ledger, Node, nodes, windows
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.stores import split_path


def note_vanished(
    ledger: Ledger,
    source: Source,
    present: Collection[str],
    *,
    unlisted: Collection[Path],
    machine12: str | None = None,
) -> list[tuple[str, str]]:
    """Mark the nodes of a source whose trail is gone; (node id, message) of what is news.

    Agents delete old transcripts: a trail that is gone is reported once, and again only as long as
    a window of it waits.

    Args:
        ledger: where the nodes are.
        source: the source that was listed.
        present: ids of the nodes whose trail was found.
        unlisted: stores that could not be listed now; nothing is known of their sessions.
        machine12: this machine, where others use the ledger, too; None when it is the only one.
    """
    root = str(source.root.resolve())
    with ledger.read() as tx:
        known = nodes.all_nodes(tx, tenant_id=source.tenant_id)
        waiting = windows.nodes_that_wait(tx)
    gone = [
        node
        for node in known
        if nodes.is_of(node, machine12)
        and node.root == root
        and node.kind == source.kind
        and node.node_id not in present
        and _is_gone(Path(node.real_path), unlisted)
    ]
    changed = [node for node in gone if node.problem_code != "vanished"]
    if changed:
        with ledger.write() as tx:
            for node in changed:
                nodes.change(tx, node, problem_code="vanished", problem=_what_happened(node))
    news = [
        node
        for node in gone
        if node.problem_code != "vanished" or (node.tenant_id, node.node_id) in waiting
    ]
    return [(node.node_id, _message(node)) for node in news]


def _is_gone(real_path: Path, unlisted: Collection[Path]) -> bool:
    """Whether a trail is away, not only left to another source or in a store we cannot list now."""
    if (place := split_path(real_path)) is not None:
        return place[0] not in unlisted
    return not real_path.exists()


def _what_happened(node: Node) -> str:
    """Away, or deleted by the person: OpenClaw then keeps the file under another name."""
    path = Path(node.real_path)
    deleted = next(path.parent.glob(f"{_literal(path.name)}.deleted.*"), None)
    return "the trail was deleted" if deleted else "the trail is gone"


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _message(node: Node) -> str:
    return (
        f"node {node.node_id}: {_what_happened(node)} ({node.path}); what was pinned but not"
        " yet masked waits for it (skip it with `memclaw-etl skip`)"
    )
