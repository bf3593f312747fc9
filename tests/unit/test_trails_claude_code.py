import pytest

from memclaw_etl.trails.events import Assembled, DecoderState, Origin, Role
from memclaw_etl.trails.prompt_queue import queue_key
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


def kept(state: str, text: str, session: str = SESSION) -> str:
    return f"{state}:{len(text)}:{queue_key(session, text)}"


def test_an_open_enqueue_is_emitted_once_over_windows() -> None:
    first, _ = decode(joined([queue("enqueue", "metric units"), queue("remove")]))
    assert [(event.content, event.origin) for event in first.events] == [
        ("metric units", Origin.QUEUED)
    ]
    assert first.state.emitted_queue == (kept("l", "metric units"),)
    again, _ = decode(joined([prompt("metric units", 9)]), state=first.state)
    assert texts(again) == []
    assert again.noise == {"replayed_queue": 1}
    assert again.state.emitted_queue == ()
    third, _ = decode(joined([prompt("metric units", 10)]), state=again.state)
    assert texts(third) == ["metric units"]


def test_what_left_the_queue_comes_again_only_until_the_agent_answers() -> None:
    queued = [queue("enqueue", "go on", 1), queue("remove")]
    first, _ = decode(joined(queued))
    later = [reply("Going on.", 5), prompt("go on", 9)]
    second, _ = decode(joined(later), state=first.state)
    assert texts(second) == ["Going on.", "go on"]
    once, _ = decode(joined([*queued, *later]))
    assert texts(once) == ["go on", "Going on.", "go on"]


def test_what_still_waits_comes_again_after_an_answer() -> None:
    first, _ = decode(joined([queue("enqueue", "go on", 1)]))
    assert first.state.emitted_queue == (kept("w", "go on"),)
    later = [reply("Busy.", 5), queue("dequeue"), prompt("go on", 9)]
    second, _ = decode(joined(later), state=first.state)
    assert texts(second) == ["Busy."]


def test_a_queued_prompt_of_another_session_is_not_this_one() -> None:
    first, _ = decode(joined([queue("enqueue", "go on", 1)]))
    other, _ = decode(joined([prompt("go on", 9, sessionId="another")]), state=first.state)
    assert texts(other) == ["go on"]


def test_several_queued_prompts_joined_into_one_line_of_a_later_window() -> None:
    wishes = [queue("enqueue", "first wish", 1), queue("enqueue", "second\nwish", 2)]
    first, _ = decode(joined(wishes))
    assert len(first.events) == 2
    together = prompt("first wish\nsecond\nwish", 9)
    assert texts(decode(joined([together]), state=first.state)[0]) == []
    more = prompt("first wish\nand something new", 9)
    assert texts(decode(joined([more]), state=first.state)[0]) == ["first wish\nand something new"]


def test_queued_in_two_windows_and_joined_in_the_second() -> None:
    first, _ = decode(joined([queue("enqueue", "first wish", 1)]))
    later = [queue("enqueue", "second wish", 2), prompt("first wish\nsecond wish", 9)]
    second, _ = decode(joined(later), state=first.state)
    assert texts(second) == ["second wish"]


def test_what_an_earlier_window_emitted_and_was_taken_back_is_not_told_twice() -> None:
    first, _ = decode(joined([queue("enqueue", "go on", 1)]))
    later = [queue("popAll", "go on"), prompt("go on", 9)]
    second, _ = decode(joined(later), state=first.state)
    assert texts(second) == []


def test_a_new_enqueue_is_not_mixed_up_with_an_emitted_one() -> None:
    state = DecoderState(emitted_queue=(kept("l", "yes"),))
    lines = [reply("Done.", 1), queue("enqueue", "yes"), queue("dequeue"), prompt("yes", 9)]
    assembled, _ = decode(joined(lines), state=state)
    assert [event.seq for event in assembled.events] == [0, 3]


def test_the_state_stays_bounded_and_without_text() -> None:
    lines = [queue("enqueue", f"wish {number}", number) for number in range(100)]
    state = decode(joined(lines))[0].state
    assert len(state.emitted_queue) == 64
    assert state.emitted_queue[-1] == kept("w", "wish 99")
    assert decode(b"", state=DecoderState(emitted_queue=("odd", "w:x:y", "")))[0].events == ()


def branches(assembled: Assembled) -> list[str]:
    return [str(event.branch) for event in assembled.events]


def chained(*parents: int | None) -> list[dict]:
    """Prompts and replies in turn; each hangs on the line whose number is given."""
    return [
        (prompt if number % 2 == 0 else reply)(
            f"said {number}",
            number,
            parentUuid=None if parent is None else f"00000000-0000-4000-8000-{parent:012d}",
        )
        for number, parent in enumerate(parents)
    ]


def test_what_was_left_behind_by_going_back_is_marked_and_kept() -> None:
    assembled, _ = decode(joined(chained(None, 0, 1, 2, 3, 4, 1, 6)))
    assert branches(assembled) == ["main"] * 2 + ["rewound"] * 4 + ["restart", "main"]
    straight, _ = decode(joined(chained(None, 0, 1, 2, 3, 4)))
    assert branches(straight) == ["main"] * 6


def test_going_back_into_an_earlier_window_is_marked_where_it_happens() -> None:
    lines = chained(None, 0, 1, 2, *range(3, 41), 1, 42)
    first, _ = decode(joined(lines[:40]))
    assert set(branches(first)) == {"main"}
    second, _ = decode(joined(lines[40:]), state=first.state)
    assert branches(second) == ["rewound", "rewound", "restart", "main"]
    on, _ = decode(
        joined(chained(*[None] * 42, 41)[42:]), state=decode(joined(lines[:42]))[0].state
    )
    assert branches(on) == ["main"]


def test_parallel_tool_calls_and_a_second_start_are_no_going_back() -> None:
    calls = [
        prompt("go", 0),
        claude("assistant", [{"type": "tool_use"}], 1, parentUuid=prompt("", 0)["uuid"]),
        claude("assistant", [{"type": "tool_use"}], 2, parentUuid=prompt("", 1)["uuid"]),
        {**tool_result("a", 3), "parentUuid": prompt("", 1)["uuid"]},
        {**tool_result("b", 4), "parentUuid": prompt("", 2)["uuid"]},
        reply("done", 5, parentUuid=prompt("", 3)["uuid"]),
        prompt("next", 6, parentUuid=prompt("", 5)["uuid"]),
        prompt("a new start", 7),
        prompt("told again", 6, parentUuid=prompt("", 0)["uuid"]),
    ]
    assert branches(decode(joined(calls))[0]) == ["main"] * 4


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("/model", "opus", None),
        ("/deploy", "the ferry to staging", "the ferry to staging"),
        ("/deploy", "", None),
        ("/deploy", "42", None),
    ],
)
def test_the_words_behind_a_custom_command(name: str, args: str, words: str | None) -> None:
    text = f"<command-message>x is running</command-message>\n<command-name>{name}</command-name>"
    found, reason = one(prompt(f"{text}\n<command-args>{args}</command-args>"))
    assert (found, reason) == (words, None if words else "command")


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
