"""Answers before they are kept, reports before they are stored, and cuts of what is masked."""

from collections import Counter
from pathlib import Path

import orjson
import pytest

from memclaw_etl.interview.report import MiniReport, ReportItem, Section
from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.masking import open_masker
from memclaw_etl.stages.answers import MaskedAnswers, masked_answer
from memclaw_etl.stages.mask import WORD_CHARS, cut
from memclaw_etl.stages.said import masked_reports

SECRET = "Quartz" + "9!Lamp27"


def session():
    return open_masker().session()


def test_an_answer_stays_json_and_loses_what_stands_in_any_depth():
    inner = orjson.dumps({"summary": f"DB_PASSWORD={SECRET}", "password": SECRET}).decode()
    value = orjson.dumps({"choices": [{"content": inner, "n": 1}], "note": "<private>open"})
    masked = masked_answer(value, session())
    assert SECRET.encode() not in masked
    found = orjson.loads(masked)
    assert found["note"] == ""
    assert (
        orjson.loads(found["choices"][0]["content"])["summary"] == "DB_PASSWORD=[MASKED:password:1]"
    )


@pytest.mark.parametrize(
    "value", [b'{"a": [1, "x"]}', b"plain words", b"[]", b"\xff\xfe", b'  {"a":1}\n']
)
def test_a_clean_answer_stays_as_it_is(value):
    assert masked_answer(value, session()) == value


def test_the_cache_holds_masked_answers_only(tmp_path: Path):
    cache = MaskedAnswers(FileResponseCache(tmp_path), session=session)
    cache.put("ab", f"the password is {SECRET}".encode())
    assert cache.get("ab") == b"the password is [MASKED:password:1]"
    assert cache.get("cd") is None


def item(summary, **fields):
    return ReportItem(section=Section.DECISIONS, summary=summary, evidence=((1, 0),), **fields)


def test_reports_are_masked_and_private_items_left_out():
    said = MiniReport(chunk_index=0, items=(
        item(f"use DB_PASSWORD={SECRET}", rationale="<private>because"), item("<private>all of it"), item("plain"),
    ))  # fmt: skip
    [report], kinds = masked_reports(session(), [said])
    assert [one.summary for one in report.items] == ["use DB_PASSWORD=[MASKED:password:1]", "plain"]
    assert report.items[0].rationale is None
    assert report.items[1] is said.items[2]
    assert kinds == Counter(private=2, password=1)


@pytest.mark.parametrize(
    ("text", "chars", "kept"),
    [
        ("short", 9, "short"), ("hello world again", 8, "hello"), ("hello world", 5, "hello"),
        ("a [MASKED:token:1] b", 12, "a"), ("x" * 900, 700, "x" * 700),
        ("ab " + "x" * 900, WORD_CHARS + 90, "ab " + "x" * (WORD_CHARS + 87)),
    ],
)  # fmt: skip
def test_a_cut_goes_back_to_white_space(text, chars, kept):
    assert cut(text, chars) == kept
