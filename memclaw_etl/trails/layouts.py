"""How each agent lays out its folders: which names can be trails.

Claude Code: `projects/<slug>/<session>.jsonl`, beside `<session>/subagents/`, `memory/`,
`tool-results/` and, in the old layout, `agent-*.jsonl`. Cursor:
`projects/<slug>/agent-transcripts/<id>/<id>.jsonl`, also flat there. Buffer: flat.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from memclaw_etl.trails import agent_layouts
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.trails.folders import (
    SIDE_FOLDERS,
    SUFFIX,
    Candidate,
    Entry,
    Folder,
    Skipped,
    count_side_folder,
    is_included,
    list_folder,
    listed_or_counted,
    subfolders,
)

_TRANSCRIPTS: Final = "agent-transcripts"
_PROJECTS: Final = "projects"


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
    folder = Folder(list_folder(root), linked=False, project=named.name)
    if kind is TrailKind.BUFFER:
        yield from _flat(folder, skipped)
    elif kind is TrailKind.CURSOR:
        yield from _cursor(folder, include, skipped)
    elif kind is TrailKind.OPENCLAW:
        yield from agent_layouts.openclaw(folder, include, skipped)
    elif kind is TrailKind.CODEX:
        yield from agent_layouts.codex(folder, include, skipped)
    elif kind is TrailKind.GEMINI:
        yield from agent_layouts.gemini(folder, include, skipped)
    else:
        yield from _claude(folder, include, skipped)


def _flat(
    folder: Folder, skipped: Skipped, *, text_files: str = "not_a_trail"
) -> Iterator[Candidate]:
    """The trails that lie directly in a folder; `text_files` is what a `.txt` counts as."""
    for entry in folder.entries:
        if entry.name.endswith(SUFFIX):
            if entry.name.startswith("agent-"):
                skipped["subagents"] += 1
            else:
                linked = folder.linked or entry.is_symlink()
                yield Candidate(entry.path, linked, folder.project)
        elif not entry.is_dir():
            skipped[text_files if entry.name.endswith(".txt") else "not_a_trail"] += 1


def _session_folder(folder: Folder, skipped: Skipped) -> None:
    """Count what lies beside a session in the folder of its name."""
    for name in SIDE_FOLDERS:
        if side := folder.child(name):
            count_side_folder(side, skipped)


def _claude(folder: Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """A project folder or flat folder, the folder of all projects, or the agent's own home."""
    projects = folder.child(_PROJECTS)
    if projects and not folder.has_trails():
        yield from _claude(folder.listed(projects, project=None), include, skipped)
        return
    yield from _flat(folder, skipped)
    for entry, inside in subfolders(folder, skipped):
        if not inside.has_trails():
            _session_folder(inside, skipped)
        elif is_included(entry.name, include, skipped):
            yield from _flat(inside, skipped)
            for _, session in subfolders(inside, skipped):
                _session_folder(session, skipped)


def _cursor(folder: Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """Transcripts folder or flat folder, one project, all projects, or the agent's own home."""
    if transcripts := folder.child(_TRANSCRIPTS):
        yield from _transcripts(folder.listed(transcripts, project=folder.project), skipped)
        return
    projects = folder.child(_PROJECTS)
    if projects and not folder.has_trails():
        yield from _cursor(folder.listed(projects, project=None), include, skipped)
        return
    yield from _flat(folder, skipped, text_files="legacy_txt")
    for entry, inside in subfolders(folder, skipped):
        if not (transcripts := inside.child(_TRANSCRIPTS)):
            own = replace(inside, project=folder.project)
            yield from _transcript_folder(entry, own, skipped)
        elif is_included(entry.name, include, skipped):
            for listed in listed_or_counted(inside, transcripts, entry.name, skipped):
                yield from _transcripts(listed, skipped)


def _transcripts(folder: Folder, skipped: Skipped) -> Iterator[Candidate]:
    """The transcripts of one project: `<id>/<id>.jsonl` and `<id>.jsonl`."""
    yield from _flat(folder, skipped, text_files="legacy_txt")
    for entry, inside in subfolders(folder, skipped):
        yield from _transcript_folder(entry, replace(inside, project=folder.project), skipped)


def _transcript_folder(entry: Entry, folder: Folder, skipped: Skipped) -> Iterator[Candidate]:
    """The transcript in the folder of its own name."""
    for inner in folder.entries:
        if inner.name == entry.name + SUFFIX:
            yield Candidate(inner.path, folder.linked or inner.is_symlink(), folder.project)
    _session_folder(folder, skipped)
