"""Claude Code lines that are a reply and nothing else, read in one go.

Most lines that say something are replies. msgspec builds just what an event needs; whatever does
not fit this narrow shape exactly is left to the thorough path, so that both give the same.
"""

from operator import attrgetter
from typing import Any, Final

import msgspec

from memclaw_etl.trails.certain_noise import plain_version
from memclaw_etl.trails.events import Event, LineOutcome, Origin, RawLine, Role
from memclaw_etl.trails.identity import exact_time, uuid_identity
from memclaw_etl.trails.known_fields import CLAUDE_CODE

_EDGE_BYTES: Final = 1_000
_ASSISTANT: Final = b'"type":"assistant"'
FILLERS: Final = {"No response requested.": "synthetic", "(no content)": "empty"}
"""Texts that the client writes in place of a reply, and what they are."""


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, gc=False):
    content: list[_Block]
    model: str = ""


_TYPES: Final[dict[str, Any]] = {
    "type": str,
    "uuid": str,
    "timestamp": str,
    "sessionId": str,
    "message": _Message,
    "parentUuid": str | None,
    "cwd": str,
    "version": str,
}
_FLAGS: Final = (
    *("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"),
    "isApiErrorMessage",
)
_OTHERS: Final = sorted(CLAUDE_CODE - _TYPES.keys() - {*_FLAGS, "logicalParentUuid"})
_Reply: Final = msgspec.defstruct(
    "_Reply",
    [
        *_TYPES.items(),
        *((name, bool, False) for name in _FLAGS),
        *((name, msgspec.Raw, msgspec.Raw()) for name in _OTHERS),
    ],
    forbid_unknown_fields=True,
    gc=False,
)
_DECODER: Final = msgspec.json.Decoder(_Reply)
_flags_of: Final = attrgetter(*_FLAGS)


def plain_reply(line: RawLine) -> LineOutcome | None:
    """The outcome of a line that is one reply; None leaves open what it is."""
    data = line.data
    if data.find(_ASSISTANT, 0, _EDGE_BYTES) < 0 and data.find(_ASSISTANT, -_EDGE_BYTES) < 0:
        return None
    try:
        reply: Any = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    event = _event(reply, seq=line.seq, part=line.first_part)
    if event is None:
        return None
    return LineOutcome(
        line.seq,
        line.first_part,
        line.first_part + 1,
        line.byte_start,
        line.byte_end,
        line.terminated,
        True,  # noqa: FBT003
        said=(event,),
        client_version=plain_version(reply.version),
        links=((reply.uuid, reply.parentUuid or None),),
    )


def _event(reply: Any, *, seq: int, part: int) -> Event | None:  # noqa: ANN401 - made by defstruct
    if reply.type != "assistant" or True in _flags_of(reply):
        return None
    message = reply.message
    texts = [block.text.strip() for block in message.content if block.type == "text"]
    text = "\n\n".join(filter(None, texts))
    if not text or text in FILLERS or message.model == "<synthetic>":
        return None
    ts = exact_time(reply.timestamp)
    if ts is None or not reply.uuid or not reply.sessionId:
        return None
    return Event(
        seq=seq,
        part=part,
        ts=ts,
        ts_inferred=False,
        session_id=reply.sessionId,
        role=Role.ASSISTANT,
        kind="reply",
        content=text,
        identity=uuid_identity(reply.uuid),
        origin=Origin.AGENT,
        project=reply.cwd or None,
    )
