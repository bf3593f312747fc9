"""Claude Code lines that are certainly noise, told without building their values.

Nine tenths of the bytes of a trail are tool results, tool calls and thinking. msgspec checks the
whole line as strict JSON, but builds only the few fields by which such a line is known. Whatever
does not fit this narrow shape exactly is left to the thorough path, so that both give the same.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from memclaw_etl.trails.content import reason_of_types

TYPE_NOISE: Final = {
    "summary": "summary",
    "file-history-snapshot": "file_history",
    "file-history-delta": "file_history",
    "system": "system",
    "progress": "progress",
    "ai-title": "title",
    "custom-title": "title",
    "agent-name": "title",
    "agent-color": "title",
    "last-prompt": "last_prompt",
    "mode": "mode",
    "permission-mode": "mode",
    "agent-setting": "mode",
    "bridge-session": "bridge_session",
    "pr-link": "pr_link",
}
"""Noise reason of the line types that never hold an event."""
_SAFE_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,31}")


Link = tuple[str, str | None]
"""(uuid, parent uuid) of a line."""


class CertainNoise(NamedTuple):
    """Why a line is noise, which client version wrote it, and its place in the conversation."""

    noise: tuple[str]
    version: str | None
    links: tuple[Link, ...]


class _Block(msgspec.Struct, gc=False):
    type: str = ""


class _Message(msgspec.Struct, gc=False):
    content: list[_Block] | str = ""
    model: str = ""


class _Line(msgspec.Struct, gc=False):
    """The fields of a line that decide; a value of another type makes decoding fail."""

    type: str = ""
    message: _Message | None = None
    version: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815
    logicalParentUuid: str | None = None  # noqa: N815
    isSidechain: bool = False  # noqa: N815
    isMeta: bool = False  # noqa: N815
    isCompactSummary: bool = False  # noqa: N815
    isVisibleInTranscriptOnly: bool = False  # noqa: N815
    isApiErrorMessage: bool = False  # noqa: N815
    promptSource: None = None  # noqa: N815
    origin: None = None
    planContent: None = None  # noqa: N815


_DECODER: Final = msgspec.json.Decoder(_Line)


def certain_noise(data: bytes) -> CertainNoise | None:
    """Why the line is noise, where that is certain; None says nothing at all."""
    try:
        line = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if reason := TYPE_NOISE.get(line.type):
        return CertainNoise(*_noise(reason, line.version), _links(line))
    message = line.message
    if message is None or isinstance(message.content, str) or _flagged(line):
        return None
    types = {block.type for block in message.content}
    if "text" in types or message.model == "<synthetic>":
        return None
    if line.type == "assistant" or (line.type == "user" and "tool_result" in types):
        return CertainNoise(*_noise(reason_of_types(types), line.version), _links(line))
    return None


def _flagged(line: _Line) -> bool:
    return (
        line.isSidechain
        or line.isMeta
        or line.isCompactSummary
        or line.isVisibleInTranscriptOnly
        or line.isApiErrorMessage
    )


@lru_cache(maxsize=512)
def _noise(reason: str, version: str | None) -> tuple[tuple[str], str | None]:
    return (reason,), plain_version(version)


def _links(line: _Line) -> tuple[Link, ...]:
    if not line.uuid or line.isSidechain:
        return ()
    return ((line.uuid, line.parentUuid or line.logicalParentUuid or None),)


def plain_version(value: object) -> str | None:
    """The client version if it looks like one: it goes into reports, and must not be free text."""
    return value if isinstance(value, str) and _SAFE_VERSION.fullmatch(value) else None
