"""Claude Code session files: which records are prompts and replies (public versions to 2.1.24x).

Most lines of role `user` are tool results; many of the others were written by the client without
any flag. `look` judges one physical line on its own; what depends on other lines (prompts that
were queued while the agent worked, copies of history, going back) is decided in `session.assemble`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.certain_noise import (
    FLAG_NOISE,
    TYPE_NOISE,
    Link,
    certain_noise,
    look_run,
    plain_version,
)
from memclaw_etl.trails.content import (
    block_types,
    plain_string,
    text_blocks,
    textless_reason,
    unknown_type,
)
from memclaw_etl.trails.events import (
    Event,
    LineOutcome,
    LineRun,
    Origin,
    QueueOp,
    RawLine,
    Role,
    Said,
)
from memclaw_etl.trails.identity import exact_time, spoken_identity, uuid_identity
from memclaw_etl.trails.injected import (
    is_slash_command,
    strip_injected,
    words_of_command,
    wrapper_reason,
)
from memclaw_etl.trails.lines import parse_records
from memclaw_etl.trails.outcome import odd_fields_of
from memclaw_etl.trails.plain_reply import FILLERS, plain_reply

_PERSON_SOURCES: Final = frozenset({"typed", "queued", "human"})
_MACHINE_SOURCES: Final = frozenset({"system", "task-notification"})

Record = dict[str, object]


def look(line: RawLine) -> LineOutcome:
    """Judge one physical line on its own: what it says, and why the rest is noise.

    Pure; never raises, whatever the line holds. Text is raw.
    """
    return certain_noise(line) or _look_on(line)


def _look_on(line: RawLine) -> LineOutcome:
    """Judge a line that is not certainly noise."""
    return plain_reply(line) or look_thoroughly(line)


def look_runs(pieces: Iterable[RawLine | LineRun]) -> Iterator[LineOutcome]:
    """Judge lines and runs of lines, faster: what is certainly noise side by side is one outcome.

    For decoding only; where windows are cut every line needs an outcome of its own.
    """
    for piece in pieces:
        if isinstance(piece, RawLine):
            yield look(piece)
        else:
            yield from look_run(piece, _look_on)


def look_thoroughly(line: RawLine) -> LineOutcome:
    """Judge one physical line by parsing all of it. `look` gives the same, faster."""
    parsed = parse_records(line)
    said: list[Said] = []
    noise: list[str] = []
    links: list[Link] = []
    odd_fields: list[str] = []
    version: str | None = None
    for part, record in parsed.records:
        if not isinstance(record, dict):
            noise.append("no_object")
            continue
        version = version or plain_version(record.get("version"))
        links.extend(_links(record))
        spoken_before = len(said)
        for verdict in _judge(record, seq=line.seq, part=part):
            if isinstance(verdict, str):
                noise.append(verdict)
            else:
                said.append(verdict)
        if len(said) > spoken_before:
            odd_fields.extend(odd_fields_of(record, known_fields.CLAUDE_CODE))
    return LineOutcome(
        line.seq,
        line.first_part,
        parsed.next_part,
        line.byte_start,
        line.byte_end,
        line.terminated,
        parsed.whole,
        tuple(said),
        tuple(noise),
        parsed.quarantined,
        version,
        odd_fields=tuple(odd_fields),
        links=tuple(links),
    )


def _links(record: Record) -> Iterator[Link]:
    """Where the record hangs in the conversation; a subagent's has one of its own."""
    uuid = plain_string(record.get("uuid"))
    if uuid and record.get("isSidechain") is not True:
        parent = plain_string(record.get("parentUuid"))
        yield uuid, parent or plain_string(record.get("logicalParentUuid"))


def _judge(record: Record, *, seq: int, part: int) -> tuple[Said | str, ...]:
    """What one record says: an event, a change of the queue, or the reason why it is noise."""
    kind = record.get("type")
    if kind == "assistant":
        return (_judge_reply(record, seq=seq, part=part),)
    if kind == "user":
        return (_judge_prompt(record, seq=seq, part=part),)
    if kind == "queue-operation":
        return _judge_queue(record, seq=seq, part=part)
    if kind == "attachment":
        return (_judge_attachment(record, seq=seq, part=part),)
    if isinstance(kind, str) and kind in TYPE_NOISE:
        return (TYPE_NOISE[kind],)
    return (unknown_type(kind),)


def _flagged(record: Record) -> str | None:
    """The reason that a flag of the line gives, if one is set."""
    if True not in [record.get(flag) for flag in FLAG_NOISE]:
        return None
    return next((why for flag, why in FLAG_NOISE.items() if record.get(flag) is True), None)


def _judge_reply(record: Record, *, seq: int, part: int) -> Event | str:
    message = record.get("message")
    if not isinstance(message, dict):
        return "no_message"
    if reason := _flagged(record):
        return reason
    if message.get("model") == "<synthetic>":
        return "synthetic"
    content = message.get("content")
    text = "\n\n".join(stripped for block in text_blocks(content) if (stripped := block.strip()))
    if not text:
        return textless_reason(content)
    if filler := FILLERS.get(text):
        return filler
    return _event(record, seq=seq, part=part, role=Role.ASSISTANT, text=text, origin=Origin.AGENT)


def _judge_prompt(record: Record, *, seq: int, part: int) -> Event | str:
    message = record.get("message")
    if not isinstance(message, dict):
        return "no_message"
    content = message.get("content")
    beside_tool_result = "tool_result" in block_types(content)
    sources = _sources(record)
    if reason := _flagged(record) or _machine_made(
        record, sources, beside_tool_result=beside_tool_result
    ):
        return reason
    text, reason = _own_words(content, typed=bool(sources & _PERSON_SOURCES))
    if not text:
        return "tool_result" if beside_tool_result else reason
    origin = _origin(sources, beside_tool_result=beside_tool_result)
    return _event(record, seq=seq, part=part, role=Role.USER, text=text, origin=origin)


def _machine_made(
    record: Record, sources: frozenset[str], *, beside_tool_result: bool
) -> str | None:
    """Why the whole line is the client's and not a sender's, if it is."""
    if record.get("toolUseResult") is not None and not beside_tool_result:
        return "tool_result"
    if sources & _MACHINE_SOURCES:
        return "machine_prompt"
    return "accepted_plan" if record.get("planContent") is not None else None


def _sources(record: Record) -> frozenset[str]:
    """What the client itself says about the sender (since about 2.1.2xx)."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    named = (record.get("promptSource"), kind)
    return frozenset(name for name in named if isinstance(name, str))


def _origin(sources: frozenset[str], *, beside_tool_result: bool) -> Origin:
    if "sdk" in sources:
        return Origin.PROGRAM
    if "queued" in sources:
        return Origin.QUEUED
    return Origin.STEERING if beside_tool_result else Origin.HUMAN


def _own_words(content: object, *, typed: bool) -> tuple[str, str]:
    """The sender's own words in the text blocks, and the noise reason if there are none."""
    words: list[str] = []
    reason: str | None = None
    for block in text_blocks(content):
        text = strip_injected(block)
        wrapped = wrapper_reason(text, typed=typed) if text else "injected"
        if wrapped == "command" and (said := words_of_command(text)):
            text, wrapped = said, None
        if wrapped is None:
            words.append(text)
        else:
            reason = reason or (wrapped if block.strip() else None)
    return "\n\n".join(words), reason or textless_reason(content)


def _judge_attachment(record: Record, *, seq: int, part: int) -> Event | str:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return "attachment"
    if reason := _flagged(record):
        return reason
    sources = _sources(record) | _sources(attachment)
    mode = attachment.get("commandMode")
    if sources & _MACHINE_SOURCES or mode in _MACHINE_SOURCES or attachment.get("isMeta") is True:
        return "machine_prompt"
    text, reason = _own_words(attachment.get("prompt"), typed="human" in sources)
    if not text:
        return reason
    if is_slash_command(text):
        return "command"
    return _event(record, seq=seq, part=part, role=Role.USER, text=text, origin=Origin.QUEUED)


def _judge_queue(record: Record, *, seq: int, part: int) -> tuple[Said | str, ...]:
    operation, content = record.get("operation"), record.get("content")
    if operation == "enqueue":
        text, reason = _own_words(content, typed=False)
        if text and is_slash_command(text):
            text, reason = "", "command"
        if not text:
            return QueueOp("enqueue", None), reason
        queued = _event(record, seq=seq, part=part, role=Role.USER, text=text, origin=Origin.QUEUED)
        return (QueueOp("enqueue", queued),)
    if operation in ("dequeue", "remove", "popAll"):
        handed_back = "\n".join(text_blocks(content)) or None
        session = plain_string(record.get("sessionId"))
        return QueueOp(str(operation), None, handed_back, session), "queue_operation"
    return ("queue_operation",)


def _event(record: Record, *, seq: int, part: int, role: Role, text: str, origin: Origin) -> Event:
    """Build the event; its identity stays empty where only its place can give one."""
    ts = exact_time(record.get("timestamp"))
    session = plain_string(record.get("sessionId"))
    uuid = plain_string(record.get("uuid"))
    identity = ""
    if uuid:
        identity = uuid_identity(uuid)
    elif ts:
        identity = spoken_identity(role=role, ts=ts, session_id=session, text=text)
    return Event(
        seq=seq,
        part=part,
        ts=ts,
        ts_inferred=False,
        session_id=session,
        role=role,
        kind="prompt" if role is Role.USER else "reply",
        content=text,
        identity=identity,
        origin=origin,
        project=plain_string(record.get("cwd")),
        message_id=_message_id(record),
    )


def _message_id(record: Record) -> str | None:
    message = record.get("message")
    return plain_string(message.get("id")) if isinstance(message, dict) else None
