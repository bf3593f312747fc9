"""How each agent lays out its folders: which names can be trails.

Claude Code: `projects/<slug>/<session>.jsonl`, beside `<session>/subagents/`, `memory/`,
`tool-results/` and, in the old layout, `agent-*.jsonl`. Cursor:
`projects/<slug>/agent-transcripts/<id>/<id>.jsonl`, also flat there. Buffer: flat.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from memclaw_etl.trails.events import TrailKind

_SUFFIX: Final = ".jsonl"
_TRANSCRIPTS: Final = "agent-transcripts"
_PROJECTS: Final = "projects"
_SIDE_FOLDERS: Final = {
    "subagents": "subagents",
    "memory": "memory",
    "tool-results": "tool_results",
}
Entry = os.DirEntry[str]
Skipped = Counter[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that has the name of a trail. `linked`: it, or a folder above it, is a link."""

    path: str
    linked: bool
    project: str | None = None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A listed folder: what is in it, whether a link led here, and the project it belongs to."""

    entries: list[Entry]
    linked: bool
    project: str | None

    def has_trails(self) -> bool:
        """Whether a file with the name of a trail lies directly in it."""
        return any(entry.name.endswith(_SUFFIX) for entry in self.entries)

    def child(self, name: str) -> Entry | None:
        """The folder of this name in it."""
        return next((e for e in self.entries if e.name == name and e.is_dir()), None)

    def children(self) -> list[Entry]:
        """The folders in it."""
        return [entry for entry in self.entries if entry.is_dir()]

    def listed(self, entry: Entry, *, project: str | None) -> "_Folder":
        """List a folder in it. Raises OSError."""
        return _Folder(_list(entry.path), self.linked or entry.is_symlink(), project)


def candidates(
    kind: TrailKind, root: Path, include: tuple[str, ...], skipped: Skipped
) -> Iterator[Candidate]:
    """Every file that may be a trail of this kind under the root; the rest is counted.

    Raises:
        OSError: the root cannot be listed. Folders below it that cannot are counted.
    """
    if root.is_file():
        yield Candidate(str(root), linked=True)
        return
    named = root.parent if root.name == _TRANSCRIPTS else root
    folder = _Folder(_list(root), linked=False, project=named.name)
    if kind is TrailKind.BUFFER:
        yield from _flat(folder, skipped)
    elif kind is TrailKind.CURSOR:
        yield from _cursor(folder, include, skipped)
    else:
        yield from _claude(folder, include, skipped)


def _list(folder: Path | str) -> list[Entry]:
    with os.scandir(folder) as entries:
        return list(entries)


def _flat(
    folder: _Folder, skipped: Skipped, *, text_files: str = "not_a_trail"
) -> Iterator[Candidate]:
    """The trails that lie directly in a folder; `text_files` is what a `.txt` counts as."""
    for entry in folder.entries:
        if entry.name.endswith(_SUFFIX):
            if entry.name.startswith("agent-"):
                skipped["subagents"] += 1
            else:
                linked = folder.linked or entry.is_symlink()
                yield Candidate(entry.path, linked, folder.project)
        elif not entry.is_dir():
            skipped[text_files if entry.name.endswith(".txt") else "not_a_trail"] += 1


def _session_folder(folder: _Folder, skipped: Skipped) -> None:
    """Count what lies beside a session in the folder of its name."""
    for name in _SIDE_FOLDERS:
        if side := folder.child(name):
            _count_side_folder(side, skipped)


def _count_side_folder(entry: Entry, skipped: Skipped) -> None:
    """Count the files of a folder that holds no sessions."""
    for _, _, names in os.walk(entry.path):
        skipped[_SIDE_FOLDERS[entry.name]] += len(names)


def _claude(folder: _Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """A project folder or flat folder, the folder of all projects, or the agent's own home."""
    projects = folder.child(_PROJECTS)
    if projects and not folder.has_trails():
        yield from _claude(folder.listed(projects, project=None), include, skipped)
        return
    yield from _flat(folder, skipped)
    for entry, inside in _subfolders(folder, skipped):
        if not inside.has_trails():
            _session_folder(inside, skipped)
        elif _is_included(entry.name, include, skipped):
            yield from _flat(inside, skipped)
            for _, session in _subfolders(inside, skipped):
                _session_folder(session, skipped)


def _cursor(folder: _Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """Transcripts folder or flat folder, one project, all projects, or the agent's own home."""
    if transcripts := folder.child(_TRANSCRIPTS):
        yield from _transcripts(folder.listed(transcripts, project=folder.project), skipped)
        return
    projects = folder.child(_PROJECTS)
    if projects and not folder.has_trails():
        yield from _cursor(folder.listed(projects, project=None), include, skipped)
        return
    yield from _flat(folder, skipped, text_files="legacy_txt")
    for entry, inside in _subfolders(folder, skipped):
        if not (transcripts := inside.child(_TRANSCRIPTS)):
            own = replace(inside, project=folder.project)
            yield from _transcript_folder(entry, own, skipped)
        elif _is_included(entry.name, include, skipped):
            for listed in _listed_or_counted(inside, transcripts, entry.name, skipped):
                yield from _transcripts(listed, skipped)


def _transcripts(folder: _Folder, skipped: Skipped) -> Iterator[Candidate]:
    """The transcripts of one project: `<id>/<id>.jsonl` and `<id>.jsonl`."""
    yield from _flat(folder, skipped, text_files="legacy_txt")
    for entry, inside in _subfolders(folder, skipped):
        yield from _transcript_folder(entry, replace(inside, project=folder.project), skipped)


def _transcript_folder(entry: Entry, folder: _Folder, skipped: Skipped) -> Iterator[Candidate]:
    """The transcript in the folder of its own name."""
    for inner in folder.entries:
        if inner.name == entry.name + _SUFFIX:
            yield Candidate(inner.path, folder.linked or inner.is_symlink(), folder.project)
    _session_folder(folder, skipped)


def _subfolders(folder: _Folder, skipped: Skipped) -> Iterator[tuple[Entry, _Folder]]:
    """The folders in a folder, listed; side folders and what cannot be listed are counted."""
    for entry in folder.children():
        if entry.name in _SIDE_FOLDERS:
            _count_side_folder(entry, skipped)
            continue
        for listed in _listed_or_counted(folder, entry, entry.name, skipped):
            yield entry, listed


def _listed_or_counted(
    folder: _Folder, entry: Entry, project: str, skipped: Skipped
) -> Iterator[_Folder]:
    """The listed folder, or nothing, and counted."""
    try:
        listed = folder.listed(entry, project=project)
    except OSError:
        skipped["unreadable"] += 1
    else:
        yield listed


def _is_included(name: str, include: tuple[str, ...], skipped: Skipped) -> bool:
    """Whether the person named this project; counted if not."""
    if any(fnmatchcase(name, pattern) for pattern in include):
        return True
    skipped["not_included"] += 1
    return False
