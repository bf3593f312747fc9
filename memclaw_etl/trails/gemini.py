"""Gemini CLI chats: one JSON document that is rewritten as a whole, or (newer) JSON lines.

A document has no lines of its own: its messages are read as records, addressed by their index, and
reduced to the fields that never change once written (the client adds tool results and token counts
to a message later). In the line form a row `$set` may tell the whole list again; an event is
therefore known by session and message id.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.content import plain_string, unknown_type
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
from memclaw_etl.trails.identity import (
    exact_time,
    named_identity,
    placed_identity,
    spoken_identity,
)
from memclaw_etl.trails.injected import is_slash_command, strip_injected
from memclaw_etl.trails.lines import ParsedLine, parse_records
from memclaw_etl.trails.outcome import outcome_of

_NOTICES: Final = ("info", "warning", "error")
_REFERENCED: Final = re.compile(
    r"\n*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL
)
_CONTEXT_STARTS: Final = (
    "This is the Gemini CLI. We are setting up the context",
    "<session_context>",
)
_LASTING_FIELDS: Final = ("id", "type", "timestamp", "content", "displayContent")
_HEADER_FIELDS: Final = frozenset({"startTime", "projectHash", "lastUpdated", "kind"})

Record = dict[str, object]


def look(line: RawLine) -> LineOutcome:
    """Judge one line, or one message of a document, on its own. Pure; never raises."""
    return outcome_of(line, _spread(parse_records(line)), _judge, known_fields=known_fields.GEMINI)


def _spread(parsed: ParsedLine) -> ParsedLine:
    """Make every message of a `$set` row, or of a document on one line, a record of its own."""
    records: list[tuple[int, object]] = []
    shift = 0
    for part, record in parsed.records:
        rows = list(_rows(record))
        records += [(part + shift + place, row) for place, row in enumerate(rows)]
        shift += len(rows) - 1
    return structs.replace(parsed, records=tuple(records), next_part=parsed.next_part + shift)


def _rows(record: object) -> Iterator[object]:
    """The record, and behind it the messages that it holds."""
    changes = record.get("$set") if isinstance(record, dict) else None
    holder = changes if isinstance(changes, dict) else record
    messages = holder.get("messages") if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or not isinstance(messages, list):
        yield record
        return
    session = holder.get("sessionId")
    yield {"$set": None, "sessionId": session}
    for message in messages:
        yield {"sessionId": session, **message} if isinstance(message, dict) else message


def lasting_messages(document: object) -> Iterator[object]:
    """The messages of a document, without the fields that the client fills in later."""
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(messages, list):
        return
    session = document.get("sessionId")
    for message in messages:
        if isinstance(message, dict):
            lasting = {name: message[name] for name in _LASTING_FIELDS if name in message}
            yield {"sessionId": session, **lasting}
        else:
            yield message


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Give the events of a window their session and identity, each once. Pure."""
    session = state.session_id
    events: dict[str, Event] = {}
    noise: Counter[str] = Counter()
    quarantined: list[Quarantined] = []
    for outcome in outcomes:
        noise.update(outcome.noise)
        quarantined.extend(outcome.quarantined)
        for said in outcome.said:
            if isinstance(said, Header):
                session = said.session_id or session
            elif isinstance(said, Event):
                event = _placed(said, said.session_id or session or file_session)
                if event.identity in events:
                    noise["replayed"] += 1
                else:
                    events[event.identity] = event
    return Assembled(
        events=tuple(events.values()),
        noise=dict(noise),
        quarantined=tuple(quarantined),
        state=replace(state, session_id=session),
    )


def _placed(event: Event, session: str) -> Event:
    """The event in its session; `source` holds the id that its message has there."""
    if event.source:
        identity = named_identity("gemini", session, event.role, event.source)
    elif event.ts:
        identity = spoken_identity(
            role=event.role, ts=event.ts, session_id=session, text=event.content
        )
    else:
        identity = placed_identity(
            file_session=session,
            seq=event.seq,
            part=event.part,
            role=event.role,
            text=event.content,
        )
    return structs.replace(event, session_id=session, identity=identity, source="")


def _judge(record: Record, *, seq: int, part: int) -> tuple[Said | str, ...]:
    kind = record.get("type")
    if "$set" in record:
        session = plain_string(record.get("sessionId"))
        return (Header(session), "snapshot") if session else ("snapshot",)
    if "$rewindTo" in record:
        return ("rewind",)
    if kind is None and "sessionId" in record and _HEADER_FIELDS & record.keys():
        return Header(plain_string(record.get("sessionId"))), "header"
    if kind in ("user", "gemini"):
        return (_judge_message(record, seq=seq, part=part),)
    return ("notice" if kind in _NOTICES else unknown_type(kind),)


def _judge_message(record: Record, *, seq: int, part: int) -> Event | str:
    is_prompt = record.get("type") == "user"
    shown = record.get("displayContent") if is_prompt else None
    texts = [text.strip() for text in _texts(shown) or _texts(record.get("content"))]
    if is_prompt:
        texts = [_own_words(text) for text in texts]
    text = "\n\n".join(filter(None, texts))
    if not text:
        return _textless(record, had_text=any(texts) or bool(_texts(record.get("content"))))
    if is_prompt and is_slash_command(text):
        return "command"
    role = Role.USER if is_prompt else Role.ASSISTANT
    return Event(
        seq=seq,
        part=part,
        ts=exact_time(record.get("timestamp")),
        ts_inferred=False,
        session_id=plain_string(record.get("sessionId")),
        role=role,
        kind="prompt" if is_prompt else "reply",
        content=text,
        identity="",
        origin=Origin.HUMAN if is_prompt else Origin.AGENT,
        source=plain_string(record.get("id")) or "",
    )


def _textless(record: Record, *, had_text: bool) -> str:
    if had_text:
        return "injected"
    return "tool_use" if record.get("toolCalls") else "empty"


def _texts(content: object) -> list[str]:
    """The texts of a content: a string, a part `{"text"}`, or a list of both."""
    parts = content if isinstance(content, list) else [content]
    found = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return [text for text in found if isinstance(text, str) and text.strip()]


def _own_words(text: str) -> str:
    """The person's words without the files that `@file` put behind them."""
    if text.startswith(_CONTEXT_STARTS):
        return ""
    return strip_injected(_REFERENCED.sub("", text))
