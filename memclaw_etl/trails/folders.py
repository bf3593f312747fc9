"""Folders as discovery sees them: listed once, never opened, links remembered."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

SUFFIX: Final = ".jsonl"
SIDE_FOLDERS: Final = {
    "subagents": "subagents",
    "memory": "memory",
    "tool-results": "tool_results",
}
"""Folders beside sessions that hold none, and what their files count as."""
Entry = os.DirEntry[str]
Skipped = Counter[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that has the name of a trail. `linked`: it, or a folder above it, is a link."""

    path: str
    linked: bool
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """A listed folder: what is in it, whether a link led here, and the project it belongs to."""

    entries: list[Entry]
    linked: bool
    project: str | None

    def has_trails(self) -> bool:
        """Whether a file with the name of a trail lies directly in it."""
        return any(entry.name.endswith(SUFFIX) for entry in self.entries)

    def child(self, name: str) -> Entry | None:
        """The folder of this name in it."""
        return next((e for e in self.entries if e.name == name and e.is_dir()), None)

    def children(self) -> list[Entry]:
        """The folders in it."""
        return [entry for entry in self.entries if entry.is_dir()]

    def files(self) -> list[Entry]:
        """What is no folder in it."""
        return [entry for entry in self.entries if not entry.is_dir()]

    def candidate(self, entry: Entry) -> Candidate:
        """A file in it, as a candidate."""
        return Candidate(entry.path, self.linked or entry.is_symlink(), self.project)

    def listed(self, entry: Entry, *, project: str | None) -> "Folder":
        """List a folder in it. Raises OSError."""
        return Folder(list_folder(entry.path), self.linked or entry.is_symlink(), project)


def list_folder(folder: Path | str) -> list[Entry]:
    """The entries of a folder. Raises OSError."""
    with os.scandir(folder) as entries:
        return list(entries)


def count_side_folder(entry: Entry, skipped: Skipped) -> None:
    """Count the files of a folder that holds no sessions."""
    for _, _, names in os.walk(entry.path):
        skipped[SIDE_FOLDERS[entry.name]] += len(names)


def subfolders(folder: Folder, skipped: Skipped) -> Iterator[tuple[Entry, Folder]]:
    """The folders in a folder, listed; side folders and what cannot be listed are counted."""
    for entry in folder.children():
        if entry.name in SIDE_FOLDERS:
            count_side_folder(entry, skipped)
            continue
        for listed in listed_or_counted(folder, entry, entry.name, skipped):
            yield entry, listed


def listed_or_counted(
    folder: Folder, entry: Entry, project: str | None, skipped: Skipped
) -> Iterator[Folder]:
    """The listed folder, or nothing, and counted."""
    try:
        listed = folder.listed(entry, project=project)
    except OSError:
        skipped["unreadable"] += 1
    else:
        yield listed


def is_included(name: str, include: tuple[str, ...], skipped: Skipped) -> bool:
    """Whether the person named this project; counted if not."""
    if any(fnmatchcase(name, pattern) for pattern in include):
        return True
    skipped["not_included"] += 1
    return False
