from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.interview.merge import merge
from memclaw_etl.interview.report import MiniReport, ReportItem, Section

words = st.sampled_from(
    ["index", "alert", "tide", "Tide", "postgres", "redis", "mail", "lock", "row", "queue"]
)
items = st.builds(
    ReportItem,
    section=st.sampled_from(list(Section)),
    summary=st.lists(words, min_size=1, max_size=6).map(" ".join),
    result=st.sampled_from([None, "success", "failure"]),
    evidence=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2)), min_size=1, max_size=3).map(
        tuple
    ),
)
reports = st.lists(st.lists(items, max_size=8), max_size=4).map(
    lambda lists: [
        MiniReport(chunk_index=index, items=tuple(found)) for index, found in enumerate(lists)
    ]
)
limits = st.none() | st.integers(1, 3)
overlaps = st.none() | st.floats(0.3, 1.0)


@given(reports, limits, overlaps)
def test_nothing_is_dropped_silently(found, limit, overlap) -> None:
    merged = merge(found, max_per_section=limit, near_overlap=overlap)
    total = sum(len(report.items) for report in found)
    assert len(merged.items) + merged.joined + merged.capped == total


@given(reports, overlaps)
def test_all_evidence_survives_where_nothing_is_capped(found, overlap) -> None:
    merged = merge(found, max_per_section=None, near_overlap=overlap)
    for section in Section:
        before = {r for rep in found for i in rep.items if i.section is section for r in i.evidence}
        after = {r for i in merged.items if i.section is section for r in i.evidence}
        assert after == before


@given(reports, limits, overlaps, st.randoms(use_true_random=False))
def test_order_of_the_reports_does_not_matter(found, limit, overlap, random) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    one = merge(found, max_per_section=limit, near_overlap=overlap)
    assert merge(shuffled, max_per_section=limit, near_overlap=overlap) == one


@given(reports)
def test_merging_the_merged_by_identity_changes_nothing(found) -> None:
    once = merge(found, max_per_section=None, near_overlap=None)
    again = merge(
        [MiniReport(chunk_index=0, items=once.items)], max_per_section=None, near_overlap=None
    )
    assert (again.items, again.joined) == (once.items, 0)


@given(reports, st.integers(1, 3))
def test_limit_holds_in_every_section(found, limit) -> None:
    merged = merge(found, max_per_section=limit)
    for section in Section:
        assert sum(i.section is section for i in merged.items) <= limit
