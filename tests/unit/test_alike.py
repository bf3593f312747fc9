"""Joining by meaning: paraphrases join, and whatever claims something else never does."""

import json

import pytest

from memclaw_etl.interview.alike import may_join
from memclaw_etl.interview.merge import NEAR_MEANING, Meaning, merge
from memclaw_etl.interview.model_merge import Group, join_groups, merge_messages, read_groups
from memclaw_etl.interview.model_request import RawAnswer
from memclaw_etl.interview.report import MiniReport, ReportItem, Section
from memclaw_etl.memories.embeddings import open_embedder

SAME = [
    ("We chose SQLite over PostgreSQL for the ledger because one file is simpler.",
     "SQLite was picked for the ledger instead of PostgreSQL, since a single file is simpler."),
    ("Moved the tide parser into its own module tide/parse.py.",
     "The tide parser now lives in tide/parse.py, a module of its own."),
    ("Sessions expire after 12 hours, by decision of the user.",
     "The user decided that sessions expire after 12 hours."),
    ("The user wants commit messages in the imperative.",
     "Commit messages should be written in imperative mood, the user said."),
]  # fmt: skip
OTHER = [
    ("Timeout of the export is 30 s.", "Timeout of the export is 60 s."),
    ("Timeout of the export is 30 s.", "Timeout of the export was raised from 30 s to 60 s."),
    ("The tide cache is enabled in production.", "The tide cache is disabled in production."),
    ("We do not retry on 409.", "We retry on 409."),
    ("The parser drops empty lines.", "The parser keeps empty lines."),
    ("Deploy happens on Monday.", "Deploy happens on Friday."),
    ("Redis is used as the job queue.", "Postgres is used as the job queue."),
    ("Tests of the importer run in CI.", "Tests of the exporter run in CI."),
    ("The alert is sent before the tide.", "The alert is sent after the tide."),
    ("`load_tides` takes a station.", "`load_ships` takes a station."),
    ("The queue works with Redis.", "The queue never works with Redis."),
]


def item(summary: str, seq: int = 0, **fields: object) -> ReportItem:
    given = {"section": Section.DECISIONS, "summary": summary, "evidence": ((seq, 0),)}
    return ReportItem.model_validate(given | fields)


def reports(*summaries: str) -> list[MiniReport]:
    return [
        MiniReport(chunk_index=index, items=(item(summary, index),))
        for index, summary in enumerate(summaries)
    ]


MEANING = Meaning(open_embedder().embed, NEAR_MEANING)


@pytest.mark.parametrize("pair", SAME)
def test_paraphrases_of_two_chunks_join(pair: tuple[str, str]) -> None:
    merged = merge(reports(*pair), meaning=MEANING)
    assert len(merged.items) == 1
    assert merged.joined == 1
    assert merged.items[0].evidence == ((0, 0), (1, 0))
    assert merged.items[0].summary == max(pair, key=len)
    assert merge(reports(*reversed(pair)), meaning=MEANING).joined == 1


@pytest.mark.parametrize("pair", OTHER)
def test_other_claims_never_join(pair: tuple[str, str]) -> None:
    assert not may_join(*pair)
    assert not may_join(*reversed(pair))
    everything = Meaning(MEANING.embed, 0.0)
    assert merge(reports(*pair), meaning=everything, near_overlap=0.0).joined == 0


def test_results_and_sections_keep_items_apart() -> None:
    text = "The export of all stations was tried."
    apart = [
        item(text, 0, section=Section.OUTCOMES, result="success"),
        item(text + " ", 1, section=Section.OUTCOMES, result="failure"),
        item(text, 2, section=Section.BLOCKERS),
    ]
    merged = merge([MiniReport(chunk_index=0, items=tuple(apart))], meaning=MEANING)
    assert merged.joined == 0


def test_the_cap_keeps_what_is_important() -> None:
    many = [item(f"Choice number {word} holds.", seq) for seq, word in enumerate("abcdefgh")]
    many[6] = many[6].model_copy(update={"importance": 1})
    merged = merge([MiniReport(chunk_index=0, items=tuple(many))], max_per_section=2)
    assert [one.evidence[0][0] for one in merged.items] == [0, 6]
    assert merged.capped == 6


NOTES = [
    item("The user decided that sessions expire after 12 hours.", 0),
    item("Sessions expire after 12 hours.", 4),
    item("Sessions expire after 24 hours.", 7),
]


def groups(*found: tuple[list[int], str]) -> list[Group]:
    return [Group(numbers=numbers, summary=summary) for numbers, summary in found]


def test_a_model_joins_under_the_same_grounding() -> None:
    wording = "By decision of the user, sessions expire after 12 hours."
    joined = join_groups(NOTES, groups(([0, 1], wording)))
    assert [one.summary for one in joined] == [NOTES[2].summary, wording]
    assert joined[1].evidence == ((0, 0), (4, 0))


@pytest.mark.parametrize(
    "wording", ["Sessions expire after 13 hours.", "Sessions expire.", "", "12 hours in `AuthX`."]
)
def test_wording_that_adds_or_loses_something_is_not_taken(wording: str) -> None:
    joined = join_groups(NOTES, groups(([0, 1], wording)))
    assert joined[1].summary == NOTES[0].summary


@pytest.mark.parametrize("numbers", [[0, 2], [0], [0, 99], [-1, 0], []])
def test_groups_that_must_not_join_are_left_alone(numbers: list[int]) -> None:
    assert join_groups(NOTES, groups((numbers, "Sessions expire after 12 hours."))) == NOTES


def test_no_note_is_in_two_groups() -> None:
    twice = groups(([0, 1], NOTES[0].summary), ([1, 0], NOTES[0].summary))
    assert len(join_groups(NOTES, twice)) == 2


def test_notes_are_asked_about_as_data() -> None:
    [system, user] = merge_messages(NOTES)
    assert "data" in system["content"]
    assert [json.loads(line)["number"] for line in user["content"].splitlines()] == [0, 1, 2]
    said = RawAnswer(text='```json\n{"groups": [{"numbers": [0, 1], "summary": "x"}]}\n```')
    assert read_groups(said)[0].numbers == [0, 1]
