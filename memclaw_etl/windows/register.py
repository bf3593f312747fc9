"""From files to nodes: one node per trail for its life, whatever its file does."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memclaw_etl.errors import SettingsError
from memclaw_etl.lake.ledger import Ledger, Node, nodes
from memclaw_etl.masking import open_masker
from memclaw_etl.trails.discovery import Source, TrailFile


@dataclass(frozen=True, slots=True)
class Found:
    """A trail file and its node."""

    trail: TrailFile
    node: Node

    @property
    def changed(self) -> bool:
        """Whether the file differs from what the planner saw last."""
        seen = (self.node.seen_size, self.node.seen_mtime_ns, self.node.seen_inode)
        return seen != (self.trail.size_bytes, self.trail.mtime_ns, self.trail.inode)


def register_trails(
    ledger: Ledger, source: Source, trails: Sequence[TrailFile], *, machine12: str | None = None
) -> tuple[list[Found], list[tuple[str, str]]]:
    """Give every trail its node; new trails get one.

    With `machine12`, other machines use the ledger, too: the same path is another file there.

    Returns the trails with their nodes, and (path, message) of those that were refused.
    """
    with ledger.read() as tx:
        all_nodes = nodes.all_nodes(tx, tenant_id=source.tenant_id)
    known = [node for node in all_nodes if nodes.is_of(node, machine12)]
    by_path = {node.real_path: node for node in known if node.kind == source.kind}
    trails, refused = _with_sound_names(trails)
    found = [
        Found(trail, by_path[str(trail.real_path)])
        for trail in trails
        if str(trail.real_path) in by_path
    ]
    new = [trail for trail in trails if str(trail.real_path) not in by_path]
    new, named = _without_credentials(new)
    refused += named
    if new:
        by_id = {node.node_id: node for node in known}
        added, more_refused = _register_new(ledger, source, new, by_id)
        found += added
        refused += more_refused
    return found, refused


def _with_sound_names(
    trails: Sequence[TrailFile],
) -> tuple[list[TrailFile], list[tuple[str, str]]]:
    """Leave out trails whose path is no text: no database and no terminal can name them."""
    sound: list[TrailFile] = []
    refused: list[tuple[str, str]] = []
    for trail in trails:
        name = str(trail.real_path)
        if _is_text(name):
            sound.append(trail)
            continue
        shown = name.encode("utf-8", "backslashreplace").decode()
        refused.append((shown, f"the path {shown} is not UTF-8; rename the file or its folder"))
    return sound, refused


def _without_credentials(
    trails: Sequence[TrailFile],
) -> tuple[list[TrailFile], list[tuple[str, str]]]:
    """Leave out new trails whose path holds a credential: paths and node ids stand everywhere."""
    clean: list[TrailFile] = []
    refused: list[tuple[str, str]] = []
    for trail in trails:
        masked = open_masker().session().mask(str(trail.path))
        if not masked.findings:
            clean.append(trail)
            continue
        why = (
            f"the path {masked.text} holds a credential ({masked.findings[0].kind}), and paths"
            " are stored; rename the file or its folder"
        )
        refused.append((masked.text, why))
    return clean, refused


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _register_new(
    ledger: Ledger, source: Source, trails: Sequence[TrailFile], by_id: Mapping[str, Node]
) -> tuple[list[Found], list[tuple[str, str]]]:
    found: list[Found] = []
    refused: list[tuple[str, str]] = []
    taken = dict(by_id)
    with ledger.write() as tx:
        for trail in trails:
            holder = taken.get(trail.node_id)
            if holder is not None and _was_moved(holder, trail):
                place = {
                    "path": str(trail.path),
                    "real_path": str(trail.real_path),
                    "root": str(trail.root),
                }
                nodes.change(tx, holder, **place)
                moved = nodes.get(tx, holder.tenant_id, holder.node_id) or holder
                found.append(Found(trail, moved))
                continue
            node_id = trail.node_id if holder is None else _other_id(trail)
            try:
                node = nodes.register(tx, _row(source, trail, node_id, now=ledger.now()))
            except SettingsError as error:
                refused.append((str(trail.path), str(error)))
                continue
            taken[node.node_id] = node
            found.append(Found(trail, node))
    return found, refused


def _was_moved(node: Node, trail: TrailFile) -> bool:
    """The node's file is gone from its old place, and this is the same session elsewhere."""
    return node.kind == trail.kind and not Path(node.real_path).exists()


def _other_id(trail: TrailFile) -> str:
    """An id for another file with the same session name: the place tells them apart."""
    place = hashlib.sha1(str(trail.real_path).encode(), usedforsecurity=False).hexdigest()[:8]
    return f"{trail.node_id}+{place}"


def _row(source: Source, trail: TrailFile, node_id: str, *, now: Any) -> dict[str, Any]:  # noqa: ANN401 - column value
    return {
        "tenant_id": source.tenant_id,
        "node_id": node_id,
        "kind": str(trail.kind),
        "path": str(trail.path),
        "real_path": str(trail.real_path),
        "root": str(trail.root),
        "file_session": trail.file_session,
        "fleet_id": source.fleet_id,
        "agent_id": source.agent_id,
        "epoch": 0,
        "frontier_seq": 0,
        "frontier_part": 0,
        "frontier_byte": 0,
        "frontier_open": False,
        "decoder_state": {},
        "settled": False,
        "at_end": False,
        "created_at": now,
    }
