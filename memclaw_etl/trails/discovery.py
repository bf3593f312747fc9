"""Which files under a source are trails. Lists and stats, never opens a file for reading.

Default deny: the folder in which an agent keeps all its projects gives nothing until `include`
names projects. A file, a flat folder or one project folder that is given as the root is consent.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.trails.layouts import Candidate, candidates

NODE_PREFIX: Final[Mapping[TrailKind, str]] = {
    TrailKind.CLAUDE_CODE: "cc",
    TrailKind.CURSOR: "cursor",
    TrailKind.BUFFER: "buffer",
}
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAX_INT: Final = 2**63 - 1
"""Some files have times that no calendar knows, some file systems inodes of 64 bits."""
_PLUGIN_BUFFER: Final = "interview-buffer"
"""Every install calls its buffer so; its path tells it apart."""


@dataclass(frozen=True, slots=True)
class Source:
    """One place that a person has allowed us to read. `include` globs match project folders."""

    kind: TrailKind
    root: Path
    include: tuple[str, ...] = ()
    tenant_id: str = "default"
    fleet_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class TrailFile:
    """One trail as it was found. `path` as named, `real_path` under `root` (both resolved)."""

    kind: TrailKind
    path: Path
    real_path: Path
    root: Path
    node_id: str
    file_session: str
    size_bytes: int
    mtime_ns: int
    inode: int
    project: str | None = None
    """Name of the project folder, as the agent made it; never decoded."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The trails of a source, sorted by path, and how much was left out and why.

    Reasons: `not_included` (projects), and in files `subagents`, `memory`, `tool_results`,
    `outside_root`, `same_file`, `legacy_txt`, `not_a_trail`, `not_a_file`, `vanished`; in folders
    `unreadable`.
    """

    trails: tuple[TrailFile, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)


def discover(source: Source, *, machine12: str) -> Discovery:
    """Find the trails of a source by listing folders only.

    Raises:
        TrailUnreadableError: the root is not there or cannot be listed.
    """
    skipped: Counter[str] = Counter()
    real_root = Path(os.path.realpath(source.root))
    try:
        found = list(candidates(source.kind, source.root, source.include, skipped))
    except OSError as error:
        raise TrailUnreadableError(
            f"source {source.kind} cannot be listed at {source.root}: {error.strerror}",
            resource=f"source:{source.kind}:{source.root}",
        ) from error
    trails: dict[str, TrailFile] = {}
    for candidate in sorted(found, key=lambda one: one.path):
        trail = _trail(source, real_root, candidate, machine12, skipped)
        if trail is None:
            continue
        if str(trail.real_path) in trails:
            skipped["same_file"] += 1
            continue
        trails[str(trail.real_path)] = trail
    return Discovery(tuple(_told_apart(trails.values())), dict(skipped))


def _trail(
    source: Source,
    real_root: Path,
    candidate: Candidate,
    machine12: str,
    skipped: Counter[str],
) -> TrailFile | None:
    """The trail of a candidate; None, and counted, if it is no readable file under the root."""
    real_path = _real_path(source.root, real_root, candidate)
    if real_path is None:
        skipped["outside_root"] += 1
        return None
    try:
        status = os.stat(real_path)  # noqa: PTH116
    except OSError:
        skipped["vanished"] += 1
        return None
    if not stat.S_ISREG(status.st_mode):
        skipped["not_a_file"] += 1
        return None
    path = Path(candidate.path)
    return TrailFile(
        kind=source.kind,
        path=path,
        real_path=Path(real_path),
        root=real_root,
        node_id=f"{NODE_PREFIX[source.kind]}:{machine12}:{_stem(source.kind, path, real_path)}",
        file_session=path.stem,
        size_bytes=status.st_size,
        mtime_ns=max(min(status.st_mtime_ns, _MAX_INT), -_MAX_INT),
        inode=status.st_ino & _MAX_INT,
        project=candidate.project,
    )


def _real_path(root: Path, real_root: Path, candidate: Candidate) -> str | None:
    """The real path of a candidate, or None if it lies outside the real root."""
    if not candidate.linked:
        return f"{real_root}{candidate.path[len(str(root)) :]}"
    real_path = os.path.realpath(candidate.path)
    is_under = real_path == str(real_root) or real_path.startswith(f"{real_root}{os.sep}")
    return real_path if is_under else None


def _stem(kind: TrailKind, path: Path, real_path: str) -> str:
    is_plugins = kind is TrailKind.BUFFER and path.stem == _PLUGIN_BUFFER
    return _short_hash(real_path) if is_plugins else path.stem


def _told_apart(trails: Iterable[TrailFile]) -> Iterator[TrailFile]:
    """Give a second file of the same name a node id of its own, from its real path."""
    taken: set[str] = set()
    for trail in trails:
        node_id = trail.node_id
        if node_id in taken:
            node_id = f"{node_id}-{_short_hash(str(trail.real_path))}"
        taken.add(node_id)
        yield trail if node_id == trail.node_id else replace(trail, node_id=node_id)


def _short_hash(text: str) -> str:
    return hashlib.sha1(os.fsencode(text), usedforsecurity=False).hexdigest()[:8]


def open_trail(real_path: Path, *, root: Path, node_id: str) -> BinaryIO:
    """Open a trail for reading, by its real path and only while that still lies under the root.

    Raises:
        TrailUnreadableError: it vanished, may not be read, is no regular file, or was replaced by
            a link that leads elsewhere.
    """
    if Path(os.path.realpath(real_path)) != real_path or not real_path.is_relative_to(root):
        raise unreadable(real_path, node_id, "a link stands in its place")
    try:
        handle = os.open(real_path, _OPEN_FLAGS)
    except OSError as error:
        raise unreadable(real_path, node_id, error.strerror or "unknown reason") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise unreadable(real_path, node_id, "it is no regular file")
    return os.fdopen(handle, "rb")


def unreadable(real_path: Path, node_id: str, reason: str) -> TrailUnreadableError:
    """The error that says why a trail cannot be read now."""
    message = (
        f"node {node_id}: the trail {real_path} cannot be read: {reason};"
        " nothing is lost, it is tried again later"
    )
    return TrailUnreadableError(message, resource=f"trail:{node_id}")
