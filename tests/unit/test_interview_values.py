from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from memclaw_etl.interview.chunks import cut_chunks
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.grounding import check
from memclaw_etl.interview.merge import merge
from memclaw_etl.interview.report import MEMORY_TYPE, MiniReport, ReportItem, Section

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def event(seq: int, content: str = "x" * 100, **more: object) -> MaskedEvent:
    values = {
        "seq": seq,
        "part": 0,
        "ts": NOON + timedelta(minutes=seq),
        "ts_inferred": False,
        "session_id": "s",
        "role": "user",
        "kind": "prompt",
        "origin": "human",
        "content": content,
    }
    return MaskedEvent(**{**values, **more})  # type: ignore[arg-type]


def item(summary: str, *seqs: int, section: Section = Section.DECISIONS, **more: object):
    evidence = tuple((seq, 0) for seq in seqs)
    return ReportItem(section=section, summary=summary, evidence=evidence, **more)


def test_cost_counts_header_and_labels() -> None:
    assert event(0, "abc").cost_chars == 83
    assert event(0, "abc", tool="Bash", outcome="ok").cost_chars == 83 + 10 + 11


def test_chunks_tile_the_events_within_the_budget() -> None:
    events = [event(seq) for seq in range(10)]
    chunks = cut_chunks(events, budget_chars=180 * 4, context_events=2)
    assert [len(c.events) for c in chunks] == [4, 4, 2]
    assert [e for c in chunks for e in c.events] == events
    assert [c.index for c in chunks] == [0, 1, 2]
    assert [[e.seq for e in c.context] for c in chunks] == [[], [2, 3], [6, 7]]


def test_first_chunk_takes_its_context_from_before() -> None:
    (chunk,) = cut_chunks([event(9)], before=[event(7), event(8)], context_events=1)
    assert [e.seq for e in chunk.context] == [8]
    assert chunk.refs == {(9, 0)}


def test_event_dearer_than_the_budget_stands_alone() -> None:
    chunks = cut_chunks([event(0), event(1, "y" * 5_000), event(2)], budget_chars=400)
    assert [[e.seq for e in c.events] for c in chunks] == [[0], [1], [2]]


def test_no_events_no_chunks_and_no_budget_is_an_error() -> None:
    assert cut_chunks([]) == ()
    with pytest.raises(ValueError, match="budget_chars"):
        cut_chunks([event(0)], budget_chars=0)


def test_every_section_has_a_type() -> None:
    assert set(MEMORY_TYPE) == set(Section)
    assert len(set(MEMORY_TYPE.values())) == 6


def test_content_shows_result_alternative_and_reason() -> None:
    decision = item("Use Postgres.", 1, alternative="Redis", rationale="no new service")
    assert decision.content == "Use Postgres. (instead of: Redis) Why: no new service"
    outcome = item("Tests pass.", 1, section=Section.OUTCOMES, result="success")
    assert outcome.content == "[success] Tests pass."


def test_title_is_one_short_line() -> None:
    assert item("a\nb", 1).title == "a b"
    title = item("word " * 40, 1).title
    assert len(title) <= 80
    assert title.endswith("word…")


def test_item_needs_evidence_and_errors_hide_the_text() -> None:
    with pytest.raises(ValidationError) as failure:
        item("a very private statement")
    assert "private" not in str(failure.value)


def test_evidence_is_sorted_without_repeats() -> None:
    assert item("a", 3, 1, 3).evidence == ((1, 0), (3, 0))


def test_merge_joins_equal_and_near_items_of_one_section() -> None:
    first = item("Use the unique index on station and tide", 1, ts_start=NOON, ts_end=NOON)
    later = NOON + timedelta(hours=1)
    same = item("use  the UNIQUE index on station and tide", 5, ts_start=later, ts_end=later)
    near = item("Use the unique index on station and tide now", 7)
    other = item("Use the unique index on station and tide", 9, section=Section.OUTCOMES)
    merged = merge([MiniReport(chunk_index=0, items=(near, first, same, other))])
    assert merged.joined == 2
    decision, outcome = merged.items
    assert decision.summary == near.summary
    assert decision.evidence == ((1, 0), (5, 0), (7, 0))
    assert (decision.ts_start, decision.ts_end) == (NOON, later)
    assert outcome.evidence == ((9, 0),)


def test_merge_keeps_different_results_and_numbers_what_it_caps() -> None:
    won = item("Build", 1, section=Section.OUTCOMES, result="success")
    lost = item("Build", 2, section=Section.OUTCOMES, result="failure")
    many = tuple(item(f"fact number {n} about thing{n}", n) for n in range(20))
    merged = merge([MiniReport(chunk_index=0, items=(won, lost, *many))], max_per_section=15)
    assert (len(merged.items), merged.joined, merged.capped) == (17, 0, 5)


def test_merge_by_identity_only() -> None:
    near = [item("one two three four five six seven", 1), item("one two three four five six", 2)]
    report = MiniReport(chunk_index=0, items=tuple(near))
    assert merge([report], near_overlap=None).joined == 0
    assert merge([report], near_overlap=0.8).joined == 1


def test_grounding_finds_each_flaw_and_shows_no_text() -> None:
    (chunk,) = cut_chunks([event(4)], before=[event(3)])
    good = item("fine", 4, ts_start=chunk.events[0].ts, session_id="s")
    context_cited = item("secret words", 3)
    wrong_time = item("secret words", 4, ts_end=NOON)
    wrong_session = item("secret words", 4, session_id="other")
    assert check(MiniReport(chunk_index=0, items=(good,)), chunk) == []
    report = MiniReport(chunk_index=1, items=(good, context_cited, wrong_time, wrong_session))
    findings = check(report, chunk)
    assert len(findings) == 4
    assert not any("secret" in finding for finding in findings)
