"""How OpenClaw, Codex and Gemini CLI lay out their folders: which names can be trails.

OpenClaw: `agents/<agent>/sessions/<id>.jsonl`, with archives and side files beside it, and from
2026.8.1 `agents/<agent>/agent/openclaw-agent.sqlite`. Codex: `sessions/Y/M/D/rollout-*.jsonl` and
`archived_sessions/`. Gemini: `tmp/<project>/chats/session-*.json[l]`.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from memclaw_etl.trails.folders import (
    Candidate,
    Entry,
    Folder,
    Skipped,
    is_included,
    listed_or_counted,
    subfolders,
)
from memclaw_etl.trails.stores import STORE_NAME

_IMPORT_ARCHIVE: Final = "session-sqlite-import-archive"
_RESET: Final = re.compile(r".\.jsonl\.reset\.[^/]+$")
_OPENCLAW_SIDE_FILES: Final = (
    (".trajectory", "trajectory"),
    (".checkpoint.", "checkpoint"),
    (".jsonl.deleted.", "deleted"),
)
_CODEX_ROOTS: Final = ("sessions", "archived_sessions")
_CODEX_DEPTH: Final = 4
_CHATS: Final = "chats"
_GEMINI_SUFFIXES: Final = (".json", ".jsonl")
_GEMINI_OTHERS: Final = frozenset({"logs.json", "settings.json"})


def openclaw(folder: Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """OpenClaw's home, its agents, one agent, or a flat folder of sessions.

    The folder of an installation is one person's: every agent is taken unless `include` names some.
    """
    if agents := folder.child("agents"):
        for listed in listed_or_counted(folder, agents, None, skipped):
            yield from openclaw(listed, include, skipped)
        return
    yield from _openclaw_agent(folder, skipped)
    if folder.child("sessions"):
        return
    for entry, inside in subfolders(folder, skipped):
        is_agent = inside.child("sessions") or inside.child("agent")
        if is_agent and (not include or is_included(entry.name, include, skipped)):
            yield from _openclaw_agent(inside, skipped)


def _openclaw_agent(folder: Folder, skipped: Skipped) -> Iterator[Candidate]:
    """The sessions in the folder of one agent, or directly in a folder."""
    for name in ("sessions", "agent"):
        if entry := folder.child(name):
            for listed in listed_or_counted(folder, entry, folder.project, skipped):
                yield from _openclaw_sessions(listed, skipped)
    yield from _openclaw_sessions(folder, skipped)


def _openclaw_sessions(folder: Folder, skipped: Skipped) -> Iterator[Candidate]:
    for entry in folder.files():
        reason = _openclaw_reason(entry)
        if reason is None:
            yield folder.candidate(entry)
        else:
            skipped[reason] += 1
    if archive := folder.child(_IMPORT_ARCHIVE):
        for listed in listed_or_counted(folder, archive, None, skipped):
            skipped["import_archive"] += len(listed.files())


def _openclaw_reason(entry: Entry) -> str | None:
    """Why a file is no session, None if it is one."""
    if entry.name == STORE_NAME:
        return None
    for mark, reason in _OPENCLAW_SIDE_FILES:
        if mark in entry.name:
            return reason
    if entry.name.endswith(".zst"):
        return "compressed"
    is_trail = entry.name.endswith(".jsonl") or _RESET.search(entry.name)
    return None if is_trail else "not_a_trail"


def codex(folder: Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """Codex' home, a folder of sessions by date, or a flat folder.

    There are no project folders; `include`, where given, names the folders by date (`2026/06/*`).
    """
    roots = [child for name in _CODEX_ROOTS if (child := folder.child(name))]
    if not roots:
        yield from _codex_tree(folder, "", include, skipped, depth=_CODEX_DEPTH)
        return
    for entry in folder.files():
        skipped[_codex_reason(entry) or "not_a_trail"] += 1
    for root in roots:
        for listed in listed_or_counted(folder, root, None, skipped):
            yield from _codex_tree(listed, "", include, skipped, depth=_CODEX_DEPTH)


def _codex_tree(
    folder: Folder, place: str, include: tuple[str, ...], skipped: Skipped, *, depth: int
) -> Iterator[Candidate]:
    taken = not include or not place or any(fnmatchcase(place, one) for one in include)
    for entry in folder.files():
        reason = _codex_reason(entry) or (None if taken else "not_included")
        if reason is None:
            yield folder.candidate(entry)
        else:
            skipped[reason] += 1
    if depth:
        for entry, inside in subfolders(folder, skipped):
            below = f"{place}/{entry.name}" if place else entry.name
            yield from _codex_tree(inside, below, include, skipped, depth=depth - 1)


def _codex_reason(entry: Entry) -> str | None:
    if entry.name == "history.jsonl":
        return "history"
    if entry.name.endswith(".jsonl"):
        return None
    return "compressed" if entry.name.endswith(".jsonl.zst") else "not_a_trail"


def gemini(folder: Folder, include: tuple[str, ...], skipped: Skipped) -> Iterator[Candidate]:
    """Gemini's home, its projects, one project, or a flat folder of chats."""
    if chats := folder.child(_CHATS):
        for listed in listed_or_counted(folder, chats, folder.project, skipped):
            yield from _gemini_chats(listed, skipped)
        return
    if (tmp := folder.child("tmp")) and not any(map(_is_chat, folder.files())):
        for listed in listed_or_counted(folder, tmp, None, skipped):
            yield from gemini(listed, include, skipped)
        return
    yield from _gemini_chats(folder, skipped)
    for entry, inside in subfolders(folder, skipped):
        if not (chats := inside.child(_CHATS)):
            continue
        if is_included(entry.name, include, skipped):
            for listed in listed_or_counted(inside, chats, entry.name, skipped):
                yield from _gemini_chats(listed, skipped)


def _gemini_chats(folder: Folder, skipped: Skipped) -> Iterator[Candidate]:
    for entry in folder.files():
        if _is_chat(entry):
            yield folder.candidate(entry)
        else:
            skipped["checkpoint" if entry.name.startswith("checkpoint") else "not_a_trail"] += 1


def _is_chat(entry: Entry) -> bool:
    named = entry.name.endswith(_GEMINI_SUFFIXES) and entry.name not in _GEMINI_OTHERS
    return named and not entry.name.startswith("checkpoint")
