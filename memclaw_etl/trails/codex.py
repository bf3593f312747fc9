"""Codex rollouts (0.2x to 0.15x): every message stands there twice, and context has role user.

`response_item` is what the model gets: prompts, but also instructions, environment and notices.
`event_msg` (and newer `item_completed`) is what the person sees. Either may come first, and old or
foreign writers have only one, so the first of the copies is taken and the other counted.
The JSON stream of `codex exec --json` and `history.jsonl` are other formats: known, and noise.
"""

import re
from typing import Final

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.certain_noise import plain_version
from memclaw_etl.trails.codex_texts import own_words, texts_of, typed_blocks
from memclaw_etl.trails.content import plain_name, plain_string, unknown_type
from memclaw_etl.trails.events import Event, Header, LineOutcome, Origin, RawLine, Role, Said
from memclaw_etl.trails.identity import exact_time
from memclaw_etl.trails.lines import parse_records
from memclaw_etl.trails.outcome import outcome_of

ITEM, SHOWN, COMPLETED = "item", "shown", "completed"
"""Where a copy of a message stands: `response_item`, `event_msg`, `item_completed`."""

_TYPE_NOISE: Final = {
    "turn_context": "turn_context",
    "compacted": "compact_summary",
    "world_state": "world_state",
}
_SHOWN_NOISE: Final = {
    "token_count": "token_count",
    "agent_reasoning": "thinking",
    "agent_reasoning_raw_content": "thinking",
    "agent_reasoning_section_break": "thinking",
    "turn_aborted": "interrupted",
    "task_started": "turn_marker",
    "task_complete": "turn_marker",
    "turn_started": "turn_marker",
    "turn_complete": "turn_marker",
    "context_compacted": "compact_summary",
    "thread_name_updated": "title",
    "thread_rolled_back": "rewind",
    "entered_review_mode": "review_mode",
    "exited_review_mode": "review_mode",
    "error": "error",
    "warning": "error",
    "stream_error": "error",
    "exec_command_begin": "tool_use",
    "exec_command_end": "tool_result",
    "mcp_tool_call_begin": "tool_use",
    "mcp_tool_call_end": "tool_result",
    "patch_apply_begin": "tool_use",
    "patch_apply_end": "tool_result",
    "web_search_begin": "tool_use",
    "web_search_end": "tool_result",
    "view_image_tool_call": "tool_use",
    "plan_update": "tool_use",
    "item_completed": "item_completed",
}
_ITEM_NOISE: Final = {
    "reasoning": "thinking",
    "ghost_snapshot": "ghost_snapshot",
    "compaction": "compact_summary",
    "compaction_summary": "compact_summary",
    "agent_message": "inter_agent",
}
_ENVELOPES: Final = ("session_meta", "response_item", "event_msg")
_BARE_ITEMS: Final = ("message", "reasoning", "function_call", "function_call_output")
"""Types that stand without an envelope in rollouts before 0.30."""
_STREAM: Final = re.compile(r"(?:thread|turn|item)\.[a-z_.]{1,40}")
Record = dict[str, object]


def look(line: RawLine) -> LineOutcome:
    """Judge one physical line on its own. Pure; never raises. Text is raw."""
    return outcome_of(
        line,
        parse_records(line),
        _judge,
        known_fields=known_fields.CODEX,
        version_of=_version,
        time_of=_time,
    )


def _version(record: Record) -> str | None:
    payload = record.get("payload")
    if record.get("type") != "session_meta" or not isinstance(payload, dict):
        return None
    return plain_version(payload.get("cli_version"))


def _time(record: Record) -> str | None:
    return exact_time(record.get("timestamp"))


def _judge(record: Record, *, seq: int, part: int) -> tuple[Said | str, ...]:
    kind, payload = record.get("type"), record.get("payload")
    if kind in _BARE_ITEMS:
        kind, payload = "response_item", record
    if kind not in _ENVELOPES:
        return (_other_noise(record, kind),)
    if not isinstance(payload, dict):
        return ("no_message",)
    if kind == "session_meta":
        return _header(payload), "header"
    found = (_item if kind == "response_item" else _shown)(payload)
    if isinstance(found, str):
        return (found,)
    metadata = record.get("metadata")
    if isinstance(metadata, dict) and metadata.get("inherited_user_message") is True:
        return ("inherited",)
    role, text, source = found
    return (_event(record, role, text, source, seq=seq, part=part),)


def _other_noise(record: Record, kind: object) -> str:
    """Noise reason of a line that is no header and no message."""
    if kind is None:
        return _untyped(record)
    if isinstance(kind, str) and _STREAM.fullmatch(kind):
        return "exec_stream"
    return (_TYPE_NOISE.get(kind) if isinstance(kind, str) else None) or unknown_type(kind)


def _untyped(record: Record) -> str:
    """A line of `~/.codex/history.jsonl`, the old header, or something that we do not know."""
    if "session_id" in record and "text" in record:
        return "history"
    return "header" if "id" in record and "timestamp" in record else "untyped"


def _header(payload: Record) -> Header:
    source = payload.get("source")
    is_side = (
        (isinstance(source, dict) and "subagent" in source)
        or source == "subagent"
        or payload.get("thread_source") in ("subagent", "guardian")
    )
    return Header(
        session_id=plain_string(payload.get("id")) or plain_string(payload.get("session_id")),
        project=plain_string(payload.get("cwd")),
        forked_from=plain_string(payload.get("forked_from_id")),
        side=is_side,
    )


Found = tuple[Role, str, str]


def _item(payload: Record) -> Found | str:
    """A message as the model gets it, or why it is noise."""
    kind = payload.get("type", "message")
    if kind != "message":
        return _item_noise(kind)
    role = payload.get("role")
    if role == "assistant":
        text = "\n\n".join(texts_of(payload.get("content")))
        return (Role.ASSISTANT, text, ITEM) if text else "empty"
    if role != "user":
        return "system" if role in ("developer", "system") else unknown_type(role)
    words, reason = own_words(typed_blocks(payload), strict=True)
    return (Role.USER, words, ITEM) if words else reason


def _item_noise(kind: object) -> str:
    if not isinstance(kind, str):
        return unknown_type(kind)
    if known := _ITEM_NOISE.get(kind):
        return known
    if kind.endswith(("_call_output", "_output")):
        return "tool_result"
    return "tool_use" if kind.endswith("_call") else f"unknown:{plain_name(kind)}"


def _shown(payload: Record) -> Found | str:
    """A message as the person sees it, or why it is noise."""
    kind = payload.get("type")
    if kind == "item_completed":
        return _completed(payload.get("item"))
    message = payload.get("message")
    if kind == "agent_message":
        text = message.strip() if isinstance(message, str) else ""
        return (Role.ASSISTANT, text, SHOWN) if text else "empty"
    if kind == "user_message":
        if payload.get("kind") not in (None, "plain"):
            return "injected"
        words, reason = own_words([message] if isinstance(message, str) else [], strict=False)
        return (Role.USER, words, SHOWN) if words else reason
    known = _SHOWN_NOISE.get(kind) if isinstance(kind, str) else None
    return known or unknown_type(kind)


def _completed(item: object) -> Found | str:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or kind not in ("UserMessage", "AgentMessage"):
        return "item_completed"
    texts = texts_of(item.get("content"))
    if kind == "AgentMessage":
        text = "\n\n".join(texts)
        return (Role.ASSISTANT, text, COMPLETED) if text else "empty"
    words, reason = own_words(texts, strict=False)
    return (Role.USER, words, COMPLETED) if words else reason


def _event(record: Record, role: Role, text: str, source: str, *, seq: int, part: int) -> Event:
    """An event whose session and identity `rollout.assemble` fills in."""
    return Event(
        seq=seq,
        part=part,
        ts=exact_time(record.get("timestamp")),
        ts_inferred=False,
        session_id=None,
        role=role,
        kind="prompt" if role is Role.USER else "reply",
        content=text,
        identity="",
        origin=Origin.HUMAN if role is Role.USER else Origin.AGENT,
        source=source,
    )
