"""Claude Code lines that are certainly noise, told without building their values.

Nine tenths of the bytes of a trail are tool results, tool calls and thinking. msgspec checks the
whole line as strict JSON, but builds only the few fields by which such a line is known. Whatever
does not fit this narrow shape exactly is left to the thorough path, so that both give the same.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import msgspec

from memclaw_etl.trails.content import reason_of_types
from memclaw_etl.trails.events import LineOutcome, LineRun, RawLine

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
FLAG_NOISE: Final = {
    "isSidechain": "sidechain",
    "isMeta": "meta",
    "isCompactSummary": "compact_summary",
    "isVisibleInTranscriptOnly": "transcript_only",
    "isApiErrorMessage": "api_error",
}
"""Noise reason of a flag that is set on a message, in the order in which they decide."""
_HEAD_BYTES: Final = 1_000
_SPEAKS: Final = b'[{"type":"text"'
"""A line whose first list begins so most likely speaks, and would be parsed twice."""
_SAFE_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,31}")


Link = tuple[str, str | None]
"""(uuid, parent uuid) of a line."""


class _Block(msgspec.Struct, gc=False):
    type: str = ""


class _Message(msgspec.Struct, gc=False):
    model: str = ""
    content: list[_Block] | str = ""


class _Line(msgspec.Struct, gc=False):
    """The fields of a line that decide; a value of another type makes decoding fail.

    In the order in which lines mostly hold them: msgspec looks for the next one first.
    """

    parentUuid: str | None = None  # noqa: N815
    logicalParentUuid: str | None = None  # noqa: N815
    isSidechain: bool = False  # noqa: N815
    version: str | None = None
    message: _Message | None = None
    type: str = ""
    uuid: str | None = None
    isMeta: bool = False  # noqa: N815
    isCompactSummary: bool = False  # noqa: N815
    isVisibleInTranscriptOnly: bool = False  # noqa: N815
    isApiErrorMessage: bool = False  # noqa: N815
    promptSource: None = None  # noqa: N815
    origin: None = None
    planContent: None = None  # noqa: N815


_DECODER: Final = msgspec.json.Decoder(_Line)


def certain_noise(raw: RawLine) -> LineOutcome | None:
    """What the line is, where it is certain that it says nothing; None leaves that open."""
    first_list = raw.data.find(b"[", 0, _HEAD_BYTES)
    if first_list >= 0 and raw.data.startswith(_SPEAKS, first_list):
        return None
    found = _noise_of(raw.data)
    if found is None:
        return None
    line, noise = found
    return LineOutcome(
        raw.seq,
        raw.first_part,
        raw.first_part + 1,
        raw.byte_start,
        raw.byte_end,
        raw.terminated,
        True,  # noqa: FBT003
        noise=(noise,),
        client_version=plain_version(line.version),
        links=_links(line),
    )


def look_run(run: LineRun, look_at: Callable[[RawLine], LineOutcome]) -> Iterator[LineOutcome]:
    """The outcomes of a run; lines next to each other that are certainly noise are one of them.

    `look_at` judges every other line.
    """
    shift, block = run.byte_start - run.begin, run.block
    find, starts, view = block.find, block.startswith, memoryview(block)
    noise: list[str] = []
    links: list[Link] = []
    version: str | None = None
    first = end = run.begin
    for seq, newline in enumerate(run.newlines, run.seq):
        begin, end = end, newline + 1
        first_list = find(b"[", begin, begin + _HEAD_BYTES)
        speaks = 0 <= first_list < newline and starts(_SPEAKS, first_list)
        found = None if speaks else _noise_of(view[begin:newline])
        if noise and (found is None or found[0].version != version):
            yield _joined(seq - 1, first + shift, begin + shift, noise, links, version)
            noise, links = [], []
        if found is None:
            data = block[begin:newline]
            yield look_at(RawLine(seq, 0, begin + shift, end + shift, True, data))  # noqa: FBT003
            continue
        line, reason = found
        if not noise:
            first, version = begin, line.version
        noise.append(reason)
        if (uuid := line.uuid) and not line.isSidechain:
            links.append((uuid, line.parentUuid or line.logicalParentUuid or None))
    if noise:
        last = run.seq + len(run.newlines) - 1
        yield _joined(last, first + shift, end + shift, noise, links, version)


def _joined(
    seq: int,
    byte_start: int,
    byte_end: int,
    noise: list[str],
    links: list[Link],
    version: str | None,
) -> LineOutcome:
    """Lines that are certainly noise, all of one client version; `seq` is the last one's."""
    return LineOutcome(
        seq,
        0,
        1,
        byte_start,
        byte_end,
        True,  # noqa: FBT003
        True,  # noqa: FBT003
        noise=tuple(noise),
        client_version=plain_version(version),
        lines=len(noise),
        links=tuple(links),
    )


def _noise_of(data: bytes | memoryview) -> tuple[_Line, str] | None:
    """The line and why it is noise, where that is certain."""
    try:
        line = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    noise = TYPE_NOISE.get(line.type) or _reason(line)
    return None if noise is None else (line, noise)


def _reason(line: _Line) -> str | None:
    """The noise reason of a message that a flag rules out, or that holds no text."""
    message = line.message
    if message is None:
        return None
    if (
        line.isSidechain
        or line.isMeta
        or line.isCompactSummary
        or line.isVisibleInTranscriptOnly
        or line.isApiErrorMessage
    ):
        return _flag_reason(line)
    blocks = message.content
    if isinstance(blocks, str) or message.model == "<synthetic>":
        return None
    types = blocks[0].type if len(blocks) == 1 else " ".join([block.type for block in blocks])
    return _reason_of(line.type, types)


def _flag_reason(line: _Line) -> str | None:
    """The noise reason of the first flag that is set; it decides before anything else does."""
    if line.type not in ("user", "assistant"):
        return None
    return next((why for flag, why in FLAG_NOISE.items() if getattr(line, flag)), None)


@lru_cache(maxsize=512)
def _reason_of(kind: str, types: str) -> str | None:
    """The noise reason of a message of this kind with blocks of these types."""
    named = frozenset(types.split(" "))
    if "text" in named:
        return None
    if kind == "assistant" or (kind == "user" and "tool_result" in named):
        return reason_of_types(named)
    return None


def _links(line: _Line) -> tuple[Link, ...]:
    if not line.uuid or line.isSidechain:
        return ()
    return ((line.uuid, line.parentUuid or line.logicalParentUuid or None),)


@lru_cache(maxsize=512)
def _plain(value: str) -> str | None:
    return value if _SAFE_VERSION.fullmatch(value) else None


def plain_version(value: object) -> str | None:
    """The client version if it looks like one: it goes into reports, and must not be free text."""
    return _plain(value) if isinstance(value, str) else None
