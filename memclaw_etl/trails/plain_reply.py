"""Claude Code lines that are a reply or a prompt and nothing else, read in one go.

Most lines that say something are such ones. msgspec builds just what an event needs; whatever does
not fit this narrow shape exactly is left to the thorough path, so that both give the same.
"""

from operator import attrgetter
from typing import Any, Final

import msgspec

from memclaw_etl.trails.certain_noise import plain_version
from memclaw_etl.trails.events import Event, LineOutcome, Origin, RawLine, Role
from memclaw_etl.trails.identity import exact_time, uuid_identity
from memclaw_etl.trails.injected import strip_injected, wrapper_reason
from memclaw_etl.trails.known_fields import CLAUDE_CODE

_EDGE_BYTES: Final = 1_000
_ASSISTANT: Final = b'"type":"assistant"'
_USER: Final = b'"type":"user"'
FILLERS: Final = {"No response requested.": "synthetic", "(no content)": "empty"}
"""Texts that the client writes in place of a reply, and what they are."""


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, kw_only=True, gc=False):
    model: str = ""
    id: str | None = None
    content: list[_Block] | str


_TYPES: Final[dict[str, Any]] = {
    "parentUuid": str | None,
    "cwd": str,
    "sessionId": str,
    "version": str,
    "message": _Message,
    "type": str,
    "uuid": str,
    "timestamp": str,
}
_FLAGS: Final = (
    *("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"),
    "isApiErrorMessage",
)
_PROMPT_DECIDERS: Final = ("toolUseResult", "promptSource", "origin", "planContent")
"""Fields that may make a prompt the client's, or another's; the thorough path weighs them."""
_OTHERS: Final = sorted(CLAUDE_CODE - _TYPES.keys() - {*_FLAGS, "logicalParentUuid"})
_FIELDS: Final[dict[str, tuple[str, Any] | tuple[str, Any, Any]]] = {
    **{name: (name, msgspec.Raw, msgspec.Raw()) for name in _OTHERS},
    **{name: (name, bool, False) for name in _FLAGS},
    **{name: (name, kind) for name, kind in _TYPES.items()},
}
_USUAL_ORDER: Final = (
    *("parentUuid", "isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch"),
    *("slug", "type", "message", "requestId", "uuid", "timestamp", "permissionMode"),
)
"""The order in which lines mostly hold their fields: msgspec looks for the next one first."""
_Spoken: Final = msgspec.defstruct(
    "_Spoken",
    [_FIELDS[name] for name in (*_USUAL_ORDER, *sorted(_FIELDS.keys() - {*_USUAL_ORDER}))],
    forbid_unknown_fields=True,
    kw_only=True,
    gc=False,
)
_DECODER: Final = msgspec.json.Decoder(_Spoken)
_flags_of: Final = attrgetter(*_FLAGS)
_deciders_of: Final = attrgetter(*_PROMPT_DECIDERS)
_NONE: Final = (msgspec.Raw(),) * len(_PROMPT_DECIDERS)


def plain_reply(line: RawLine) -> LineOutcome | None:
    """The outcome of a line that is one reply or one prompt; None leaves open what it is."""
    if not _may_speak(line.data):
        return None
    try:
        spoken: Any = _DECODER.decode(line.data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if True in _flags_of(spoken):
        return None
    role, text = _words(spoken)
    ts = exact_time(spoken.timestamp)
    if not text or ts is None or not spoken.uuid or not spoken.sessionId:
        return None
    is_prompt = role is Role.USER
    event = Event(
        line.seq,
        line.first_part,
        ts,
        False,  # noqa: FBT003
        spoken.sessionId,
        role,
        "prompt" if is_prompt else "reply",
        text,
        uuid_identity(spoken.uuid),
        Origin.HUMAN if is_prompt else Origin.AGENT,
        project=spoken.cwd or None,
        message_id=spoken.message.id or None,
    )
    return LineOutcome(
        line.seq,
        line.first_part,
        line.first_part + 1,
        line.byte_start,
        line.byte_end,
        line.terminated,
        True,  # noqa: FBT003
        said=(event,),
        client_version=plain_version(spoken.version),
        links=((spoken.uuid, spoken.parentUuid or None),),
    )


def _may_speak(data: bytes) -> bool:
    """Whether the line's type stands near one of its ends; cheap, and decides nothing."""
    return (
        data.find(_ASSISTANT, 0, _EDGE_BYTES) >= 0
        or data.find(_USER, 0, _EDGE_BYTES) >= 0
        or data.find(_ASSISTANT, -_EDGE_BYTES) >= 0
        or data.find(_USER, -_EDGE_BYTES) >= 0
    )


def _words(spoken: Any) -> tuple[Role, str]:  # noqa: ANN401 - made by defstruct
    """Who speaks, and the words; empty where they are not plain."""
    content = spoken.message.content
    if spoken.type == "assistant":
        return Role.ASSISTANT, _reply_words(content, spoken.message.model)
    if spoken.type == "user" and _deciders_of(spoken) == _NONE:
        return Role.USER, _prompt_words(content)
    return Role.USER, ""


def _prompt_words(content: list[_Block] | str) -> str:
    """The words of a content all of whose blocks are a person's."""
    if isinstance(content, str):
        text = strip_injected(content)
        return "" if wrapper_reason(text, typed=False) else text
    texts = [strip_injected(block.text) if block.type == "text" else "" for block in content]
    if not all(texts) or any(wrapper_reason(text, typed=False) for text in texts):
        return ""
    return "\n\n".join(texts)


def _reply_words(content: list[_Block] | str, model: str) -> str:
    if isinstance(content, str) or model == "<synthetic>":
        return ""
    text = "\n\n".join(
        [said for block in content if block.type == "text" and (said := block.text.strip())]
    )
    return "" if text in FILLERS else text
