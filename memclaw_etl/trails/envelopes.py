"""OpenClaw user messages: what a person said stands behind an envelope, if a person spoke at all.

Most messages of role `user` are written by the gateway: cron jobs, heartbeats, announcements of
subagents, instructions after a reset or a failure, mail. What a channel delivers carries metadata
around the words. Seen in sessions of February 2026 (version 3) and in fixtures to version 7.
"""

import re
from typing import Final, NamedTuple

_EVENT_LINES: Final = re.compile(r"(?:System(?: \(untrusted\))?: \[[^\n]*(?:\n(?!\n)[^\n]*)*\n*)+")
"""Notices of the gateway in front of a message, up to the blank line behind them."""
_METADATA: Final = re.compile(
    r"[A-Z][^\n]{0,120}\(untrusted[^)\n]{0,60}\):[ \t]*\n```(?:json)?\n.*?\n```[ \t]*(?:\n|$)",
    re.DOTALL,
)
_METADATA_INSIDE: Final = re.compile(
    r"\n(?=[A-Z][^\n]{0,120}\(untrusted[^)\n]{0,60}\):[ \t]*\n```)"
)
_QUEUED: Final = "[Queued messages while agent was busy]"
_QUEUED_ONE: Final = re.compile(r"\n?---\nQueued #\d+[^\n]*\n")
_CHANNEL: Final = re.compile(
    r"\[(?!cron:)[A-Z][A-Za-z]+(?: [A-Z][a-z]+)? [^\]\n]{0,400}?\d{4}-\d{2}-\d{2}"
    r"[ T]\d{2}:\d{2}[^\]\n]{0,40}\][ \t]*"
)
"""`[Discord name user id:42 +4s Wed 2026-02-18 17:10 EST] `, also `[Wed 2026-02-18 17:10 EST] `."""
_DATED: Final = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^\]\n]{0,40}\][ \t]*")
_MESSAGE_ID: Final = re.compile(r"\n?\[message_id: [^\]\n]*\][ \t]*$")
_REPLYING: Final = re.compile(r"\n*\[Replying to [^\]\n]*\]\n.*?\n\[/Replying\]", re.DOTALL)
_MEDIA: Final = re.compile(
    r"^\[media attached[^\]]*\]\n?(?:To send an image back[^\n]*\n?)?", re.MULTILINE
)
_WEBHOOK: Final = re.compile(r"Task: [^\n|]{1,60} \| ")
_UNTRUSTED: Final = "EXTERNAL, UNTRUSTED"
_MACHINE_TEXTS: Final = {
    "[cron:": "cron",
    "A cron job ": "cron",
    "A scheduled reminder has been triggered": "cron",
    "A subagent task ": "subagent",
    "A completed subagent task": "subagent",
    "A background task ": "subagent",
    "[Subagent Context]": "subagent",
    "[Subagent Task]": "subagent",
    "[Internal task completion event]": "subagent",
    "[System Message]": "system_message",
    "[Inter-session message]": "inter_session",
    "Continue where you left off. The previous": "retry_instruction",
    "Pre-compaction memory flush": "memory_flush",
    "A new session was started via /new or /reset": "reset_greeting",
    "Read HEARTBEAT.md": "heartbeat",
    "System: [": "system_message",
}
_TASK_TEXTS: Final = ("Read and follow ", "TASK:", "Task:", "## ", "# ", "You are ")
"""Starts of the task texts that an agent writes for a session of its own: dated, no channel."""
_REPLY_TAGS: Final = re.compile(
    r"[ \t]*\[\[\s*(?:reply_to_current|reply_to\s*:[^\]\n]{0,120}|audio_as_voice)\s*\]\][ \t]*"
)
_SILENT: Final = {"NO_REPLY": "no_reply", "HEARTBEAT_OK": "heartbeat"}
_SILENT_EDGE: Final = re.compile(
    r"\A(?:NO_REPLY|HEARTBEAT_OK)[ \t]*\n|\n[ \t]*(?:NO_REPLY|HEARTBEAT_OK)[ \t]*\Z"
)


class Unwrapped(NamedTuple):
    """The words of the person, empty if there are none, and then why."""

    words: str
    reason: str = "empty"


def unwrap(text: str) -> Unwrapped:
    """The person's own words in one user message."""
    text = text.strip()
    if not text:
        return Unwrapped("")
    if text.startswith(_QUEUED):
        return _joined(_QUEUED_ONE.split(text.removeprefix(_QUEUED)))
    if _WEBHOOK.match(text) or (_UNTRUSTED in text and text.startswith(("Task:", "SECURITY"))):
        return Unwrapped("", "webhook")
    if reason := _machine_made(text):
        return _behind_events(text) if text.startswith("System") else Unwrapped("", reason)
    return _without_envelope(text)


def unwrap_reply(text: str) -> Unwrapped:
    """What an assistant's message says to the person, without tags for the gateway."""
    said = _REPLY_TAGS.sub("", text).strip()
    if reason := _SILENT.get(said.strip("*` .")):
        return Unwrapped("", reason)
    said = _SILENT_EDGE.sub("", said).strip()
    return Unwrapped(said) if said else Unwrapped("", "no_reply" if text.strip() else "empty")


def _joined(messages: list[str]) -> Unwrapped:
    """Several messages that were delivered as one."""
    unwrapped = [unwrap(message) for message in messages if message.strip()]
    words = "\n\n".join(one.words for one in unwrapped if one.words)
    reason = unwrapped[0].reason if unwrapped else "empty"
    return Unwrapped(words, reason)


def _machine_made(text: str) -> str | None:
    """Why a text is the gateway's own, if it is."""
    for start, reason in _MACHINE_TEXTS.items():
        if text.startswith(start):
            return reason
    return "system_message" if text.startswith("System (untrusted): [") else None


def _behind_events(text: str) -> Unwrapped:
    """What stands behind notices of the gateway: an envelope with words, or nothing."""
    if envelope := _METADATA_INSIDE.search(text):
        return _without_envelope(text[envelope.end() :])
    match = _EVENT_LINES.match(text)
    rest = text[match.end() :].strip() if match else ""
    return unwrap(rest) if rest else Unwrapped("", "system_message")


def _without_envelope(text: str) -> Unwrapped:
    """The words behind metadata blocks or a channel's bracket."""
    while match := _METADATA.match(text):
        text = text[match.end() :].lstrip()
    dated = _DATED.match(text)
    if bracket := dated or _CHANNEL.match(text):
        text = text[bracket.end() :].lstrip()
    if reason := _machine_made(text):
        return Unwrapped("", reason)
    if dated and text.startswith(_TASK_TEXTS):
        return Unwrapped("", "spawned_task")
    text = _MESSAGE_ID.sub("", _REPLYING.sub("", text))
    text = _MEDIA.sub("", text).strip()
    return Unwrapped(text) if text else Unwrapped("", "injected")
