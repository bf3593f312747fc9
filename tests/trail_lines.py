"""Invented trail lines in the formats of the agents, for tests and benches."""

import io
import json
from collections.abc import Iterable
from typing import Any

from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.events import Assembled, DecoderState, Position, TrailKind

START, FRESH = Position(), DecoderState()
SESSION = "11111111-2222-4333-8444-555555555555"


def dumped(record: object) -> bytes:
    """One record as the agents write it: compact, not escaped."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def claude(kind: str, content: Any, number: int = 0, **fields: Any) -> dict[str, Any]:
    """A user or assistant record of Claude Code; fields set to None are left out."""
    record: dict[str, Any] = {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/srv/ferry",
        "sessionId": SESSION,
        "version": "2.1.37",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "timestamp": f"2026-02-03T09:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
    }
    record.update(fields)
    return {key: value for key, value in record.items() if value is not None or key == "parentUuid"}


def prompt(text: Any, number: int = 0, **fields: Any) -> dict[str, Any]:
    return claude("user", text, number, **fields)


def reply(text: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    return claude("assistant", [{"type": "text", "text": text}], number, **fields)


def tool_result(text: str, number: int = 0, *beside: dict[str, Any]) -> dict[str, Any]:
    block = {"tool_use_id": "toolu_1", "type": "tool_result", "content": text}
    return claude("user", [block, *beside], number, toolUseResult={"stdout": text})


def queue(operation: str, content: str | None = None, number: int = 0) -> dict[str, Any]:
    record = {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": f"2026-02-03T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        "sessionId": SESSION,
    }
    return record if content is None else {**record, "content": content}


def joined(records: Iterable[object]) -> bytes:
    return b"".join(dumped(record) + b"\n" for record in records)


def decode(
    data: bytes,
    kind: TrailKind = TrailKind.CLAUDE_CODE,
    *,
    start: Position = START,
    byte_end: int | None = None,
    state: DecoderState = FRESH,
    file_session: str = "file-session",
) -> tuple[Assembled, Position]:
    return decode_bytes(
        kind,
        io.BytesIO(data),
        start=start,
        byte_end=byte_end,
        state=state,
        file_session=file_session,
    )


def texts(assembled: Assembled) -> list[str]:
    return [event.content for event in assembled.events]
