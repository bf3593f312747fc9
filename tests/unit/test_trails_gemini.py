"""Gemini CLI: documents that are rewritten as a whole, and lines."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.documents import is_document
from memclaw_etl.trails.events import Assembled, DecoderState, Position, TrailKind
from memclaw_etl.trails.opening import as_lines
from tests.trail_lines import decode, joined, texts

HEADER = {"sessionId": "g-1", "startTime": "2026-07-17T09:00:00Z", "projectHash": "x"}


def message(kind: str, content: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    at = f"2026-07-17T09:00:{number:02d}Z"
    return {"id": f"m{number}", "timestamp": at, "type": kind, "content": content, **fields}


TALK = [
    message("user", "what floats?", 1),
    message("gemini", [{"text": "The ferry."}], 2, toolCalls=[{"id": "t"}], thoughts=[]),
    message("info", "notice", 3),
    message("gemini", "", 4, toolCalls=[{"id": "t"}]),
]


def document(messages: list[dict[str, Any]], *, pretty: bool = True) -> bytes:
    return json.dumps({**HEADER, "messages": messages}, indent=2 if pretty else None).encode()


def read(data: bytes, start: Position | None = None, state: DecoderState | None = None) -> Any:
    file = as_lines(TrailKind.GEMINI, BytesIO(data), real_path=Path("/x"), node_id="gemini:m:x")
    return decode_bytes(
        TrailKind.GEMINI, file, start=start or Position(), byte_end=None,
        state=state or DecoderState(), file_session="x",
    )  # fmt: skip


def seen(assembled: Assembled) -> list[tuple[int, str, str | None, str | None]]:
    return [(e.seq, e.content, e.session_id, e.ts) for e in assembled.events]


EXPECTED = [
    (0, "what floats?", "g-1", "2026-07-17T09:00:01Z"),
    (1, "The ferry.", "g-1", "2026-07-17T09:00:02Z"),
]


@pytest.mark.parametrize("pretty", [True, False])
@pytest.mark.parametrize("around", [(b"", b""), (b"\xef\xbb\xbf", b"\r\n"), (b"\n", b"\n\n")])
def test_a_document_is_its_messages(pretty: bool, around: tuple[bytes, bytes]) -> None:
    data = around[0] + document(TALK, pretty=pretty) + around[1]
    assembled, end = read(data)
    assert seen(assembled) == EXPECTED
    assert assembled.noise == {"notice": 1, "empty": 1}
    assert end.seq == 4


def test_a_document_only_grows_whatever_the_client_fills_in_later() -> None:
    first, at = read(document(TALK[:2]))
    filled = [TALK[0], {**TALK[1], "tokens": {"total": 5}, "toolCalls": []}, *TALK[2:]]
    more = message("user", "and sinks?", 5)
    second, _ = read(document([*filled, more], pretty=False), start=at, state=first.state)
    assert [event.content for event in second.events] == ["and sinks?"]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_document_that_is_being_written_waits(cut: int) -> None:
    data = document(TALK)
    with pytest.raises(TrailUnreadableError, match="no whole JSON document") as raised:
        read(data[:cut])
    assert "floats" not in str(raised.value)


def test_lines_are_no_document() -> None:
    lines = joined([HEADER, *TALK])
    assert not is_document(BytesIO(lines))
    assert seen(read(lines)[0]) == [(seq + 1, *rest) for seq, *rest in EXPECTED]
    assert is_document(BytesIO(b'{"sessionId": "x", "mes'))
    assert not is_document(BytesIO(b"[1]\n[2]\n"))


def test_a_list_that_is_told_again_adds_only_what_is_new() -> None:
    later = [*TALK, message("user", "and sinks?", 5)]
    lines = [HEADER, {"$set": {"messages": TALK}}, {"$set": {"messages": later}}]
    assembled = decode(joined(lines), TrailKind.GEMINI)[0]
    assert texts(assembled) == ["what floats?", "The ferry.", "and sinks?"]
    assert [(event.seq, event.part) for event in assembled.events] == [(1, 1), (1, 2), (2, 5)]
    assert assembled.noise["replayed"] == 2


def test_a_row_glued_behind_a_list_keeps_a_part_of_its_own() -> None:
    glued = joined([{"$set": {"messages": TALK}}])[:-1] + joined([message("user", "new", 9)])
    assembled = decode(glued, TrailKind.GEMINI)[0]
    assert len({(event.seq, event.part) for event in assembled.events}) == 3


def test_document_and_lines_tell_the_same_events() -> None:
    as_document, as_rows = read(document(TALK))[0], read(joined([HEADER, *TALK]))[0]
    assert [e.identity for e in as_document.events] == [e.identity for e in as_rows.events]


@pytest.mark.parametrize(
    ("record", "words", "reason"),
    [
        (message("user", "/help"), None, "command"),
        (message("user", "x\n--- Content from referenced files ---\nsecret"), "x", None),
        (message("user", "long", displayContent="short"), "short", None),
        (message("user", [{"text": "a"}, "b", {"inlineData": 1}]), "a\n\nb", None),
        (message("user", "<system-reminder>x</system-reminder>"), None, "injected"),
        (message("user", None), None, "empty"),
        (message("gemini", [], toolCalls=[1]), None, "tool_use"),
        (message("telemetry", "x"), None, "unknown:telemetry"),
        ({"$rewindTo": "m1"}, None, "rewind"),
        ({"silly": 1}, None, "untyped"),
    ],
)
def test_messages_of_every_kind(record: Any, words: str | None, reason: str | None) -> None:
    assembled = decode(joined([record]), TrailKind.GEMINI)[0]
    assert texts(assembled) == ([words] if words else [])
    assert list(assembled.noise) == ([reason] if reason else [])


def test_odd_documents_do_no_harm() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    odd = [5, None, "text", {"type": "user", "content": deep}, {"id": 10**40, "type": "user"}]
    for data in (document(odd), b'{"messages": 5}', b'{"messages": [NaN, {"type": "user"}]}'):
        assert read(data)[0].events == ()
