"""Cursor agent transcripts (observed in 3.13.25): prompts, replies and their inherited time.

Lines carry no uuid, no session and no time of their own; a prompt may hold a `<timestamp>` tag of
minute precision, which the lines after it inherit. Identity is the place in the file.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from msgspec import structs

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.content import block_types, text_blocks, textless_reason, unknown_type
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    Event,
    LineOutcome,
    Origin,
    Quarantined,
    RawLine,
    Role,
)
from memclaw_etl.trails.identity import placed_identity
from memclaw_etl.trails.injected import strip_cursor_context
from memclaw_etl.trails.lines import parse_records
from memclaw_etl.trails.outcome import odd_fields_of

_QUERY: Final = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)
_TIMESTAMP: Final = re.compile(r"<timestamp>([^<]{1,80})</timestamp>")
_WRITTEN_TIME: Final = re.compile(
    r"(?:[A-Za-z]+,\s*)?(?P<month>[A-Za-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2}),\s*(?P<year>\d{4}),?"
    r"\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"\s*(?:\(?(?:UTC|GMT)(?P<zone>[+\u2212-]\d{1,2}(?::?\d{2})?)?\)?)?"
)
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_NOON: Final = 12
_REDACTED: Final = "[REDACTED]"


def look(line: RawLine) -> LineOutcome:
    """Judge one physical line on its own. Pure; never raises. Text is raw."""
    parsed = parse_records(line)
    said: list[Event] = []
    noise: list[str] = []
    ts_mark: str | None = None
    odd_fields: list[str] = []
    for part, record in parsed.records:
        if not isinstance(record, dict):
            noise.append("no_object")
            continue
        odd_fields.extend(odd_fields_of(record, known_fields.CURSOR))
        verdict, ts = _judge(record, seq=line.seq, part=part)
        ts_mark = ts or ts_mark
        if isinstance(verdict, str):
            noise.append(verdict)
        else:
            said.append(verdict)
    return LineOutcome(
        seq=line.seq,
        first_part=line.first_part,
        next_part=parsed.next_part,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        terminated=line.terminated,
        whole=parsed.whole,
        said=tuple(said),
        noise=tuple(noise),
        quarantined=parsed.quarantined,
        ts_mark=ts_mark,
        odd_fields=tuple(odd_fields),
    )


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Give every event of a window its session, its inherited time and its identity. Pure."""
    last_ts = state.last_ts
    events: list[Event] = []
    noise: Counter[str] = Counter()
    quarantined: list[Quarantined] = []
    for outcome in outcomes:
        noise.update(outcome.noise)
        quarantined.extend(outcome.quarantined)
        for said in outcome.said:
            if isinstance(said, Event):
                last_ts = said.ts or last_ts
                events.append(_placed(said, last_ts, file_session))
        last_ts = outcome.ts_mark or last_ts
    return Assembled(
        events=tuple(events),
        noise=dict(noise),
        quarantined=tuple(quarantined),
        state=replace(state, last_ts=last_ts),
    )


def _placed(event: Event, last_ts: str | None, file_session: str) -> Event:
    identity = placed_identity(
        file_session=file_session,
        seq=event.seq,
        part=event.part,
        role=event.role,
        text=event.content,
    )
    return structs.replace(
        event,
        ts=event.ts or last_ts,
        ts_inferred=event.ts is None and last_ts is not None,
        session_id=file_session,
        identity=identity,
    )


def _judge(record: dict[str, object], *, seq: int, part: int) -> tuple[Event | str, str | None]:
    """The event or the noise reason of one record, and the time that it sets."""
    role = record.get("role")
    if role not in ("user", "assistant"):
        return _roleless(record, role), None
    message = record.get("message")
    if not isinstance(message, dict):
        return "no_message", None
    content = message.get("content")
    if role == "assistant":
        text = _reply_text(content)
        if not text:
            has_marker = any(_REDACTED in block for block in text_blocks(content))
            return ("thinking" if has_marker else _textless(content)), None
        return _event(Role.ASSISTANT, text, None, seq=seq, part=part), None
    text, ts = _prompt_text(content)
    if not text:
        return ("injected" if any(map(str.strip, text_blocks(content))) else _textless(content)), ts
    return _event(Role.USER, text, ts, seq=seq, part=part), ts


def _roleless(record: dict[str, object], role: object) -> str:
    """Noise reason of a line that is neither a user's nor an assistant's."""
    kind = record.get("type")
    if kind in ("turn_ended", "error"):
        return str(kind)
    if role in ("tool", "system"):
        return "tool_result" if role == "tool" else "system"
    return unknown_type(kind if role is None else role)


def _textless(content: object) -> str:
    only_end = block_types(content) == {"turn_ended"}
    return "turn_ended" if only_end else textless_reason(content)


def _reply_text(content: object) -> str:
    """The reply without the client's marker for hidden thinking, which stands last in a block."""
    blocks = (_without_marker(block) for block in text_blocks(content))
    return "\n\n".join(block for block in blocks if block)


def _without_marker(text: str) -> str:
    text = text.strip()
    while text.endswith(_REDACTED):
        text = text.removesuffix(_REDACTED).rstrip()
    return text


def _prompt_text(content: object) -> tuple[str, str | None]:
    """The person's words: what stands in `user_query`, else what remains without known context."""
    blocks = text_blocks(content)
    ts: str | None = None
    queries: list[str] = []
    for block in blocks:
        if match := _TIMESTAMP.search(block):
            ts = parse_written_time(match.group(1)) or ts
        queries.extend(query.strip() for query in _QUERY.findall(block))
    if not any(queries):
        queries = [strip_cursor_context(block) for block in blocks]
    return "\n\n".join(query for query in queries if query), ts


def parse_written_time(text: str) -> str | None:
    """Parse `Tuesday, Jul 21, 2026, 1:11 PM (UTC+3)` to ISO 8601 without any locale.

    Without a zone the time is taken as UTC. None when the text is no such time.
    """
    match = _WRITTEN_TIME.fullmatch(text.strip())
    if match is None or match["month"].lower() not in _MONTHS:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % _NOON + (_NOON if match["half"][0] in "pP" else 0)
    try:
        written = datetime(
            int(match["year"]),
            _MONTHS.index(match["month"].lower()) + 1,
            int(match["day"]),
            hour,
            int(match["minute"]),
            int(match["second"] or 0),
            tzinfo=_zone(match["zone"]),
        )
    except ValueError:
        return None
    return written.isoformat()


def _zone(offset: str | None) -> timezone:
    """Time zone of `+3`, `-04`, `+5:30`, `+0530`."""
    if not offset:
        return UTC
    digits = offset[1:].replace(":", "")
    hours, minutes = (digits, "0") if len(digits) <= len("00") else (digits[:-2], digits[-2:])
    span = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(span if offset[0] == "+" else -span)


def _event(role: Role, text: str, ts: str | None, *, seq: int, part: int) -> Event:
    """An event whose session, inherited time and identity `assemble` fills in."""
    return Event(
        seq=seq,
        part=part,
        ts=ts,
        ts_inferred=False,
        session_id=None,
        role=role,
        kind="prompt" if role is Role.USER else "reply",
        content=text,
        identity="",
        origin=Origin.HUMAN if role is Role.USER else Origin.AGENT,
    )
