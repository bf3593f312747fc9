"""Recall and lists of memories, with the files that they come from."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from memclaw_etl.errors import NotGrantedError, UsageError
from memclaw_etl.lake.ledger import shown
from memclaw_etl.lake.memory_rows import ACTIVE, ANY_STATUS, Scope
from memclaw_etl.memories.bundle import Cited, bundle
from memclaw_etl.memories.catalogue import memories_in
from memclaw_etl.memories.recall import Hit, RecallQuery
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.memories.time_words import TimeRange, time_range
from memclaw_etl.memories.types import MemoryType, fold
from memclaw_etl.service.asking import answer
from memclaw_etl.service.forgetting import finish_forgets
from memclaw_etl.service.grants import Grant, check_node, readable, readable_nodes
from memclaw_etl.stages.bench import Bench

STATUSES = (ACTIVE, "superseded", "deleted", "expired", ANY_STATUS)
Answer = Mapping[str, Any]
"""A memory's fields, `file` and `lines` of its own node, `score` and `explanation`; `also` has the
ids of memories that say the same in the same words.

`time` tells the time that the question's words name, and `in_time` whether the memory lies in it;
both are None when they name none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and its filters. None asks for all of that kind."""

    text: str
    k: int = 10
    memory_type: str | None = None
    node: str | None = None
    namespace: str | None = None
    since: datetime | None = None
    """Valid at or after this time."""
    until: datetime | None = None
    """Begun before this time."""
    valid_at: datetime | None = None
    """What held then, whatever became of it since."""
    status: str = ACTIVE
    """One of `STATUSES`."""
    chars: int | None = None
    """Most characters of content in all answers together."""
    zone: tzinfo | None = UTC
    """Where the question is asked: it says when "yesterday" was. None: words name no time."""

    def __post_init__(self) -> None:
        """Refuse what would find nothing for the wrong reason."""
        if self.status not in STATUSES:
            raise UsageError(f"status {self.status[:40]!r}: expected one of {', '.join(STATUSES)}")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError("nothing lies between these times: `since` is not before `until`")


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answers to one question, best first; those in the time that its words name come first."""

    answers: tuple[Answer, ...]
    time: TimeRange | None
    """What the question's time words mean, where they were heard."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a file; `conversation` restricts it to the trail with that file stem."""

    query_id: str
    question: str
    conversation: str | None


def ask(bench: Bench, grant: Grant, asked: Asked) -> Recalled:
    """Answer one question.

    Words like "last week" are a filter, unless a time is given. Where fewer than k memories lie in
    it, the best others follow, and say so: a date that is wrong by a day hides nothing.

    Raises:
        UsageError: there is no such memory type or status, or the times leave nothing between them.
        NotGrantedError: the namespace or node was not granted, or does not exist; an empty answer
            would hide that.
    """
    query = _query(bench, grant, asked)
    time = _time_of(asked, now=query.now)
    if time is None:
        return Recalled(tuple(_answers(bench, grant, _recall(bench, query))), None)
    inside = _recall(bench, replace(query, since=time.since, until=time.until))
    outside = list(
        _left_over(query, inside, _recall(bench, query) if len(inside) < query.k else [])
    )
    answers = [
        *_answers(bench, grant, inside, time=time, in_time=True),
        *_answers(bench, grant, outside, time=time, in_time=False),
    ]
    return Recalled(tuple(answers), time)


def ask_for_markdown(bench: Bench, grant: Grant, asked: Asked) -> str:
    """Answer one question by a Markdown document with citations, to be put into a prompt.

    `asked.chars` is the most characters of the whole document.

    Raises:
        UsageError: as `ask`, and when not even an empty document has so few characters.
    """
    recalled = ask(bench, grant, asked)
    cited = [_cited(answer) for answer in recalled.answers]
    note = None if recalled.time is None else str(recalled.time)
    return bundle(cited, time=note, chars=asked.chars)


def answer_all(
    bench: Bench, grant: Grant, questions: Sequence[Question], *, k: int
) -> Iterator[dict[str, Any]]:
    """Answer a file of questions: `{query_id, ranked: [[seq..]..], chars: [N..]}` each.

    They are about past conversations: nobody asks them now, and their time words are no filters.

    Raises:
        NotGrantedError: a conversation is no trail that the grant shows.
    """
    files = _files(bench, grant, readable_nodes(bench, grant))
    by_stem = {Path(path).stem: node_id for node_id, path in files.items()}
    unknown = {q.conversation for q in questions if q.conversation is not None} - by_stem.keys()
    if unknown:
        raise NotGrantedError(
            f"there is no trail named {min(unknown)!r} for {grant} ({len(unknown)} such names)"
        )
    queries = [
        RecallQuery(
            text=one.question,
            tenant_id=grant.tenant_id,
            namespaces=grant.namespaces,
            k=k,
            node_id=None if one.conversation is None else by_stem[one.conversation],
        )
        for one in questions
    ]
    for one, hits in zip(questions, answer(bench, queries), strict=True):
        yield {
            "query_id": one.query_id,
            "ranked": [sorted({seq for _, _, seq, _ in hit.memory.evidence}) for hit in hits],
            "chars": [len(hit.memory.content) for hit in hits],
        }


def list_memories(
    bench: Bench, grant: Grant, *, namespace: str | None = None, status: str = ANY_STATUS
) -> Iterator[dict[str, Any]]:
    """Every memory that the grant shows, oldest first, with `file` and `lines`.

    Raises:
        NotGrantedError: the namespace was not granted, or does not exist.
    """
    scope = Scope(
        tenant_id=grant.tenant_id, namespaces=readable(bench, grant, namespace), status=status
    )
    finish_forgets(bench)
    memories = memories_in(bench.index, scope)
    files = _files(bench, grant, {memory.node_id for memory in memories})
    for memory in memories:
        yield _fields(memory, files)


def _query(bench: Bench, grant: Grant, asked: Asked) -> RecallQuery:
    """What is asked of the index: only ever within the grant."""
    namespaces = readable(bench, grant, asked.namespace)
    if asked.node is not None:
        check_node(bench, grant, asked.node)
    return RecallQuery(
        text=asked.text, tenant_id=grant.tenant_id, namespaces=namespaces, k=asked.k,
        memory_type=None if asked.memory_type is None else _type(asked.memory_type),
        node_id=asked.node, since=asked.since, until=asked.until, valid_at=asked.valid_at,
        status=asked.status, chars_budget=asked.chars, now=bench.ledger.now(),
    )  # fmt: skip


def _type(name: str) -> str:
    """The type as memories have it."""
    if name not in tuple(MemoryType):
        types = ", ".join(sorted(MemoryType))
        raise UsageError(f"there is no memory type {name[:40]!r}; expected one of {types}")
    return str(fold(name))


def _time_of(asked: Asked, *, now: datetime | None) -> TimeRange | None:
    """What the words mean, unless the asker says it better."""
    is_given = asked.since or asked.until or asked.valid_at
    if asked.zone is None or now is None or is_given:
        return None
    return time_range(asked.text, now=now, zone=asked.zone)


def _recall(bench: Bench, query: RecallQuery) -> list[Hit]:
    return answer(bench, [query])[0]


def _left_over(query: RecallQuery, chosen: Sequence[Hit], hits: Sequence[Hit]) -> Iterator[Hit]:
    """Those of the hits that were not chosen, while places and characters are left."""
    known = {hit.memory.memory_id for hit in chosen}
    places = query.k - len(chosen)
    used = sum(len(hit.memory.content) for hit in chosen)
    for hit in hits:
        used_then = used + len(hit.memory.content)
        fits = query.chars_budget is None or used_then <= query.chars_budget
        if places and fits and hit.memory.memory_id not in known:
            places, used = places - 1, used_then
            yield hit


def _answers(
    bench: Bench,
    grant: Grant,
    hits: Sequence[Hit],
    *,
    time: TimeRange | None = None,
    in_time: bool | None = None,
) -> Iterator[Answer]:
    files = _files(bench, grant, {hit.memory.node_id for hit in hits})
    for hit in hits:
        yield {
            **_fields(hit.memory, files),
            "also": list(hit.also),
            "score": hit.score,
            "explanation": asdict(hit.explanation),
            "created_at": hit.created_at,
            "time": None if time is None else str(time),
            "in_time": in_time,
        }


def _cited(answer: Answer) -> Cited:
    return Cited(
        memory_id=answer["memory_id"],
        memory_type=answer["memory_type"],
        content=answer["content"],
        at=answer["ts_valid_start"],
        file=answer["file"],
        lines=tuple(answer["lines"]),
        namespace=answer["namespace"],
        superseded_by=answer["superseded_by"],
        in_time=answer["in_time"],
    )


def _fields(memory: Memory, files: Mapping[str, str]) -> dict[str, Any]:
    own = (memory.node_id, memory.evidence[0][1]) if memory.evidence else (memory.node_id, 0)
    fields = asdict(memory)
    del fields["nearby"]  # words for the index, not for readers
    return {
        **fields,
        "file": Path(files.get(memory.node_id, "")).name,
        "lines": sorted(
            {seq for node_id, epoch, seq, _ in memory.evidence if (node_id, epoch) == own}
        ),
    }


def _files(bench: Bench, grant: Grant, node_ids: Collection[str]) -> dict[str, str]:
    """Paths of the trails of these nodes, by node id."""
    with bench.ledger.read() as tx:
        return shown.paths(tx, grant.tenant_id, node_ids)
