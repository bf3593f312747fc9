"""Recall: the memories that answer a question, best first, each with the reason for its rank.

Candidates are the best of BM25 and of the vectors; the store filters both. A candidate's score is

    z(bm25) + z(cosine) + support - length

with z over the candidates, so that neither scale rules (reciprocal rank fusion throws the
distances away and was clearly worse on the recall yardstick). Support is what memories that stand
beside it in the same session score: answers often stand next to the words that were asked for.
Length is what a long text pays: it holds many words that were not asked for, and takes the room of
several short ones.
"""

import math
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_rows import ACTIVE, CREATED_AT, VECTOR, Scope
from memclaw_etl.memories.embeddings import Embedder, Vectors
from memclaw_etl.memories.enrich import recency
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rows import MEMORY_COLUMNS, memory_of
from memclaw_etl.memories.wording import pairs, terms

CANDIDATES = 200
"""How many each of the two searches may name."""
SUPPORT = (0.2, 0.1)
"""Share of the score that a neighbour lends at distance one and two."""
LENGTH_FREE_CHARS = 400
LENGTH_SHARE = 1.0
"""What each e-fold of characters beyond LENGTH_FREE_CHARS costs, in standard deviations."""
WORD_WEIGHT = 2
"""Weight of a word against two words that stand together."""
TIE_DIGITS = 9
"""Scores that agree so far are equal."""
DAY_S = 86_400
_COLUMNS = ("memory_id", "node_id", "session_id", "first_epoch", "first_seq", "content_chars",
            "memory_type", "importance", "ts_valid_start")  # fmt: skip
_NO_WORD = "_"
"""Stands in no text: a question of filler only is asked by its vector alone."""
_HIT_COLUMNS = (*MEMORY_COLUMNS, CREATED_AT)

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A question and whose memories may answer it. None asks for all of that kind."""

    text: str
    tenant_id: str
    k: int = 10
    memory_type: str | None = None
    node_id: str | None = None
    namespace: str | None = None
    namespaces: Collection[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    valid_at: datetime | None = None
    status: str = ACTIVE
    now: datetime | None = None
    """By which the age of memories is told; without it age decides nothing."""
    chars_budget: int | None = None
    """Most characters of content in all hits together; what does not fit whole is passed over."""

    def __post_init__(self) -> None:
        """Refuse what has no answer."""
        if not self.text.strip():
            raise UsageError("recall: the question is empty")
        if self.k < 1:
            raise UsageError(f"recall: k must be at least 1, not {self.k}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Parts of a score; they add up to it. `bm25` and `vector` are z-scores over the candidates.

    `length` is zero or negative.
    """

    bm25: float
    vector: float
    support: float
    length: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory. Scores compare within one answer only."""

    memory: Memory
    created_at: datetime
    score: float
    explanation: Explanation
    weight: float
    """Importance and recency by event time: no part of the score, it decides between equal ones."""


def recall(index: MemoryIndex, embedder: Embedder, query: RecallQuery) -> list[Hit]:
    """Give at most `query.k` memories, best first. No memory in scope: an empty list."""
    return recall_many(index, embedder, [query])[0]


def recall_many(
    index: MemoryIndex, embedder: Embedder, queries: Sequence[RecallQuery]
) -> list[list[Hit]]:
    """Answer many questions, in order; each sees only its own tenant and filters."""
    vectors = embedder.embed([query.text for query in queries])
    return [_answer(index, query, vectors[row]) for row, query in enumerate(queries)]


def _answer(index: MemoryIndex, query: RecallQuery, vector: Vectors) -> list[Hit]:
    """Search, fuse, fetch the best."""
    scope = Scope(
        tenant_id=query.tenant_id,
        memory_type=query.memory_type,
        node_id=query.node_id,
        namespace=query.namespace,
        namespaces=query.namespaces,
        since=query.since,
        until=query.until,
        valid_at=query.valid_at,
        status=query.status,
    )
    limit = max(CANDIDATES, query.k)
    words = terms(query.text) or [_NO_WORD]
    weighted = [*words * WORD_WEIGHT, *pairs(words)]
    words_columns = (*_COLUMNS, VECTOR)
    with ThreadPoolExecutor(max_workers=1) as beside:
        asked = beside.submit(
            index.full_text, weighted, scope=scope, limit=limit, columns=words_columns
        )
        by_vector = index.nearest(vector, scope=scope, limit=limit, columns=_COLUMNS)
        by_words = asked.result()
    ranked = _rank(_candidates(by_words, by_vector, vector), now=query.now)
    return _hits(index, query, ranked)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory that one of the searches named. `place` orders it within its session."""

    memory_id: str
    session: tuple[str, int, str]
    place: int
    chars: int
    memory_type: str
    importance: float
    when: datetime | None
    bm25: float
    cosine: float


def _candidates(by_words: pa.Table, by_vector: pa.Table, vector: Vectors) -> list[_Candidate]:
    """Unite both answers. A memory that the full text did not name has BM25 0."""
    bm25 = dict(zip(by_words["memory_id"].to_pylist(), by_words["_score"].to_pylist(), strict=True))
    flat = by_words[VECTOR].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    cosines = flat.reshape(-1, len(vector)) @ vector
    cosine = dict(zip(bm25, cosines.tolist(), strict=True))
    cosine |= {row["memory_id"]: 1.0 - row["_distance"] for row in _plain(by_vector, "_distance")}
    found = {row["memory_id"]: row for table in (by_words, by_vector) for row in _plain(table)}
    return [
        _Candidate(
            memory_id=memory_id,
            session=(row["node_id"], row["first_epoch"], row["session_id"] or ""),
            place=row["first_seq"],
            chars=row["content_chars"],
            memory_type=row["memory_type"],
            importance=row["importance"],
            when=row["ts_valid_start"],
            bm25=bm25.get(memory_id, 0.0),
            cosine=cosine[memory_id],
        )
        for memory_id, row in sorted(found.items())
    ]


def _plain(table: pa.Table, *extra: str) -> list[dict[str, Any]]:
    """Rows without vectors."""
    rows: list[dict[str, Any]] = table.select([*_COLUMNS, *extra]).to_pylist()
    return rows


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A candidate with its score."""

    memory_id: str
    explanation: Explanation
    weight: float

    @property
    def score(self) -> float:
        """The sum of its parts."""
        parts = self.explanation
        total = parts.bm25 + parts.vector + parts.support + parts.length
        return round(total, TIE_DIGITS)


def _rank(candidates: Sequence[_Candidate], *, now: datetime | None) -> list[_Ranked]:
    """Score the candidates; best first.

    Of equal scores the one that matters more and is fresher comes first, then the id decides.
    """
    bm25 = _z([candidate.bm25 for candidate in candidates])
    cosine = _z([candidate.cosine for candidate in candidates])
    length = [_length_cost(candidate.chars) for candidate in candidates]
    support = _support(candidates, bm25 + cosine + np.asarray(length))
    parts = zip(bm25.tolist(), cosine.tolist(), support.tolist(), length, strict=True)
    ranked = [
        _Ranked(candidate.memory_id, Explanation(*values), _weight(candidate, now))
        for candidate, values in zip(candidates, parts, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, -one.weight, one.memory_id))


def _weight(candidate: _Candidate, now: datetime | None) -> float:
    """Importance, and with a clock recency by event time: what decides between equal scores."""
    if now is None or candidate.when is None:
        return candidate.importance
    age_days = (now - candidate.when).total_seconds() / DAY_S
    return candidate.importance * recency(candidate.memory_type, age_days)


def _length_cost(chars: int) -> float:
    """What a text of that length pays; zero for short ones, else negative."""
    return -LENGTH_SHARE * max(0.0, math.log(max(chars, 1) / LENGTH_FREE_CHARS))


def _z(values: Sequence[float]) -> Scores:
    """Standard scores; all zero when the values do not differ."""
    array = np.asarray(values, dtype=np.float64)
    spread = array.std() if len(array) else 0.0
    return (array - array.mean()) / spread if spread > 0 else np.zeros_like(array)


def _support(candidates: Sequence[_Candidate], scores: Scores) -> Scores:
    """What the neighbours lend: a share of their score where it is above average."""
    lent = np.zeros_like(scores)
    order = sorted(range(len(scores)), key=lambda i: (candidates[i].session, candidates[i].place))
    for distance, share in enumerate(SUPPORT, start=1):
        for left, right in zip(order, order[distance:], strict=False):
            if candidates[left].session == candidates[right].session:
                lent[left] += share * max(scores[right], 0.0)
                lent[right] += share * max(scores[left], 0.0)
    return lent


def _hits(index: MemoryIndex, query: RecallQuery, ranked: Sequence[_Ranked]) -> list[Hit]:
    """Fetch whole rows, in rank order, until k or until the characters are used up."""
    wanted = ranked if query.chars_budget is not None else ranked[: query.k]
    ids = [one.memory_id for one in wanted]
    rows = index.by_id(ids, tenant_id=query.tenant_id, columns=_HIT_COLUMNS)
    at = {row["memory_id"]: row for row in rows.to_pylist()}
    left = query.chars_budget
    hits: list[Hit] = []
    for one in wanted:
        row = at.get(one.memory_id)
        if row is None or len(hits) == query.k:
            continue
        if left is not None:
            if len(row["content"]) > left:
                continue
            left -= len(row["content"])
        hits.append(Hit(memory_of(row), row["created_at"], one.score, one.explanation, one.weight))
    return hits
