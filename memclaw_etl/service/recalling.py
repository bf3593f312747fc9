"""Recall and lists of memories, with the files that they come from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import nodes, results
from memclaw_etl.lake.memory_rows import ACTIVE
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.items import scopes_prefix
from memclaw_etl.memories.recall import Hit, RecallQuery, recall_many
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.settings import DEFAULT_TENANT
from memclaw_etl.stages.bench import Bench

Answer = Mapping[str, Any]
"""A memory's fields, `file` and `lines` of its own node, `score` and `explanation`."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a file; `conversation` restricts it to the trail with that file stem."""

    query_id: str
    question: str
    conversation: str | None


def ask(
    bench: Bench,
    text: str,
    *,
    k: int = 10,
    memory_type: str | None = None,
    node: str | None = None,
    namespace: str | None = None,
    since: datetime | None = None,
    valid_at: datetime | None = None,
    status: str = ACTIVE,
    chars: int | None = None,
    tenant: str = DEFAULT_TENANT,
) -> list[Answer]:
    """Answer one question.

    Raises:
        UsageError: the tenant has no such namespace or node; an empty answer would hide that.
    """
    _refuse_unknown(bench, tenant, namespace=namespace, node=node)
    query = RecallQuery(
        text=text, tenant_id=tenant, k=k, memory_type=memory_type, node_id=node,
        namespace=namespace, since=since, valid_at=valid_at, status=status, chars_budget=chars,
        now=bench.ledger.now(),
    )  # fmt: skip
    files = _files(bench, tenant)
    return [_answer(hit, files) for hit in recall_many(bench.index, bench.embedder, [query])[0]]


def answer_all(
    bench: Bench, questions: Sequence[Question], *, k: int, tenant: str = DEFAULT_TENANT
) -> Iterator[dict[str, Any]]:
    """Answer a file of questions: `{query_id, ranked: [[seq..]..], chars: [N..]}` each.

    Raises:
        UsageError: a conversation is no trail of the tenant.
    """
    by_stem = {Path(path).stem: node_id for node_id, path in _files(bench, tenant).items()}
    unknown = {q.conversation for q in questions if q.conversation} - by_stem.keys()
    if unknown:
        raise UsageError(f"no trail is named {min(unknown)!r} ({len(unknown)} such names)")
    queries = [
        RecallQuery(
            text=one.question,
            tenant_id=tenant,
            k=k,
            node_id=by_stem[one.conversation] if one.conversation else None,
        )
        for one in questions
    ]
    for one, hits in zip(questions, recall_many(bench.index, bench.embedder, queries), strict=True):
        yield {
            "query_id": one.query_id,
            "ranked": [sorted({seq for _, _, seq, _ in hit.memory.evidence}) for hit in hits],
            "chars": [len(hit.memory.content) for hit in hits],
        }


def list_memories(bench: Bench, *, tenant: str = DEFAULT_TENANT) -> Iterator[dict[str, Any]]:
    """Every memory of a tenant, oldest first, with `file` and `lines`."""
    files = _files(bench, tenant)
    for memory in all_memories(bench.index, tenant_id=tenant):
        yield _fields(memory, files)


def _refuse_unknown(bench: Bench, tenant: str, *, namespace: str | None, node: str | None) -> None:
    """Say so when what is asked for does not exist for this tenant."""
    with bench.ledger.read() as tx:
        prefix = scopes_prefix(tenant)
        known = {scope.removeprefix(prefix) for scope in results.scopes(tx, prefix)}
        is_known_node = node is None or nodes.get(tx, tenant, node) is not None
    if namespace is not None:
        known |= {row.namespace for row in bench.settings.namespaces}
        if namespace not in known:
            raise UsageError(
                f"there is no namespace {namespace!r}; the tenant's namespaces:"
                f" {', '.join(sorted(filter(None, known))) or 'none'}"
            )
    if not is_known_node:
        raise UsageError(f"there is no node {node!r}; `memclaw-etl status` lists them")


def _answer(hit: Hit, files: Mapping[str, str]) -> Answer:
    return {
        **_fields(hit.memory, files),
        "score": hit.score,
        "explanation": asdict(hit.explanation),
        "created_at": hit.created_at,
    }


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


def _files(bench: Bench, tenant: str) -> dict[str, str]:
    with bench.ledger.read() as tx:
        return {node.node_id: node.path for node in nodes.all_nodes(tx, tenant_id=tenant)}
