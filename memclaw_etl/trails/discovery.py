"""Which files under a source are trails. Lists and stats, never opens a file for reading.

Default deny: the folder in which an agent keeps all its projects gives nothing until `include`
names projects. A file, a flat folder or one project folder that is given as the root is consent.
"""

import os
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.errors import unreadable
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.trails.folders import Candidate
from memclaw_etl.trails.layouts import candidates
from memclaw_etl.trails.names import node_id, session_of, short_hash, stored_node_id
from memclaw_etl.trails.stores import STORE_SUFFIX, list_sessions, session_path

_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAX_INT: Final = 2**63 - 1
"""Some files have times that no calendar knows, some file systems inodes of 64 bits."""


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
    problems: tuple[tuple[Path, str], ...] = ()
    """Stores that cannot be listed now, and why: a source that goes blind must say so."""


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
    problems: list[tuple[Path, str]] = []
    for candidate in sorted(found, key=lambda one: one.path):
        file = _trail(source, real_root, candidate, machine12, skipped)
        for trail in _sessions(file, machine12, problems) if file else ():
            if str(trail.real_path) in trails:
                skipped["same_file"] += 1
            else:
                trails[str(trail.real_path)] = trail
    return Discovery(tuple(_told_apart(trails.values())), dict(skipped), tuple(problems))


def _sessions(
    file: TrailFile, machine12: str, problems: list[tuple[Path, str]]
) -> Iterator[TrailFile]:
    """The file itself, or the sessions of a store, each as if it were a file.

    A session's size is its last seq and one, and its time that of its last row.
    """
    if file.kind is not TrailKind.OPENCLAW or file.path.suffix != STORE_SUFFIX:
        yield file
        return
    try:
        sessions = list_sessions(str(file.real_path))
    except (OSError, sqlite3.Error) as error:
        problems.append(
            (file.path, f"the session store {file.path} cannot be listed: {type(error).__name__}")
        )
        return
    for one in sessions:
        yield replace(
            file,
            path=Path(session_path(str(file.path), one.session_id)),
            real_path=Path(session_path(str(file.real_path), one.session_id)),
            node_id=stored_node_id(file.real_path, one.session_id, machine12=machine12),
            file_session=one.session_id,
            size_bytes=one.last_seq + 1,
            mtime_ns=one.last_at_ms * 1_000_000 or file.mtime_ns,
        )


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
        node_id=node_id(source.kind, path, real_path, machine12=machine12),
        file_session=session_of(source.kind, path),
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


def _told_apart(trails: Iterable[TrailFile]) -> Iterator[TrailFile]:
    """Give a second file of the same name a node id of its own, from its real path."""
    taken: set[str] = set()
    for trail in trails:
        own_id = trail.node_id
        if own_id in taken:
            own_id = f"{own_id}-{short_hash(str(trail.real_path))}"
        taken.add(own_id)
        yield trail if own_id == trail.node_id else replace(trail, node_id=own_id)


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
