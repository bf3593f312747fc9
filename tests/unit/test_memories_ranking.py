"""Ranking without a store: parts of a score, ties, and contents that come again."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memclaw_etl.memories.ranking import (
    COLUMNS,
    SESSION_BEST,
    SESSION_SHARE,
    SUPPORT,
    folded,
    rank,
    unite,
)

rows = st.lists(
    st.fixed_dictionaries(
        {
            "session": st.integers(0, 2), "place": st.integers(0, 4), "chars": st.integers(0, 900),
            "words": st.integers(0, 3), "bm25": st.integers(0, 3), "angle": st.integers(0, 6),
            "by": st.sampled_from(["words", "vector", "both"]),
        }
    ),
    max_size=12,
)  # fmt: skip
ASKED = np.array([1.0, 0.0], dtype=np.float32)


def candidates(given_rows):
    """What two searches would give of these rows; the row id is the position."""
    numbered = list(enumerate(given_rows))
    by_words = [(at, row) for at, row in numbered if row["by"] != "vector"]
    by_vector = [(at, row) for at, row in numbered if row["by"] != "words"]

    def table(found, **more):
        fields = ("session", "place", "chars", "words")
        columns = {
            name: pa.array([row[field] for _, row in found], pa.int64())
            for name, field in zip(COLUMNS, fields, strict=True)
        }
        return pa.table({"_rowid": pa.array([at for at, _ in found], pa.uint64())} | columns | more)

    angles = [row["angle"] / 4 for _, row in by_words]
    flat = pa.array([x for a in angles for x in (np.cos(a), np.sin(a))], pa.float32())
    distances = [1 - np.cos(row["angle"] / 4) for _, row in by_vector]
    return unite(
        table(
            by_words,
            _score=pa.array([row["bm25"] for _, row in by_words], pa.float32()),
            vector=pa.FixedSizeListArray.from_arrays(flat, 2),
        ),
        table(by_vector, _distance=pa.array(distances, pa.float32())),
        ASKED,
    )


@given(rows)
def test_every_row_is_a_candidate_once_with_its_own_numbers(given_rows):
    found = candidates(given_rows)
    assert sorted(found.row.tolist()) == list(range(len(given_rows)))
    for at, row in zip(found.row.tolist(), range(len(found.row)), strict=True):
        one = given_rows[at]
        assert found.bm25[row] == (one["bm25"] if one["by"] != "vector" else 0)
        assert found.cosine[row] == pytest.approx(np.cos(one["angle"] / 4), abs=1e-6)
        assert (found.chars[row], found.place[row]) == (one["chars"], one["place"])


@given(rows)
def test_support_is_what_the_neighbours_of_a_session_score(given_rows):
    found = candidates(given_rows)
    ranked = rank(found)
    base = ranked.parts[0] + ranked.parts[1] + ranked.parts[4]
    for at in range(len(base)):
        lent = 0.0
        for distance, share in enumerate(SUPPORT, start=1):
            for other in (at - distance, at + distance):
                if 0 <= other < len(base) and found.session[other] == found.session[at]:
                    lent += share * max(base[other], 0)
        assert ranked.parts[2][at] == pytest.approx(lent)
    assert np.all(np.diff(ranked.score[ranked.order]) <= 0)


@given(rows)
def test_a_session_shares_what_its_best_score(given_rows):
    found = candidates(given_rows)
    ranked = rank(found)
    base = ranked.parts[0] + ranked.parts[1] + ranked.parts[4]
    for session, lent in zip(found.session, ranked.parts[3], strict=True):
        best = sorted((max(one, 0) for one in base[found.session == session]), reverse=True)
        assert lent == pytest.approx(SESSION_SHARE * sum(best[:SESSION_BEST]) / SESSION_BEST)


@given(rows, st.integers(1, 5))
def test_ties_are_all_equal_scores_that_can_matter(given_rows, contents):
    ranked = rank(candidates(given_rows))
    scores = ranked.score.tolist()
    shared = {at for at, score in enumerate(scores) if scores.count(score) > 1}
    assert set(ranked.ties(contents=None)) == shared
    some = set(ranked.ties(contents=contents))
    best = [at for at, _ in folded(ranked.order.tolist(), ranked.candidates.words)][:contents]
    least = min((scores[at] for at in best), default=0)
    assert some >= {at for at in shared if scores[at] >= least and len(best) == contents}
    assert some <= shared


def test_the_first_of_the_same_words_stands_for_the_others():
    assert list(folded([3, 0, 2, 1], np.array([7, 8, 7, 9]))) == [(3, []), (0, [2]), (1, [])]
