"""OpenClaw: who really speaks, in lines and in envelopes."""

import json
from typing import Any

import pytest

from memclaw_etl.trails.envelopes import unwrap, unwrap_reply
from memclaw_etl.trails.events import Assembled, Origin, Role, TrailKind
from tests.trail_lines import decode, joined, texts

HEADER = {
    "type": "session", "version": 3, "id": "s-1", "timestamp": "2026-02-18T20:00:00.000Z",
    "cwd": "/srv/ferry",
}  # fmt: skip
INFO = 'Conversation info (untrusted metadata):\n```json\n{"message_id": "7"}\n```\n\n'

QUEUED = (
    f"[Queued messages while agent was busy]\n\n---\nQueued #1\n{INFO}one\n\n---\n"
    f"Queued #2\n{INFO}two"
)


def row(role: str, content: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    message = {"role": role, "content": blocks, "timestamp": 1771444800000 + number, **fields}
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": f"{number - 1:08x}",
        "timestamp": f"2026-02-18T20:01:{number:02d}.000Z",
        "message": {key: value for key, value in message.items() if value is not None},
    }


def said(*records: dict[str, Any], header: dict[str, Any] | None = HEADER) -> Assembled:
    lines = [header, *records] if header else list(records)
    return decode(joined(lines), TrailKind.OPENCLAW)[0]


def reasons(assembled: Assembled) -> list[str]:
    return [reason for reason in assembled.noise if reason != "header"]


def test_an_event_says_who_when_where() -> None:
    [asked, answered] = said(row("user", "what floats?"), row("assistant", "The ferry.", 2)).events
    assert (asked.role, asked.kind, asked.origin) == (Role.USER, "prompt", Origin.HUMAN)
    assert (answered.role, answered.kind, answered.origin) == (
        Role.ASSISTANT, "reply", Origin.AGENT,
    )  # fmt: skip
    assert (asked.session_id, asked.project) == ("s-1", "/srv/ferry")
    assert (asked.ts, asked.seq) == ("2026-02-18T20:01:01.000Z", 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain words", "plain words"),
        (f"{INFO}words behind", "words behind"),
        (f"{INFO}Sender (untrusted metadata):\n```json\n{{}}\n```\n\nwords", "words"),
        ("[Discord kit user id:42 +4s Wed 2026-02-18 17:10 EST] hi\n[message_id: 9]", "hi"),
        ("[Telegram Kit id:4 2026-02-18 17:10 UTC] two\nlines\n[message_id: 9]", "two\nlines"),
        ("[Wed 2026-02-18 17:10 EST] typed in the web chat", "typed in the web chat"),
        (f"System: [2026-02-18 16:31:00 EST] Exec completed\n\n{INFO}buy it", "buy it"),
        (f"System: [a] one\nSystem: [b] two\n\n\n{INFO}buy it", "buy it"),
        ("System: [2026-02-18 16:31:00 EST] Node connected\n\nhello there", "hello there"),
        (
            QUEUED,
            "one\n\ntwo",
        ),
        ("[Discord a id:1 2026-02-18 17:10 EST] no\n[Replying to b id:3]\nx\n[/Replying]", "no"),
        ("[media attached: /a/b.png (image/png)]\nlook at this", "look at this"),
        ("[x] is not done yet", "[x] is not done yet"),
        ("# heading of mine", "# heading of mine"),
        ("System: what is that?", "System: what is that?"),
    ],
)
def test_the_words_of_a_person_behind_their_envelope(text: str, words: str) -> None:
    assert unwrap(text).words == words
    assert texts(said(row("user", text))) == [words]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[cron:11111111-2222 Kiln] look", "cron"),
        ('A cron job "x" just completed', "cron"),
        ('[Wed 2026-02-18 16:30 EST] A subagent task "x" just completed', "subagent"),
        ("[Wed 2026-02-18 16:30 EST] [Subagent Context] you are", "subagent"),
        ("[Wed 2026-02-18 16:30 EST] [System Message] [sessionId: 4] x", "system_message"),
        ("[Wed 2026-02-18 16:30 EST] Read and follow /a/TASK.md", "spawned_task"),
        ("[Wed 2026-02-18 16:30 EST] ## Build it", "spawned_task"),
        ("Continue where you left off. The previous model attempt failed", "retry_instruction"),
        ("Pre-compaction memory flush. Store", "memory_flush"),
        ("A new session was started via /new or /reset. Greet", "reset_greeting"),
        ("Read HEARTBEAT.md if it exists", "heartbeat"),
        ("Task: Gmail | Job ID: 4 | Received: x\n\nEXTERNAL, UNTRUSTED", "webhook"),
        ("Task: iMessage | Job ID: 4", "webhook"),
        ("System: [2026-02-18 16:31:00 EST] Node connected", "system_message"),
        (f"{INFO}", "injected"),
        ("/new", "command"),
        ("  ", "empty"),
    ],
)
def test_what_the_gateway_writes_is_noise(text: str, reason: str) -> None:
    assembled = said(row("user", text))
    assert (texts(assembled), reasons(assembled)) == ([], [reason])


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("[[reply_to_current]] Done.", "Done.", None),
        ("Done. [[reply_to: 42]]", "Done.", None),
        ("NO_REPLY", "", "no_reply"),
        ("**NO_REPLY**", "", "no_reply"),
        ("HEARTBEAT_OK", "", "heartbeat"),
        ("Saved it.\n\nNO_REPLY", "Saved it.", None),
        ("I answer NO_REPLY when idle", "I answer NO_REPLY when idle", None),
        ("[[reply_to_current]]", "", "no_reply"),
    ],
)
def test_replies_without_what_is_for_the_gateway(text: str, words: str, reason: str | None) -> None:
    assert unwrap_reply(text).words == words
    assembled = said(row("assistant", text))
    assert (texts(assembled), reasons(assembled)) == (
        [words] if words else [], [reason] if reason else [],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (row("assistant", "Done.", model="delivery-mirror"), "delivery_mirror"),
        (row("assistant", "Done.", model="gateway-injected"), "delivery_mirror"),
        (row("assistant", [], stopReason="error"), "failed_reply"),
        (row("assistant", [], stopReason="stop"), "empty"),
        (row("assistant", [{"type": "toolCall", "name": "x"}]), "tool_use"),
        (row("assistant", [{"type": "thinking", "thinking": "x"}]), "thinking"),
        (row("toolResult", "output"), "tool_result"),
        (row("bashExecution", None), "shell"),
        (row("oracle", "x"), "unknown:oracle"),
        (row("user", None), "empty"),
        (row("user", "from elsewhere", provenance={"kind": "inter_session"}), "inter_session"),
        ({"type": "compaction", "summary": "x"}, "compact_summary"),
        ({"type": "custom", "customType": "x"}, "custom"),
        ({"type": "message"}, "no_message"),
        ({"type": "brand_new"}, "unknown:brand_new"),
        ({"type": {}}, "unknown:other"),
    ],
)
def test_other_rows_are_counted(record: dict[str, Any], reason: str) -> None:
    assembled = said(record)
    assert (texts(assembled), reasons(assembled)) == ([], [reason])


def test_a_retried_message_is_one_event() -> None:
    again = {**row("user", "buy it", 1), "id": "99", "timestamp": "2026-02-18T21:00:00.000Z"}
    assembled = said(row("user", "buy it", 1), again)
    assert texts(assembled) == ["buy it"]
    assert assembled.noise["replayed"] == 1
    assert len(said(row("user", "buy it", 1), row("user", "buy it", 2)).events) == 2


def test_a_copy_in_another_session_is_the_same_event() -> None:
    copied = said(row("user", "buy it"), header={**HEADER, "id": "s-2"})
    assert copied.events[0].identity == said(row("user", "buy it")).events[0].identity
    assert copied.events[0].session_id == "s-2"


def test_without_times_the_place_is_the_identity() -> None:
    bare = {"type": "message", "message": {"role": "user", "content": "words"}}
    events = said(bare, bare, header=None).events
    assert [event.session_id for event in events] == ["file-session"] * 2
    assert len({event.identity for event in events}) == 2


def test_the_header_holds_in_later_windows() -> None:
    first = said(row("user", "one"))
    later = decode(joined([row("user", "two", 2)]), TrailKind.OPENCLAW, state=first.state)[0]
    assert (later.events[0].session_id, later.events[0].project) == ("s-1", "/srv/ferry")


def test_times_that_are_none_do_no_harm() -> None:
    for time in (True, "x", -5, 10**30, 1e300, float("nan"), None, "2026-02-18T20:00:00Z"):
        record = row("user", "words", timestamp=time)
        [event] = decode(json.dumps(record).encode() + b"\n", TrailKind.OPENCLAW)[0].events
        assert event.ts == "2026-02-18T20:01:01.000Z"


def test_unknown_fields_are_counted_by_name() -> None:
    assert said({**row("user", "x"), "brandNew": 1, "a b": 2}).odd_fields == {
        "unknown_field:brandNew": 1, "unknown_field:other": 1,
    }  # fmt: skip
