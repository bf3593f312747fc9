"""The prompt, the form of an answer, its grounding, and the purse: everything without a server."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from memclaw_etl.errors import BudgetSpentError, SettingsError
from memclaw_etl.interview import model_prompt
from memclaw_etl.interview.chunks import Chunk
from memclaw_etl.interview.grounding import check
from memclaw_etl.interview.model_answer import (
    ANSWER_SCHEMA,
    Answer,
    UnusableError,
    read_answer,
)
from memclaw_etl.interview.model_grounding import flags_against, ground
from memclaw_etl.interview.model_prompt import LAYOUT, PROMPT_VERSION, messages_for, prompt_hash
from memclaw_etl.interview.model_purse import Purse, estimate_tokens
from memclaw_etl.interview.model_request import RawAnswer
from memclaw_etl.interview.report import Section
from memclaw_etl.model_settings import ModelSettings
from memclaw_etl.settings import load_settings
from tests.asking import START, chunk, event
from tests.openai_server import report

RENDERED = {"1": "1a6b0b1ccbdb9cc8"}
"""Layout -> hash of what it makes of `EVERYTHING`. Another layout needs another number."""
EVERYTHING = Chunk(
    index=0,
    context=(event(1, "Earlier words."),),
    events=(
        event(2, "Shall we?", role="user", ts=None),
        event(3, "Yes.", part=1, tool="Bash", outcome="exit 1"),
    ),
)


def said(**sections: list[dict[str, Any]]) -> Answer:
    return read_answer(report(**sections))


def test_a_change_of_the_layout_changes_the_version() -> None:
    messages = messages_for(EVERYTHING, keystones=["Figures in EUR.", "No names\nof customers."])
    body = json.dumps([one["content"].removeprefix(model_prompt.SYSTEM) for one in messages])
    assert hashlib.sha256(body.encode()).hexdigest()[:16] == RENDERED[LAYOUT], (
        "what a prompt looks like has changed: raise LAYOUT, so that older reports count as older"
    )


def test_the_version_follows_the_text_and_the_form() -> None:
    form = model_prompt.form_reminder(ANSWER_SCHEMA)
    text = f"{model_prompt.SYSTEM}\0{form}\0{LAYOUT}"
    assert f"notes-{hashlib.sha256(text.encode()).hexdigest()[:10]}" == PROMPT_VERSION


def test_what_a_prompt_holds() -> None:
    system, user = (one["content"] for one in messages_for(EVERYTHING, keystones=["Be\nbrief."]))
    assert "come before all else:\n- Be brief." in system
    assert " earlier 1 | assistant | 2026-02-03T09:01:00Z]]\nEarlier words." in user
    assert " event 2 | user | no time]]\nShall we?" in user
    assert (
        " event 3.1 | assistant | 2026-02-03T09:03:00Z]]\nYes.\ntool: Bash\noutcome: exit 1" in user
    )


def test_marks_differ_with_every_conversation_and_stay_with_one() -> None:
    one, same, other = (chunk(text) for text in ("a", "a", "b"))
    assert messages_for(one) == messages_for(same)
    assert messages_for(one)[1]["content"][:60] != messages_for(other)[1]["content"][:60]


def test_every_part_of_a_question_is_in_its_key() -> None:
    messages = messages_for(chunk("a"))
    keys = {
        prompt_hash(messages, model="m", version="1"),
        prompt_hash(messages, model="n", version="1"),
        prompt_hash(messages, model="m", version="2"),
        prompt_hash(messages, model="m", version="1", tenant="t"),
        prompt_hash(messages_for(chunk("b")), model="m", version="1"),
    }
    assert len(keys) == 5


def every_object(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for one in schema for found in every_object(one)]
    if not isinstance(schema, dict):
        return []
    mine = [schema] if schema.get("type") == "object" else []
    return mine + [found for one in schema.values() for found in every_object(one)]


def test_the_form_is_one_that_strict_servers_take() -> None:
    objects = every_object(ANSWER_SCHEMA)
    assert len(objects) == 5
    for one in objects:
        assert one["additionalProperties"] is False
        assert set(one["required"]) == set(one["properties"])
    assert "minLength" not in json.dumps(ANSWER_SCHEMA)
    assert list(ANSWER_SCHEMA["properties"]) == list(Section)


@pytest.mark.parametrize(
    "text",
    [
        '{"blockers": [{"summary": "x", "evidence": ["0"]}]}',
        '{"blockers": [{"summary": "x", "evidence": [0]}], "mood": "good"}',
        '{"blockers": [{"summary": "x", "evidence": "0", "importance": "vital"}]}',
        '{"blockers": [{"summary": "x", "evidence_seqs": [0]}], "decisions": []}',
        '{"report": {"blockers": [{"summary": "x", "evidence": ["0"]}]}}',
        'Well.\n```json\n{"blockers": [{"summary": "x", "evidence": ["0"]}]}\n```\nDone {ok}.',
        '<think>{"no": 1}</think>{"blockers": [{"summary": "x", "evidence": ["0"]}]}',
        'Here: {"blockers": [{"summary": "x", "evidence": ["0"]}]} I hope it helps.',
    ],
)
def test_what_cannot_be_misunderstood_is_read(text: str) -> None:
    answer = read_answer(text)
    assert [(one.summary, one.evidence) for one in answer.blockers] == [("x", ["0"])]


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "{" * 100_000, '{"summary": "x"}', '{"blockers": {"summary": "x"}}',
     '{"blockers": [{"evidence": ["0"]}]}', '{"outcomes": [{"summary": "x", "result": "great"}]}'],
)  # fmt: skip
def test_nonsense_is_no_empty_report(text: str) -> None:
    with pytest.raises(UnusableError):
        read_answer(text)


def test_an_empty_report_is_one() -> None:
    assert list(read_answer(report()).notes()) == []


def test_grounding_takes_out_what_the_chunk_does_not_bear() -> None:
    own = chunk("The limit is 25 MB, says `limits.py`.", "It was raised to 50 MB.", first=4)
    context = Chunk(index=0, events=own.events, context=(event(3, "The limit is 10 MB."),))
    found = ground(
        said(
            decisions=[
                {"summary": "Limit 25 MB in `limits.py`.", "evidence": ["#4"], "importance": "high"},
                {"summary": "Limit 50 MB.", "evidence": ["5", "99"], "ts": "2026-02-03T10:05:00+01:00"},
                {"summary": "Limit 10 MB.", "evidence": ["3"]},
            ],
            worked_on=[
                {"summary": "Limits.", "evidence": ["4", "5"], "ts": "yesterday",
                 "ts_end": "2026-02-03T09:05:00Z"},
            ],
        ),
        context,
    )  # fmt: skip
    assert check(found, context) == []
    assert [item.summary for item in found.items] == [
        "Limits.", "Limit 25 MB in `limits.py`.", "Limit 50 MB.",
    ]  # fmt: skip
    episode, first, second = found.items
    assert (episode.ts_start, episode.ts_end) == (START + timedelta(minutes=5),) * 2
    assert (first.ts_start, first.importance, first.flags) == (START + timedelta(minutes=4), 1, ())
    assert second.ts_start == START + timedelta(minutes=5)
    counts = found.grounding.model_dump()
    assert counts == {
        "items_dropped": 1, "evidence_dropped": 2, "times_removed": 1,
        "unsupported_figures": 0, "unsupported_names": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "source", "flags"),
    [
        ("The cap is 1,500 rows.", "we cap at 1500 rows", []),
        ("The cap is 1500 rows.", "we cap at 1,500 rows", []),
        ("The cap is 1500 rows.", "we cap at 15000 rows", ["unsupported_figure"]),
        ("Version 2.1.37 broke it.", "since 2.1.37 it is broken", []),
        ("Version 2.1.37 broke it.", "since 2.1.3 it is broken", ["unsupported_figure"]),
        ("Two of 3 tests fail.", "two tests fail, one passes", []),
        ("`parse_line` drops it.", "in parse_line() it is dropped", []),
        ("`parse_line` drops it.", "the parser drops it", ["unsupported_name"]),
        ("A read-only view and/or table.", "a view", []),
        ("See src/app.py, HTTP 409.", "app.py gives 409", ["unsupported_name"]),
    ],
)
def test_figures_and_names_must_stand_in_the_evidence(
    content: str, source: str, flags: list[str]
) -> None:
    assert [str(flag) for flag in flags_against(content, source)] == flags


NOW = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
PRICED = {"price_per_million_prompt_tokens": 1.0, "price_per_million_completion_tokens": 2.0}


def test_what_is_set_aside_counts_until_it_is_known() -> None:
    purse = Purse(ModelSettings(max_tokens_per_run=estimate_tokens(3_500) * 2))
    first = purse.reckon(3_500, now=NOW)
    second = purse.reckon(3_500, now=NOW)
    with pytest.raises(BudgetSpentError):
        purse.reckon(3_500, now=NOW)
    purse.settle(first, None)
    purse.settle(second, RawAnswer(prompt_tokens=100, completion_tokens=10))
    assert purse.reckon(3_500, now=NOW) > 0
    assert purse.take_unbooked().calls == 1
    assert purse.take_unbooked().calls == 0


def test_a_new_day_has_a_new_budget() -> None:
    purse = Purse(ModelSettings(max_cost_per_day=0.01, **PRICED))
    purse.open_day(NOW, cost=0.0095)
    with pytest.raises(BudgetSpentError) as caught:
        purse.reckon(3_500, now=NOW)
    assert caught.value.not_before == datetime(2026, 3, 2, tzinfo=UTC)
    assert purse.reckon(3_500, now=NOW + timedelta(hours=1)) > 0


def test_settings_that_cannot_work_are_refused(tmp_path: Any) -> None:
    with pytest.raises(ValidationError, match="prices"):
        ModelSettings(max_cost_per_day=1.0)
    rules = [{"rules": [f"Rule {number}."]} for number in range(9)]
    with pytest.raises(SettingsError, match="keystones"):
        load_settings(tmp_path, keystones=rules)
    with pytest.raises(SettingsError):
        load_settings(tmp_path, keystones=[{"rules": ["x" * 201]}])
    spread = [{"rules": [f"Rule {n}."], "namespace": f"n{n}"} for n in range(20)]
    chosen = load_settings(tmp_path, keystones=spread)
    assert chosen.keystones_of(tenant_id="default", namespace="n3") == ("Rule 3.",)


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        (None, "endpoint:api.openai.com"),
        ("http://localhost:8080/v1", "endpoint:localhost:8080"),
        ("https://ann:" + "pw" + "@models.example/v1", "endpoint:models.example"),
    ],
)
def test_an_endpoint_is_named_without_what_is_secret(
    url: str | None, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert ModelSettings(base_url=url).resource == resource
