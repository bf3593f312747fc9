"""OpenClaw sessions: version 3 to 7, and version 1 of its engine pi, as lines or table rows.

A row says the same in the file and in the SQLite store, so that both are judged here. Identity is
(role, time of the message, text): a retry writes the same message under another id, an import or
a successor file copies it into another session.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from msgspec import structs

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.certain_noise import plain_version
from memclaw_etl.trails.content import block_types as typed_blocks
from memclaw_etl.trails.content import (
    plain_string,
    reason_of_types,
    text_blocks,
    unknown_type,
)
from memclaw_etl.trails.envelopes import unwrap, unwrap_reply
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    Event,
    Header,
    LineOutcome,
    Origin,
    Quarantined,
    RawLine,
    Role,
    Said,
)
from memclaw_etl.trails.identity import exact_time, placed_identity, spoken_identity
from memclaw_etl.trails.injected import is_slash_command, strip_injected
from memclaw_etl.trails.lines import parse_records
from memclaw_etl.trails.outcome import outcome_of

_TYPE_NOISE: Final = {
    "model_change": "model_change",
    "thinking_level_change": "thinking_level",
    "custom": "custom",
    "custom_message": "custom",
    "compaction": "compact_summary",
    "branch_summary": "compact_summary",
    "label": "label",
    "session_info": "session_info",
}
_ROLE_NOISE: Final = {
    "toolResult": "tool_result",
    "tool": "tool_result",
    "bashExecution": "shell",
    "system": "system",
    "custom": "custom",
    "compactionSummary": "compact_summary",
    "branchSummary": "compact_summary",
}
_COPIES: Final = ("delivery-mirror", "gateway-injected")
"""Models that only name a copy of a reply that was delivered to a channel."""
_BLOCK_NAMES: Final = {"toolCall": "tool_use", "toolResult": "tool_result"}
_LATEST_MS: Final = 253_402_300_799_000

Record = dict[str, object]


def look(line: RawLine) -> LineOutcome:
    """Judge one line or row on its own. Pure; never raises. Text is raw."""
    return outcome_of(
        line, parse_records(line), _judge, known_fields=known_fields.OPENCLAW, version_of=_version
    )


def _version(record: Record) -> str | None:
    """The format version that a header names."""
    version = record.get("version") if record.get("type") == "session" else None
    return plain_version(str(version)) if isinstance(version, int) else None


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Give the events of a window their session and identity; a retry is noise. Pure."""
    session, project = state.session_id, state.project
    events: dict[str, Event] = {}
    noise: Counter[str] = Counter()
    quarantined: list[Quarantined] = []
    versions: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.client_version:
            versions[outcome.client_version] += 1
        noise.update(outcome.noise)
        quarantined.extend(outcome.quarantined)
        for said in outcome.said:
            if isinstance(said, Header):
                session, project = said.session_id or session, said.project or project
            elif isinstance(said, Event):
                event = _placed(said, session or file_session, project)
                if event.identity in events:
                    noise["replayed"] += 1
                else:
                    events[event.identity] = event
    return Assembled(
        events=tuple(events.values()),
        noise=dict(noise),
        quarantined=tuple(quarantined),
        state=replace(state, session_id=session, project=project),
        versions=dict(versions),
    )


def _placed(event: Event, session: str, project: str | None) -> Event:
    identity = event.identity or placed_identity(
        file_session=session,
        seq=event.seq,
        part=event.part,
        role=event.role,
        text=event.content,
    )
    return structs.replace(event, session_id=session, project=project, identity=identity)


def _judge(record: Record, *, seq: int, part: int) -> tuple[Said | str, ...]:
    kind = record.get("type")
    if kind == "session":
        header = Header(plain_string(record.get("id")), plain_string(record.get("cwd")))
        return header, "header"
    if kind != "message":
        known = _TYPE_NOISE.get(kind) if isinstance(kind, str) else None
        return (known or unknown_type(kind),)
    message = record.get("message")
    if not isinstance(message, dict):
        return ("no_message",)
    role = message.get("role")
    if role == "user":
        return (_judge_prompt(record, message, seq=seq, part=part),)
    if role == "assistant":
        return (_judge_reply(record, message, seq=seq, part=part),)
    known_role = _ROLE_NOISE.get(role) if isinstance(role, str) else None
    return (known_role or unknown_type(role),)


def _judge_prompt(record: Record, message: Record, *, seq: int, part: int) -> Event | str:
    provenance = message.get("provenance")
    if isinstance(provenance, dict) and provenance.get("kind") not in (None, "external_user"):
        return "inter_session"
    content = message.get("content")
    words: list[str] = []
    reason: str | None = None
    for block in text_blocks(content):
        unwrapped = unwrap(strip_injected(block))
        if unwrapped.words:
            words.append(unwrapped.words)
        elif block.strip():
            reason = reason or unwrapped.reason
    text = "\n\n".join(words)
    if not text:
        return reason or _textless(content)
    if is_slash_command(text):
        return "command"
    return _event(record, message, Role.USER, text, seq=seq, part=part)


def _judge_reply(record: Record, message: Record, *, seq: int, part: int) -> Event | str:
    if message.get("model") in _COPIES:
        return "delivery_mirror"
    content = message.get("content")
    said = unwrap_reply("\n\n".join(filter(None, map(str.strip, text_blocks(content)))))
    if not said.words:
        if said.reason != "empty":
            return said.reason
        failed = not content and message.get("stopReason") in ("error", "aborted")
        return "failed_reply" if failed else _textless(content)
    return _event(record, message, Role.ASSISTANT, said.words, seq=seq, part=part)


def _textless(content: object) -> str:
    return reason_of_types([_BLOCK_NAMES.get(name, name) for name in typed_blocks(content)])


def _event(record: Record, message: Record, role: Role, text: str, *, seq: int, part: int) -> Event:
    """The event; its session comes from the header, and its identity from its place if need be."""
    sent = _moment(message.get("timestamp"))
    ts = exact_time(record.get("timestamp")) or sent
    spoken_at = sent or ts
    identity = ""
    if spoken_at:
        identity = spoken_identity(role=role, ts=spoken_at, session_id="openclaw", text=text)
    return Event(
        seq=seq,
        part=part,
        ts=ts,
        ts_inferred=False,
        session_id=None,
        role=role,
        kind="prompt" if role is Role.USER else "reply",
        content=text,
        identity=identity,
        origin=Origin.HUMAN if role is Role.USER else Origin.AGENT,
    )


def _moment(value: object) -> str | None:
    """The time of a message, which is in milliseconds since 1970, as ISO 8601."""
    if isinstance(value, str):
        return exact_time(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 < value < _LATEST_MS:
        return None
    return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds")
