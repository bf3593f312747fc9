"""What the name and place of a trail say: the session it holds, and the id of its node."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memclaw_etl.trails.events import TrailKind

NODE_PREFIX: Final[Mapping[TrailKind, str]] = {
    TrailKind.CLAUDE_CODE: "cc",
    TrailKind.CURSOR: "cursor",
    TrailKind.OPENCLAW: "openclaw",
    TrailKind.BUFFER: "buffer",
    TrailKind.CODEX: "codex",
    TrailKind.GEMINI: "gemini",
}
_PLUGIN_BUFFER: Final = "interview-buffer"
"""Every install calls its buffer so; its path tells it apart."""
_TIMED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T[\d.-]{5,18}Z?_(?=.)")
_ROLLOUT: Final = re.compile(
    r"rollout-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-"
    r"(?=[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$)"
)
_SESSIONS: Final = "sessions"
_UNKNOWN_AGENT: Final = "main"


def session_of(kind: TrailKind, path: Path) -> str:
    """The session that a file's name names.

    OpenClaw: `<id>.jsonl`, `<time>_<id>.jsonl`, `<id>.jsonl.reset.<time>`. Codex:
    `rollout-<time>-<uuid>.jsonl`. Else the name without its ending.
    """
    if kind is TrailKind.OPENCLAW:
        return _TIMED.sub("", path.name.partition(".jsonl")[0], count=1)
    if kind is TrailKind.CODEX:
        return _ROLLOUT.sub("", path.stem, count=1)
    return path.stem


def node_id(kind: TrailKind, path: Path, real_path: str, *, machine12: str) -> str:
    """The node id of a trail file, as DESIGN names it."""
    prefix = f"{NODE_PREFIX[kind]}:{machine12}"
    if kind is TrailKind.OPENCLAW:
        return f"{prefix}:{agent_of(Path(real_path))}:{session_of(kind, path)}"
    if kind is TrailKind.BUFFER and path.stem == _PLUGIN_BUFFER:
        return f"{prefix}:{short_hash(real_path)}"
    return f"{prefix}:{session_of(kind, path)}"


def stored_node_id(store: Path, session_id: str, *, machine12: str) -> str:
    """The node id of a session in an OpenClaw store: the one that its file had."""
    return f"{NODE_PREFIX[TrailKind.OPENCLAW]}:{machine12}:{agent_of(store)}:{session_id}"


def agent_of(real_path: Path) -> str:
    """The agent in whose folder a session (`<agent>/sessions/`) or store (`<agent>/agent/`) is."""
    is_placed = real_path.parent.name in (_SESSIONS, "agent")
    return (real_path.parents[1].name if is_placed else "") or _UNKNOWN_AGENT


def short_hash(text: str) -> str:
    """Tells two files of one name apart."""
    return hashlib.sha1(os.fsencode(text), usedforsecurity=False).hexdigest()[:8]
