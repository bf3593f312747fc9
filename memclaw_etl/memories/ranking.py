"""Ranking: from what two searches named to one order. Pure.

A candidate's score is

    z(bm25) + z(cosine) + support + session - length

with z over the candidates, so that neither scale rules (reciprocal rank fusion throws the
distances away and was clearly worse on the recall yardstick). Support is what memories that stand
beside it in the same session score: answers often stand next to the words that were asked for.
Session is what the best of its session score, since a question is mostly about one talk.
Length is what a long text pays: it holds many words that were not asked for, and takes the room of
several short ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from memclaw_etl.lake.memory_rows import VECTOR
from memclaw_etl.lake.memory_search import ROW
from memclaw_etl.memories.embeddings import Vectors

SUPPORT = (0.2, 0.1)
"""Share of the score that a neighbour lends at distance one and two."""
SESSION_SHARE = 0.5
SESSION_BEST = 3
"""Share of the mean of a session's best scores that all of the session get: on the recall yardstick
+1.2 points of recall@10 for turns of a chat (LoCoMo), +0.5 for long messages (BEAM); within the
intervals, and a share of 0.2 changes less."""
LENGTH_FREE_CHARS = 400
LENGTH_SHARE = 1.0
"""What each e-fold of characters beyond LENGTH_FREE_CHARS costs, in standard deviations."""
TIE_DIGITS = 9
"""Scores that agree so far are equal."""
COLUMNS = ("session_key", "first_seq", "content_chars", "words_key")
"""Numbers only: reading 200 rows of them takes 2 ms, with the texts they stand for 7."""

Scores = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What the searches named: arrays of one length, in an order that no storage decides."""

    row: NDArray[np.uint64]
    bm25: Scores
    """0 for what the words did not find."""
    cosine: Scores
    session: Whole
    place: Whole
    """Orders memories within their session."""
    chars: Whole
    words: Whole
    """Equal for contents of the same words."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates with their scores, best first; the parts add up to the score."""

    candidates: Candidates
    order: Whole
    """Positions of candidates."""
    score: Scores
    parts: Scores
    """Shape (5, n): BM25, vector, support, session, length."""

    def ties(self, *, contents: int | None) -> list[int]:
        """Candidates that score like another one, as far as it can matter.

        That is among the best of so many different contents (None: all), and their equals.
        """
        scores = self.score[self.order]
        firsts = np.sort(np.unique(self.candidates.words[self.order], return_index=True)[1])
        if contents is not None and contents < len(firsts):
            scores = scores[scores >= scores[firsts[contents - 1]]]
        same = scores[1:] == scores[:-1]
        tied = np.append(same, False) | np.insert(same, 0, False)
        return [int(at) for at in self.order[: len(scores)][tied[: len(scores)]]]


def unite(by_words: pa.Table, by_vector: pa.Table, vector: Vectors) -> Candidates:
    """Unite both answers: `COLUMNS` and `ROW` of each, `_score` and `vector`, and `_distance`."""
    rows = np.concatenate([_numbers(by_words, ROW), _numbers(by_vector, ROW)])
    found, first, at = np.unique(rows, return_index=True, return_inverse=True)
    named = by_words.num_rows
    bm25, cosine = np.zeros(len(found)), np.zeros(len(found))
    bm25[at[:named]] = _numbers(by_words, "_score")
    flat = by_words[VECTOR].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    cosine[at[:named]] = flat.reshape(-1, len(vector)) @ vector
    cosine[at[named:]] = 1.0 - _numbers(by_vector, "_distance")
    session, place, chars, words = (
        np.concatenate([_numbers(by_words, name), _numbers(by_vector, name)])[first]
        for name in COLUMNS
    )
    order = np.lexsort((chars, words, place, session))
    return Candidates(
        row=found[order],
        bm25=bm25[order],
        cosine=cosine[order],
        session=session[order],
        place=place[order],
        chars=chars[order],
        words=words[order],
    )


def rank(candidates: Candidates) -> Ranked:
    """Score the candidates."""
    bm25, cosine = _z(candidates.bm25), _z(candidates.cosine)
    over = np.log(np.maximum(candidates.chars, 1) / LENGTH_FREE_CHARS)
    length = -LENGTH_SHARE * np.maximum(over, 0.0)
    own = bm25 + cosine + length
    support, session = _support(candidates, own), _session(candidates, own)
    parts = np.stack([bm25, cosine, support, session, length])
    score = parts.sum(axis=0).round(TIE_DIGITS)
    return Ranked(candidates, np.argsort(-score, kind="stable"), score, parts)


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    numbers: NDArray[Any] = table[name].combine_chunks().to_numpy(zero_copy_only=False)
    return numbers


def _z(values: Scores) -> Scores:
    """Standard scores; all zero when the values do not differ."""
    spread = values.std() if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def _support(candidates: Candidates, scores: Scores) -> Scores:
    """What the neighbours lend: a share of their score where it is above average.

    Candidates of one session stand together, in the order of their places.
    """
    lent = np.zeros_like(scores)
    above = np.maximum(scores, 0.0)
    for distance, share in enumerate(SUPPORT, start=1):
        left, right = slice(None, -distance), slice(distance, None)
        beside = candidates.session[left] == candidates.session[right]
        lent[left] += share * above[right] * beside
        lent[right] += share * above[left] * beside
    return lent


def _session(candidates: Candidates, scores: Scores) -> Scores:
    """A share of the mean of the best scores in each candidate's session; below average is zero."""
    above = np.maximum(scores, 0.0)
    order = np.lexsort((-above, candidates.session))
    _, first, group = np.unique(candidates.session[order], return_index=True, return_inverse=True)
    is_best = np.arange(len(order)) - first[group] < SESSION_BEST
    total = np.bincount(group[is_best], weights=above[order][is_best], minlength=len(first))
    lent = np.zeros_like(scores)
    lent[order] = SESSION_SHARE / SESSION_BEST * total[group]
    return lent


def folded(order: Sequence[int], words: Whole) -> Iterator[tuple[int, list[int]]]:
    """The best of each content, in order, with the others that say it in the same words.

    Args:
        order: positions of candidates, best first.
        words: `Candidates.words`.
    """
    groups: dict[int, list[int]] = {}
    for at in order:
        groups.setdefault(int(words[at]), []).append(at)
    for best, *others in groups.values():
        yield best, others
