import pytest

from memclaw_etl.trails.events import DecoderState, Origin, Role
from memclaw_etl.trails.identity import text_hash
from tests.trail_lines import (
    SESSION,
    claude,
    decode,
    joined,
    prompt,
    queue,
    reply,
    texts,
    tool_result,
)


def one(record: dict) -> tuple[str | None, str | None]:
    """The text of the single event of a line, and the single noise reason."""
    assembled, _ = decode(joined([record]))
    assert len(assembled.events) + sum(assembled.noise.values()) == 1
    return next(iter(texts(assembled)), None), next(iter(assembled.noise), None)


def test_an_event_says_who_when_where() -> None:
    [event] = decode(joined([prompt("no, use the other one", 5)]))[0].events
    assert (event.role, event.kind, event.origin) == (Role.USER, "prompt", Origin.HUMAN)
    assert (event.ts, event.ts_inferred) == ("2026-02-03T09:00:05.000Z", False)
    assert (event.session_id, event.project) == (SESSION, "/srv/ferry")
    assert event.identity == "uuid:00000000-0000-4000-8000-000000000005"
    [event] = decode(joined([reply("Done.")]))[0].events
    assert (event.role, event.kind, event.origin) == (Role.ASSISTANT, "reply", Origin.AGENT)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[Request interrupted by user]", "interrupted"),
        ("[Request interrupted by user for tool use]", "interrupted"),
        ("<local-command-caveat>Caveat: x</local-command-caveat>", "local_command"),
        ("<local-command-stdout>out</local-command-stdout>", "local_command"),
        ("<command-name>/model</command-name>", "command"),
        ("<command-message>init is running</command-message>", "command"),
        ("<bash-input>ls</bash-input>", "shell"),
        ("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>", "shell"),
        ("<task-notification>\n<task-id>b</task-id></task-notification>", "notification"),
        ("<bash-notification>x</bash-notification>", "notification"),
        ("<agent-notification>x</agent-notification>", "notification"),
        ("This session is being continued from a previous conversation that", "compact_summary"),
        ("Base directory for this skill: /srv/skill", "skill"),
        ("Implement the following plan:\n\n# Plan", "accepted_plan"),
        ("<system-reminder>\nx\n</system-reminder>", "injected"),
        ("  \n", "empty"),
    ],
)
def test_wrappers_without_a_flag_are_noise(text: str, reason: str) -> None:
    assert one(prompt(text)) == (None, reason)
    assert one(prompt([{"type": "text", "text": text}])) == (None, reason)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"isSidechain": True}, "sidechain"),
        ({"isMeta": True}, "meta"),
        ({"isCompactSummary": True, "isVisibleInTranscriptOnly": True}, "compact_summary"),
        ({"isVisibleInTranscriptOnly": True}, "transcript_only"),
        ({"isApiErrorMessage": True}, "api_error"),
        ({"planContent": "# Plan"}, "accepted_plan"),
        ({"toolUseResult": "text"}, "tool_result"),
        ({"promptSource": "system"}, "machine_prompt"),
        ({"origin": {"kind": "task-notification"}}, "machine_prompt"),
        ({"message": "error"}, "no_message"),
        ({"message": {"content": None}}, "empty"),
        ({"message": {"content": ["words", 3, None]}}, "empty"),
    ],
)
def test_flags_and_fields_decide(flags: dict, reason: str) -> None:
    assert one(prompt("Words that look typed", **flags)) == (None, reason)


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({"promptSource": "typed"}, Origin.HUMAN),
        ({"origin": {"kind": "human"}}, Origin.HUMAN),
        ({"promptSource": "sdk"}, Origin.PROGRAM),
        ({"promptSource": "queued", "origin": {"kind": "human"}}, Origin.QUEUED),
        ({"promptSource": "a-new-source"}, Origin.HUMAN),
        ({"isMeta": False, "isSidechain": False}, Origin.HUMAN),
    ],
)
def test_the_client_says_where_a_prompt_comes_from(fields: dict, origin: Origin) -> None:
    [event] = decode(joined([prompt("go", **fields)]))[0].events
    assert event.origin is origin


def test_a_person_may_type_the_phrase_of_a_wrapper() -> None:
    text = "Implement the following plan: first the parser, then the tests"
    assert one(prompt(text, promptSource="typed"))[0] == text
    assert one(prompt("<command-name>x</command-name>", promptSource="typed"))[1] == "command"


def test_injected_blocks_go_and_the_words_stay() -> None:
    content = [
        {"type": "text", "text": "<ide_opened_file>lid.py</ide_opened_file>"},
        {"type": "text", "text": "<system-reminder>a</system-reminder> keep <b>this</b>\n"},
        {"type": "text", "text": "[Request interrupted by user]"},
        {"type": "image", "source": {}},
        {"type": "text", "text": "<relevant-memories>old</relevant-memories>and that"},
    ]
    assert one(prompt(content))[0] == "keep <b>this</b>\n\nand that"
    assert (
        one(prompt("<user-memory-input>never use tabs</user-memory-input>"))[0] == "never use tabs"
    )


def test_an_unclosed_tag_is_text_unless_it_leads() -> None:
    assert (
        one(prompt("what does <system-reminder> mean?"))[0] == "what does <system-reminder> mean?"
    )
    assert one(prompt("<system-reminder>\ncut off")) == (None, "injected")


def test_many_unclosed_tags_stay_cheap() -> None:
    text = "x" + "<system-reminder>" * 200_000
    assert one(prompt(text))[0] == text


def test_text_beside_a_tool_result_is_steering() -> None:
    typed = {"type": "text", "text": "stop, other file"}
    [event] = decode(joined([tool_result("out", 1, typed)]))[0].events
    assert (event.content, event.origin) == ("stop, other file", Origin.STEERING)
    marker = {"type": "text", "text": "[Request interrupted by user for tool use]"}
    assert one(tool_result("out", 1, marker)) == (None, "tool_result")


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([{"type": "thinking", "thinking": "x"}], "thinking"),
        ([{"type": "redacted_thinking"}], "thinking"),
        ([{"type": "thinking"}, {"type": "tool_use"}], "tool_use"),
        ([{"type": "text", "text": "No response requested."}], "synthetic"),
        ([{"type": "text", "text": "(no content)"}], "empty"),
        ([{"type": "text", "text": 5}], "empty"),
        ([], "empty"),
        (None, "empty"),
        ([{"type": "image"}], "image"),
    ],
)
def test_replies_without_words(blocks: object, reason: str) -> None:
    record = claude("assistant", blocks)
    assert one(record) == (None, reason)


def test_a_synthetic_model_is_no_reply() -> None:
    record = reply("API Error: 529")
    record["message"]["model"] = "<synthetic>"
    assert one(record) == (None, "synthetic")


def test_a_reply_joins_its_text_blocks() -> None:
    blocks = [{"type": "text", "text": "a "}, {"type": "tool_use"}, {"type": "text", "text": "b"}]
    assert one(claude("assistant", blocks))[0] == "a\n\nb"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"type": "summary", "summary": "x"}, "summary"),
        ({"type": "file-history-delta"}, "file_history"),
        ({"type": "progress", "data": {}}, "progress"),
        ({"type": "frame-link"}, "unknown:frame-link"),
        ({"type": "x" * 41}, "unknown:other"),
        ({"type": "a secret text"}, "unknown:other"),
        ({"type": 5}, "unknown:other"),
        ({"silly": "this"}, "untyped"),
        ("massive error", "no_object"),
        ({"type": "attachment", "attachment": {"type": "skill_listing"}}, "attachment"),
        ({"type": "queue-operation", "operation": "later"}, "queue_operation"),
    ],
)
def test_other_types_are_counted(record: object, reason: str) -> None:
    assert one(record) == (None, reason)


def test_without_uuid_or_time_the_place_is_the_identity() -> None:
    bare = {"uuid": None, "timestamp": "yesterday", "sessionId": None}
    events = decode(joined([prompt("go", **bare), prompt("go", **bare)]))[0].events
    assert [event.ts for event in events] == [None, None]
    assert [event.session_id for event in events] == ["file-session"] * 2
    assert len({event.identity for event in events}) == 2
    timed = [prompt("go", 1, uuid=None), prompt("go", 1, uuid=None), prompt("go", 2, uuid=None)]
    assembled, _ = decode(joined(timed))
    assert [event.seq for event in assembled.events] == [0, 2]
    assert assembled.noise == {"replayed": 1}


def test_versions_are_counted_and_never_free_text() -> None:
    lines = [prompt("a", 1), tool_result("b", 2), prompt("c", 3, version="a name")]
    assert decode(joined(lines))[0].versions == {"2.1.37": 2}


def test_an_enqueue_that_comes_again_is_one_event() -> None:
    lines = [
        queue("enqueue", "then the tests"),
        queue("dequeue"),
        prompt("then the tests", 9),
    ]
    assembled, _ = decode(joined(lines))
    assert [(event.seq, event.content) for event in assembled.events] == [(2, "then the tests")]
    assert assembled.noise == {"queued_elsewhere": 1, "queue_operation": 1}
    assert assembled.state.emitted_queue == ()


def test_two_equal_enqueues_and_one_user_line_are_two_events() -> None:
    lines = [queue("enqueue", "go on", 1), queue("enqueue", "go on", 2), prompt("go on", 9)]
    assert [event.seq for event in decode(joined(lines))[0].events] == [1, 2]


def test_queued_prompts_inside_one_user_line_are_that_line() -> None:
    lines = [
        queue("enqueue", "first wish", 1),
        queue("enqueue", "second wish", 2),
        queue("enqueue", "wish", 3),
        prompt("first wish\nsecond wish", 9),
    ]
    assembled, _ = decode(joined(lines))
    assert texts(assembled) == ["wish", "first wish\nsecond wish"]
    assert assembled.noise["queued_elsewhere"] == 2


def test_an_open_enqueue_is_emitted_once_over_windows() -> None:
    first, state = decode(joined([queue("enqueue", "metric units"), queue("remove")]))[0], None
    assert [(event.content, event.origin) for event in first.events] == [
        ("metric units", Origin.QUEUED)
    ]
    state = first.state
    assert state.emitted_queue == (text_hash("metric units"),)
    again, _ = decode(joined([prompt("metric units", 9)]), state=state)
    assert texts(again) == []
    assert again.noise == {"replayed_queue": 1}
    assert again.state.emitted_queue == ()
    third, _ = decode(joined([prompt("metric units", 10)]), state=again.state)
    assert texts(third) == ["metric units"]


def test_a_new_enqueue_is_not_mixed_up_with_an_emitted_one() -> None:
    state = DecoderState(emitted_queue=(text_hash("yes"),))
    lines = [queue("enqueue", "yes"), queue("dequeue"), prompt("yes", 9)]
    assembled, _ = decode(joined(lines), state=state)
    assert [event.seq for event in assembled.events] == [2]


def test_the_state_stays_bounded_and_without_text() -> None:
    lines = [queue("enqueue", f"wish {number}", number) for number in range(100)]
    state = decode(joined(lines))[0].state
    assert len(state.emitted_queue) == 64
    assert state.emitted_queue[-1] == text_hash("wish 99")


def test_pop_all_takes_back_what_still_waits() -> None:
    lines = [
        queue("enqueue", "sent", 1),
        queue("dequeue"),
        queue("enqueue", "not sent", 2),
        queue("enqueue", "nor this", 3),
        queue("popAll"),
    ]
    assembled, _ = decode(joined(lines))
    assert texts(assembled) == ["sent"]
    assert assembled.noise == {"queue_operation": 2, "queue_taken_back": 2}


def test_pop_all_with_content_takes_back_only_that() -> None:
    lines = [
        queue("enqueue", "keep it", 1),
        queue("enqueue", "drop it", 2),
        queue("popAll", "drop it"),
    ]
    assert texts(decode(joined(lines))[0]) == ["keep it"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/model large", "command"),
        ("/compact", "command"),
        ("<task-notification>x</task-notification>", "notification"),
    ],
)
def test_queued_commands_and_notifications_are_noise(text: str, reason: str) -> None:
    assert one(queue("enqueue", text)) == (None, reason)


def test_a_queued_path_is_a_prompt() -> None:
    assert one(queue("enqueue", "/srv/ferry/log.txt is empty"))[0] == "/srv/ferry/log.txt is empty"


def attachment(**fields: object) -> dict:
    record = prompt("", 3, message=None, attachment={"type": "queued_command", **fields})
    return {**record, "type": "attachment"}


def test_a_queued_command_attachment_is_a_prompt() -> None:
    [event] = decode(joined([attachment(prompt="and paint it")]))[0].events
    assert (event.content, event.origin) == ("and paint it", Origin.QUEUED)
    blocks = [{"type": "text", "text": "see here"}, {"type": "image"}]
    assert one(attachment(prompt=blocks))[0] == "see here"
    assert one(attachment(prompt="x", commandMode="task-notification"))[1] == "machine_prompt"
    assert one(attachment(prompt="/clear"))[1] == "command"
    assert one(attachment(prompt=None))[1] == "empty"
