import pytest

from memclaw_etl.trails.cursor import parse_written_time
from memclaw_etl.trails.events import DecoderState, Origin, Role, TrailKind
from tests.trail_lines import decode, joined, texts


def user(content: object) -> dict:
    return {"role": "user", "message": {"content": content}}


def assistant(*blocks: object) -> dict:
    return {"role": "assistant", "message": {"content": list(blocks)}}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def read(*records: object, state: DecoderState | None = None):
    return decode(joined(records), TrailKind.CURSOR, state=state or DecoderState())[0]


STAMP = "<timestamp>Tuesday, Jul 21, 2026, 1:11 PM (UTC+3)</timestamp>"


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("Tuesday, Jul 21, 2026, 1:11 PM (UTC+3)", "2026-07-21T13:11:00+03:00"),
        ("Tuesday, Jul 21, 2026, 12:05 AM (UTC-4)", "2026-07-21T00:05:00-04:00"),
        ("Tuesday, July 21, 2026, 12:05 PM (UTC+5:30)", "2026-07-21T12:05:00+05:30"),
        ("Tue, Jul 1, 2026, 23:59 (UTC+0530)", "2026-07-01T23:59:00+05:30"),
        ("Jul 1, 2026, 9:00 PM (UTC)", "2026-07-01T21:00:00+00:00"),
        ("Jul 1, 2026, 9:00 PM (GMT+10)", "2026-07-01T21:00:00+10:00"),
        ("Jul 1, 2026, 9:00:07 pm", "2026-07-01T21:00:07+00:00"),
        ("Jul 32, 2026, 9:00 PM (UTC)", None),
        ("Foo 3, 2026, 9:00 PM (UTC)", None),
        ("Jul 1, 2026, 9:00 PM (UTC+99)", None),
        ("yesterday", None),
    ],
)
def test_written_times(written: str, iso: str | None) -> None:
    assert parse_written_time(written) == iso


def test_time_is_inherited_and_marked_so() -> None:
    assembled = read(
        assistant(text("before any time")),
        user([text(f"{STAMP}\n<user_query>\nmove it\n</user_query>")]),
        assistant(text("moved")),
    )
    times = [(event.ts, event.ts_inferred) for event in assembled.events]
    at = "2026-07-21T13:11:00+03:00"
    assert times == [(None, False), (at, False), (at, True)]
    assert assembled.state.last_ts == at
    later = read(assistant(text("next window")), state=assembled.state)
    assert [(event.ts, event.ts_inferred) for event in later.events] == [(at, True)]


def test_a_line_without_words_still_sets_the_time() -> None:
    assembled = read(user([text(STAMP)]), assistant(text("hm")))
    assert assembled.noise == {"injected": 1}
    assert assembled.events[0].ts == "2026-07-21T13:11:00+03:00"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<user_query>a</user_query>", "a"),
        ("<x>y</x><user_query>\na\n</user_query> <user_query>b</user_query>", "a\n\nb"),
        ([text("<attached_files>f</attached_files>"), text("plain")], "plain"),
        ("<system_reminder>a</system_reminder>b", "b"),
        ("no tags", "no tags"),
    ],
)
def test_prompts(content: object, words: str) -> None:
    [event] = read(user(content)).events
    assert (event.content, event.role, event.kind, event.origin) == (
        words,
        Role.USER,
        "prompt",
        Origin.HUMAN,
    )


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ((text("done\n\n[REDACTED]"),), "done"),
        ((text("[REDACTED]"), text("two [REDACTED] inside")), "two [REDACTED] inside"),
        (
            (text("a"), {"type": "tool_use", "input": "***"}, text("b [REDACTED] [REDACTED]")),
            "a\n\nb",
        ),
    ],
)
def test_replies_lose_only_the_trailing_marker(blocks: tuple, words: str) -> None:
    assert texts(read(assistant(*blocks))) == [words]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (assistant(text("[REDACTED]")), "thinking"),
        (assistant({"type": "tool_use"}), "tool_use"),
        (assistant({"type": "turn_ended"}), "turn_ended"),
        (assistant(), "empty"),
        ({"type": "turn_ended", "status": "aborted"}, "turn_ended"),
        ({"type": "error", "error": "x"}, "error"),
        ({"role": "tool", "message": {}}, "tool_result"),
        ({"role": "system", "message": {}}, "system"),
        ({"role": "critic", "message": {}}, "unknown:critic"),
        ({"type": "new"}, "unknown:new"),
        ({}, "untyped"),
        ({"role": "user", "message": "x"}, "no_message"),
        (user("  "), "empty"),
        (user([{"type": "tool_result"}]), "tool_result"),
        (user("<git_status>m</git_status>"), "injected"),
        (3, "no_object"),
    ],
)
def test_noise(record: object, reason: str) -> None:
    assembled = read(record)
    assert (assembled.events, assembled.noise) == ((), {reason: 1})


def test_identity_is_the_place_so_that_a_repeated_word_stays() -> None:
    stamped = f"{STAMP}<user_query>yes</user_query>"
    events = read(user(stamped), user(stamped)).events
    assert len({event.identity for event in events}) == 2
    assert all(event.session_id == "file-session" for event in events)
