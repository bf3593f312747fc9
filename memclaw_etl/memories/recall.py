"""Recall: the memories that answer a question, best first, each with the reason for its rank.

Candidates are the best of BM25 and of the vectors; the store filters both. `memories.ranking` says
how their scores are made. Everything that one answer reads is of one version of the index.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.memory_rows import ACTIVE, CREATED_AT, DOCUMENT, VECTOR, Scope
from memclaw_etl.lake.memory_search import ROW, Snapshot
from memclaw_etl.memories.embeddings import Embedder, Vectors
from memclaw_etl.memories.enrich import recency
from memclaw_etl.memories.ranking import COLUMNS, Ranked, folded, rank, unite
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.rows import memory_from
from memclaw_etl.memories.wording import pairs, terms

BY_WORDS = 120
BY_VECTOR = 60
"""How many memories each search may name. On the recall yardstick 100 to 120 and 30 to 80 are equal
within a point, 200 and 200 slower and no better: they bring in what only looks alike."""
WORD_WEIGHT = 2
"""Weight of a word against two words that stand together."""
DAY_S = 86_400
_NO_WORD = "_"
"""Stands in no text: a question of filler only is asked by its vector alone."""
_TIE_COLUMNS = ("memory_id", "memory_type", "importance", "ts_valid_start")
_HIT_COLUMNS = (DOCUMENT, CREATED_AT)


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
    session: float
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
    also: tuple[str, ...] = ()
    """Ids of memories that say it in the same words, apart from case, white space and punctuation;
    of all that were found, best first. They are no hits of their own."""


def recall(index: MemoryIndex, embedder: Embedder, query: RecallQuery) -> list[Hit]:
    """Give at most `query.k` memories, best first. No memory in scope: an empty list."""
    return _answer(index, query, lambda: embedder.embed([query.text])[0])


def recall_many(
    index: MemoryIndex, embedder: Embedder, queries: Sequence[RecallQuery]
) -> list[list[Hit]]:
    """Answer many questions, in order; each sees only its own tenant and filters."""
    if len(queries) == 1:
        return [recall(index, embedder, queries[0])]
    vectors = iter(embedder.embed([query.text for query in queries]))
    return [_answer(index, query, lambda: next(vectors)) for query in queries]


def _answer(index: MemoryIndex, query: RecallQuery, embed: Callable[[], Vectors]) -> list[Hit]:
    """Search, rank, fetch the best. The words are searched while the question is embedded."""
    snapshot, scope = index.snapshot(), _scope(query)
    words = terms(query.text) or [_NO_WORD]
    asked = [*words * WORD_WEIGHT, *pairs(words)]
    by_words, by_vector = max(BY_WORDS, query.k), max(BY_VECTOR, query.k)
    found = snapshot.full_text(asked, scope=scope, limit=by_words, columns=(*COLUMNS, VECTOR))
    vector = embed()
    near = snapshot.nearest(vector, scope=scope, limit=by_vector, columns=COLUMNS)
    ranked = rank(unite(found.result(), near, vector))
    return _hits(snapshot, ranked, list(_chosen(snapshot, ranked, query)), now=query.now)


def _scope(query: RecallQuery) -> Scope:
    return Scope(
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


_Choice = tuple[int, list[int]]
"""Position of a candidate, and of those that say the same."""


def _chosen(snapshot: Snapshot, ranked: Ranked, query: RecallQuery) -> Iterator[_Choice]:
    """The best k contents, and of these what the budget of characters has room for."""
    left, count = query.chars_budget, 0
    for best, others in folded(_settled(snapshot, ranked, query), ranked.candidates.words):
        chars = int(ranked.candidates.chars[best])
        if left is not None and chars > left:
            continue
        if left is not None:
            left -= chars
        yield best, others
        count += 1
        if count == query.k:
            return


def _settled(snapshot: Snapshot, ranked: Ranked, query: RecallQuery) -> list[int]:
    """Candidates, best first; of equal scores what matters more and is fresher, then by id.

    Only these few are read for it, and only where equal scores can make a difference.
    """
    order: list[int] = ranked.order.tolist()
    tied = ranked.ties(contents=None if query.chars_budget is not None else query.k)
    if not tied:
        return order
    rows = _read(snapshot, ranked, tied, _TIE_COLUMNS).to_pylist()
    rank_of = {
        row[ROW]: (
            -_weight(row["memory_type"], row["importance"], row["ts_valid_start"], query.now),
            row["memory_id"],
        )
        for row in rows
    }
    rows_of, last = ranked.candidates.row.tolist(), (0.0, "")
    return sorted(order, key=lambda at: (-ranked.score[at], rank_of.get(rows_of[at], last)))


def _weight(
    memory_type: str, importance: float, when: datetime | None, now: datetime | None
) -> float:
    """Importance, and with a clock recency by event time: what decides between equal scores."""
    if now is None or when is None:
        return importance
    return importance * recency(memory_type, (now - when).total_seconds() / DAY_S)


def _read(
    snapshot: Snapshot, ranked: Ranked, positions: Sequence[int], columns: Sequence[str]
) -> pa.Table:
    return snapshot.rows(ranked.candidates.row[list(positions)].tolist(), columns=columns)


def _hits(
    snapshot: Snapshot, ranked: Ranked, chosen: Sequence[_Choice], *, now: datetime | None
) -> list[Hit]:
    """Read what was chosen, in its order."""
    best = _read(snapshot, ranked, [at for at, _ in chosen], _HIT_COLUMNS).to_pylist()
    rest = [at for _, others in chosen for at in others]
    ids = _read(snapshot, ranked, rest, ["memory_id"]).to_pylist() if rest else []
    row_at, id_at = {row[ROW]: row for row in best}, {row[ROW]: row["memory_id"] for row in ids}
    rows_of = ranked.candidates.row.tolist()
    hits = []
    for at, others in chosen:
        row = row_at[rows_of[at]]
        memory = memory_from(row[DOCUMENT])
        hits.append(
            Hit(
                memory=memory,
                created_at=row[CREATED_AT],
                score=float(ranked.score[at]),
                explanation=Explanation(*ranked.parts[:, at].tolist()),
                weight=_weight(memory.memory_type, memory.importance, memory.ts_valid_start, now),
                also=tuple(id_at[rows_of[other]] for other in others),
            )
        )
    return hits
