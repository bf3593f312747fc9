"""Codex rollouts: copies, context, forks, subagents, other formats."""

from typing import Any

import pytest

from memclaw_etl.trails.events import Assembled, DecoderState, TrailKind
from tests.trail_lines import FRESH, decode, joined, texts

PARENT, CHILD = "019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002"
IDE = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## Open tabs:\n- a.py: a.py\n\n"


def line(kind: str, payload: Any, at: str = "10:00:00.000", **fields: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-06-01T{at}Z", "type": kind, "payload": payload, **fields}


def meta(session: str = PARENT, at: str = "10:00:00.000", **fields: Any) -> dict[str, Any]:
    payload = {"id": session, "cwd": "/srv/ferry", "cli_version": "0.146.0", **fields}
    return line("session_meta", payload, at)


def item(text: str | list[str], role: str = "user", at: str = "10:00:01.000", **more: Any) -> Any:
    kind = "input_text" if role == "user" else "output_text"
    blocks = [{"type": kind, "text": one} for one in ([text] if isinstance(text, str) else text)]
    payload = {"type": "message", "role": role, "content": blocks, **more}
    return line("response_item", payload, at)


def shown(text: str, role: str = "user", at: str = "10:00:01.001", **more: Any) -> dict[str, Any]:
    kind = "user_message" if role == "user" else "agent_message"
    return line("event_msg", {"type": kind, "message": text, **more}, at)


def said(*records: Any, state: DecoderState = FRESH) -> Assembled:
    return decode(joined(records), TrailKind.CODEX, state=state)[0]


def both(text: str, role: str = "user", at: str = "10:00:01") -> list[dict[str, Any]]:
    pair = [item(text, role, f"{at}.000"), shown(text, role, f"{at}.001")]
    return pair if role == "user" else pair[::-1]


def test_every_message_is_one_event_whichever_copy_comes_first() -> None:
    assembled = said(meta(), *both("stack them"), *both("Stacked.", "assistant"), *both("go on"))
    assert texts(assembled) == ["stack them", "Stacked.", "go on"]
    assert [event.seq for event in assembled.events] == [1, 3, 5]
    assert assembled.noise["stored_twice"] == 3
    assert {event.session_id for event in assembled.events} == {PARENT}
    assert {event.project for event in assembled.events} == {"/srv/ferry"}
    assert assembled.versions == {"0.146.0": 1}


def test_the_same_words_again_are_another_event() -> None:
    assert texts(said(meta(), *both("go on"), *both("go on", at="10:05:00"))) == ["go on"] * 2
    only_items = said(meta(), item("go on"), item("go on"))
    assert texts(only_items) == ["go on"] * 2
    assert len({event.identity for event in only_items.events}) == 2


def test_copies_on_two_sides_of_a_window_are_one_event() -> None:
    first, second = both("stack them")
    before = said(meta(), first)
    after = said(second, *both("go on"), state=before.state)
    assert (texts(before), texts(after)) == (["stack them"], ["go on"])
    assert "stack" not in str(before.state)


def test_three_copies_are_one_event() -> None:
    completed = {"type": "UserMessage", "content": [{"type": "text", "text": "stack them"}]}
    third = line("event_msg", {"type": "item_completed", "item": completed})
    assert texts(said(meta(), *both("stack them"), third)) == ["stack them"]


@pytest.mark.parametrize(
    ("blocks", "words", "reason"),
    [
        (["# AGENTS.md instructions\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"], None, "instructions"),
        (["<environment_context>x</environment_context>"], None, "environment"),
        (["<turn_aborted>x</turn_aborted>"], None, "interrupted"),
        (["<a_new_context kind='1'>\nx\n</a_new_context>"], None, "injected"),
        (["<goal_context>x</goal_context>", "real words"], "real words", None),
        (["<b>bold</b> words"], "<b>bold</b> words", None),
        ([f"{IDE}## My request for Codex:\nfix it\n"], "fix it", None),
        ([f"{IDE}## My request for you:\nfix it\n"], "fix it", None),
        ([IDE], None, "ide_context"),
        (["/compact"], None, "command"),
        ([" "], None, "empty"),
    ],
)
def test_what_a_person_typed(blocks: list[str], words: str | None, reason: str | None) -> None:
    assembled = said(meta(), item(blocks))
    assert texts(assembled) == ([words] if words else [])
    assert [one for one in assembled.noise if one != "header"] == ([reason] if reason else [])


def test_what_the_client_says_of_its_blocks_decides() -> None:
    def kinds(*names: str) -> dict[str, Any]:
        return {"internal_chat_message_metadata_passthrough": {"content_item_kinds": list(names)}}

    assert texts(said(item(["ctx", "mine"], **kinds("hooks.context", "user.text")))) == ["mine"]
    assert texts(said(item("looks typed", **kinds("skills.selected")))) == []
    assert texts(said(item("mine", **kinds("user.text", "odd")))) == ["mine"]
    assert texts(said(shown("x", kind="environment_context"))) == []
    assert texts(said({**item("x"), "metadata": {"inherited_user_message": True}})) == []


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (line("turn_context", {}), "turn_context"),
        (line("compacted", {"message": "x"}), "compact_summary"),
        (line("event_msg", {"type": "token_count"}), "token_count"),
        (line("event_msg", {"type": "brand_new"}), "unknown:brand_new"),
        (line("response_item", {"type": "reasoning"}), "thinking"),
        (line("response_item", {"type": "custom_tool_call"}), "tool_use"),
        (line("response_item", {"type": "custom_tool_call_output"}), "tool_result"),
        (line("response_item", {"type": "oracle"}), "unknown:oracle"),
        (line("response_item", {"type": "message", "role": "developer"}), "system"),
        (line("response_item", None), "no_message"),
        (line("brand_new", {}), "unknown:brand_new"),
        ({"type": "thread.started", "thread_id": "x"}, "exec_stream"),
        ({"type": "item.completed", "item": {"type": "agent_message", "text": "x"}}, "exec_stream"),
        ({"session_id": "x", "ts": 1, "text": "words"}, "history"),
        ({"silly": 1}, "untyped"),
    ],
)
def test_other_lines_are_counted(record: dict[str, Any], reason: str) -> None:
    assembled = said(record)
    assert (texts(assembled), list(assembled.noise)) == ([], [reason])


def test_lines_of_the_first_versions_have_no_envelope() -> None:
    bare = item("words")["payload"]
    assert texts(said({"id": "x", "timestamp": "t", "instructions": None}, bare)) == ["words"]


PARENT_LINES = [meta(), *both("stack them"), *both("Stacked.", "assistant", "10:00:05")]


def told_again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """History as a fork tells it: in one go, with the time of the fork."""
    return [
        {**one, "timestamp": f"2026-06-01T20:00:00.{number:03d}Z"}
        for number, one in enumerate(lines)
    ]


def fork(*new: dict[str, Any]) -> Assembled:
    own = meta(CHILD, forked_from_id=PARENT)
    return said(*told_again([own, *PARENT_LINES]), *new)


def test_a_fork_tells_the_same_events_and_says_its_own() -> None:
    parent = said(*PARENT_LINES)
    child = fork(line("turn_context", {}, "23:00:00"), *both("by colour", at="23:00:01"))
    old, new = child.events[:2], child.events[2:]
    assert [event.identity for event in old] == [event.identity for event in parent.events]
    assert {event.session_id for event in old} == {PARENT}
    assert [event.ts_inferred for event in child.events] == [True, True, False]
    assert [(event.content, event.session_id) for event in new] == [("by colour", CHILD)]


def test_a_fork_of_a_fork_tells_the_same_events() -> None:
    grandchild = "019a0000-0000-7000-8000-000000000003"
    child_lines = [
        *told_again([meta(CHILD, forked_from_id=PARENT), *PARENT_LINES]),
        *both("by colour", at="23:00:01"),
    ]
    again = told_again([meta(grandchild, forked_from_id=CHILD), *child_lines])
    assert [e.identity for e in said(*again).events] == [
        e.identity for e in said(*child_lines).events
    ]


def test_two_sessions_with_the_same_words_are_two() -> None:
    other = said(meta(CHILD), *both("stack them"))
    assert other.events[0].identity != said(*PARENT_LINES).events[0].identity


@pytest.mark.parametrize(
    "source", [{"source": {"subagent": {"other": "guardian"}}}, {"thread_source": "subagent"}]
)
def test_a_subagents_rollout_says_nothing(source: dict[str, Any]) -> None:
    first = said(meta(**source), *both("do this"))
    assert (texts(first), first.noise["sidechain"]) == ([], 1)
    assert texts(said(*both("and that"), state=first.state)) == []
