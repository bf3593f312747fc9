"""From a memory back to the lines that made it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import Connection

from memclaw_etl.errors import NotGrantedError
from memclaw_etl.lake.ledger import Stage, StageFile, Window, nodes, pins, results, shown, windows
from memclaw_etl.lake.ledger.shown import Shown
from memclaw_etl.memories.catalogue import memory_by_id
from memclaw_etl.memories.items import Item
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service.forgetting import finish_forgets
from memclaw_etl.service.grants import Grant, shown_to
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.governing import governed
from memclaw_etl.stages.merge import read_items


@dataclass(frozen=True, slots=True)
class Line:
    """One trail line that a memory rests on; `text` is the masked event."""

    file: str
    seq: int
    part: int
    ts: datetime | None
    role: str
    text: str
    copies: tuple[str, ...]
    """Where else the same event stands (`partition key:seq`): forks, resumed sessions."""


@dataclass(frozen=True, slots=True)
class Step:
    """One report item behind a memory, with the window, chunk and lines that it comes from."""

    item_id: str
    section: str
    content: str
    partition_key: str
    attempt_id: str
    window_state: str
    trail_sha256: str
    chunk_index: int
    chunk_file: str
    report_file: str
    interviewer: str
    prompt_version: str
    model: str | None
    masker_version: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """A memory and everything that it was made of."""

    memory: Memory
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"memory": asdict(self.memory), "items": [asdict(step) for step in self.steps]}


def lineage(bench: Bench, grant: Grant, memory_id: str) -> Lineage:
    """Trace a memory to its items, chunks and trail lines.

    Copies of a line are named where the grant shows the window that holds them.

    Raises:
        NotGrantedError: the grant shows no such memory.
    """
    finish_forgets(bench)
    memory = memory_by_id(
        bench.index, memory_id, tenant_id=grant.tenant_id, namespaces=grant.namespaces
    )
    if memory is None:
        raise NotGrantedError(
            f"there is no memory {memory_id} for {grant}; `memclaw-etl memories` lists them"
        )
    of = shown_to(bench, grant)
    with bench.ledger.read() as tx:
        known = windows.by_keys(tx, memory.window_keys)
        steps = [step for window in known for step in _steps(tx, bench, window, memory)]
        steps = _without_foreign_copies(tx, steps, of)
    return Lineage(memory=memory, steps=tuple(steps))


def _without_foreign_copies(tx: Connection, steps: Sequence[Step], of: Shown) -> list[Step]:
    """Leave out the copies in windows that are not shown."""
    keys = {_window_of(copy) for step in steps for line in step.lines for copy in line.copies}
    known = shown.partition_keys(tx, of, keys)
    return [replace(step, lines=tuple(_with_copies_in(known, step.lines))) for step in steps]


def _with_copies_in(known: Collection[str], lines: Sequence[Line]) -> Iterator[Line]:
    for line in lines:
        yield replace(line, copies=tuple(one for one in line.copies if _window_of(one) in known))


def _window_of(copy: str) -> str:
    return copy.rpartition(":")[0]


def _steps(tx: Connection, bench: Bench, window: Window, memory: Memory) -> list[Step]:
    report = results.current(tx, [window.window_id], Stage.MERGED_REPORT)[window.window_id]
    chunks = results.current(tx, [window.window_id], Stage.MASKED_CHUNKS)[window.window_id]
    node = nodes.get(tx, window.tenant_id, window.node_id)
    path = node.path if node is not None else ""
    return [
        _step(tx, bench, window, item, report=report, chunks=chunks, path=path)
        for item in governed(bench, read_items(bench, report))
        if item.item_id in memory.item_ids and item.memory_type == memory.memory_type
    ]


def _step(
    tx: Connection,
    bench: Bench,
    window: Window,
    item: Item,
    *,
    report: StageFile,
    chunks: StageFile,
    path: str,
) -> Step:
    return Step(
        item_id=item.item_id,
        section=item.section,
        content=item.content,
        partition_key=window.partition_key,
        attempt_id=window.attempt_id,
        window_state=str(window.state),
        trail_sha256=window.sha256,
        chunk_index=item.chunk_index,
        chunk_file=chunks.path,
        report_file=report.path,
        interviewer=item.interviewer,
        prompt_version=item.prompt_version,
        model=item.model,
        masker_version=item.masker_version,
        lines=tuple(_lines(tx, bench, window, item.evidence, chunks=chunks, path=path)),
    )


def _lines(
    tx: Connection,
    bench: Bench,
    window: Window,
    evidence: Sequence[tuple[int, int]],
    *,
    chunks: StageFile,
    path: str,
) -> list[Line]:
    frame = bench.files.read(chunks.path).filter(~pl.col("context"))
    events = {(row["seq"], row["part"]): row for row in frame.iter_rows(named=True)}
    identities = [events[ref]["identity"] for ref in evidence]
    copies: dict[str, list[str]] = {}
    for identity, key, seq, _ in pins.copies_of(tx, window.tenant_id, identities):
        copies.setdefault(identity, []).append(f"{key}:{seq}")
    return [
        Line(
            file=path,
            seq=seq,
            part=part,
            ts=events[seq, part]["ts"],
            role=events[seq, part]["role"],
            text=events[seq, part]["content"],
            copies=tuple(copies.get(events[seq, part]["identity"], ())),
        )
        for seq, part in evidence
    ]
