"""merged_report: mini-reports -> the window's items, replaced as a whole."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from memclaw_etl.errors import InvariantError
from memclaw_etl.interview.heuristic import HeuristicInterviewer
from memclaw_etl.interview.interviewer import Interviewer
from memclaw_etl.interview.merge import Meaning, merge
from memclaw_etl.interview.model_interviewer import ModelInterviewer
from memclaw_etl.interview.report import MergedReport, MiniReport, ReportItem, Usage
from memclaw_etl.lake.frames import ITEMS
from memclaw_etl.lake.ledger import Node, Stage, StageFile, Window, nodes, results
from memclaw_etl.masking import MaskSession
from memclaw_etl.memories.embeddings import open_embedder
from memclaw_etl.memories.items import Item, group_key, item_id_for
from memclaw_etl.memories.types import fold
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import input_of, stands, unchanged, write
from memclaw_etl.stages.governing import choose_items, keep_items
from memclaw_etl.stages.interview import read_reports
from memclaw_etl.stages.left_out import left_out
from memclaw_etl.stages.report import Done
from memclaw_etl.stages.said import masked_item, texts_of
from memclaw_etl.stages.spending import book, open_purse
from memclaw_etl.stages.surroundings import with_surroundings
from memclaw_etl.windows.namespaces import namespace_of

MERGE_VERSION = "5"


@dataclass(frozen=True, slots=True)
class _Origin:
    """What every item of a window has in common."""

    window: Window
    node: Node
    namespace: str
    interviewer: str
    prompt_version: str
    model: str | None
    masker_version: str
    personal_data: str


def merge_window(bench: Bench, window: Window, interviewer: Interviewer) -> Done:
    """Merge a window's mini-reports, and make the result its live items.

    File, live items and touched groups are one ledger transaction. Every text is masked again
    before it is written: what an interviewer says is not trusted to be clean.
    """
    with bench.ledger.read() as tx:
        source = input_of(tx, window, Stage.MERGED_REPORT)
        chunks = results.current(tx, [window.window_id], Stage.MASKED_CHUNKS)
        stored = results.current(tx, [window.window_id], Stage.MERGED_REPORT)
        node = nodes.get(tx, window.tenant_id, window.node_id)
        erased = left_out(tx, window.tenant_id)
    if node is None or window.window_id not in chunks:
        raise InvariantError(f"window {window.partition_key} lost its node or its chunks")
    origin = _origin(bench, window, node, source)
    input_hash = input_hash_of(
        source.content_hash, origin.namespace,
        masker_version=origin.masker_version, personal_data=origin.personal_data,
    )  # fmt: skip
    before = stored.get(window.window_id)
    if before is not None and stands(bench, before, input_hash=input_hash):
        return unchanged(window, before)
    merged, usage = _merged(bench, window, interviewer, source)
    events = bench.files.read(chunks[window.window_id].path)
    items = _items(bench.mask_session(window.tenant_id), merged, origin, _chunk_of(events))
    items = [item for item in with_surroundings(items, events) if not erased.says(item.content)]
    counts = {
        "items": len(items),
        "joined": merged.joined,
        "capped": merged.capped,
        **_cost(usage),
        "masker_version": origin.masker_version,
        "personal_data": origin.personal_data,
    }
    return _store(bench, window, items, counts, input_hash=input_hash)


def _merged(
    bench: Bench, window: Window, interviewer: Interviewer, source: StageFile
) -> tuple[MergedReport, Usage]:
    """The items of all chunks, joined as suits whoever reported; and what a model's help cost."""
    reports = read_reports(bench, source)
    if source.counts["interviewer"] != interviewer.name:  # rules stepped in for a model
        interviewer = HeuristicInterviewer()
    several = len(reports) > 1
    usage, joined = Usage(), 0
    if (
        several
        and isinstance(interviewer, ModelInterviewer)
        and bench.settings.model.merge_with_model
    ):
        before = [item for report in reports for item in report.items]
        open_purse(bench)
        items, usage = interviewer.joined(before, cache=bench.responses(window.tenant_id))
        book(bench)
        joined = len(before) - len(items)
        reports = [MiniReport(chunk_index=0, items=tuple(items))]
    near = interviewer.near_meaning
    merged = merge(
        reports,
        max_per_section=interviewer.max_per_section,
        near_overlap=interviewer.near_overlap,
        meaning=Meaning(open_embedder().embed, near) if several and near is not None else None,
    )
    return merged.model_copy(update={"joined": merged.joined + joined}), usage


def _cost(usage: Usage) -> dict[str, int | float]:
    """What the merge cost, where a model was asked."""
    if usage == Usage():
        return {}
    return {
        "llm_calls": usage.calls,
        "llm_cache_hits": usage.cache_hits,
        "llm_tokens": usage.prompt_tokens + usage.completion_tokens,
        "llm_cost": round(usage.cost, 6),
    }


def _origin(bench: Bench, window: Window, node: Node, source: StageFile) -> _Origin:
    return _Origin(
        window=window,
        node=node,
        namespace=namespace_of(window.project, bench.settings.namespaces),
        interviewer=str(source.counts["interviewer"]),
        prompt_version=str(source.counts["prompt_version"]),
        model=source.counts["model"],
        masker_version=bench.masker.version,
        personal_data=str(bench.personal_data(window.tenant_id)),
    )


def input_hash_of(
    source_hash: str, namespace: str, *, masker_version: str, personal_data: str
) -> str:
    """The hash of everything that this stage's result depends on."""
    parts = (MERGE_VERSION, masker_version, str(personal_data), source_hash, namespace)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _chunk_of(events: pl.DataFrame) -> dict[tuple[int, int], int]:
    """(seq, part) -> chunk that holds the event as its own."""
    own = events.filter(~pl.col("context"))
    return {
        (seq, part): index
        for seq, part, index in own.select("seq", "part", "chunk_index").iter_rows()
    }


def _items(
    session: MaskSession,
    merged: MergedReport,
    origin: _Origin,
    chunk_of: dict[tuple[int, int], int],
) -> list[Item]:
    session.continue_after(texts_of(merged.items))
    said = [masked_item(session, one, Counter()) for one in merged.items]
    items = [_item(session, one, origin, chunk_of) for one in said if one is not None]
    return list({(item.item_id, group_key(item)): item for item in items}.values())


def _item(
    session: MaskSession, said: ReportItem, origin: _Origin, chunk_of: dict[tuple[int, int], int]
) -> Item:
    window = origin.window
    content = session.mask(said.content).text
    return Item(
        item_id=item_id_for(
            tenant_id=window.tenant_id, attempt_id=window.attempt_id, content=content
        ),
        tenant_id=window.tenant_id,
        fleet_id=origin.node.fleet_id,
        node_id=window.node_id,
        agent_id=origin.node.agent_id,
        epoch=window.epoch,
        window_key=window.partition_key,
        attempt_id=window.attempt_id,
        namespace=origin.namespace,
        section=str(said.section),
        memory_type=said.memory_type,
        content=content,
        title=session.mask(said.title).text,
        session_id=said.session_id,
        ts_start=said.ts_start,
        ts_end=said.ts_end,
        evidence=said.evidence,
        chunk_index=chunk_of[said.evidence[0]],
        interviewer=origin.interviewer,
        prompt_version=origin.prompt_version,
        model=origin.model,
        masker_version=origin.masker_version,
        flags=tuple(str(flag) for flag in said.flags),
        source_kind=str(origin.node.kind),
        hint=min(max(said.importance, 0), 1),
    )


def _store(
    bench: Bench,
    window: Window,
    items: Sequence[Item],
    counts: Mapping[str, object],
    *,
    input_hash: str,
) -> Done:
    file = write(
        bench, window, Stage.MERGED_REPORT, frame_of(items, window), ITEMS,
        input_hash=input_hash, counts=counts,
    )  # fmt: skip
    chosen = choose_items(bench, window, items)
    with bench.ledger.write() as tx:
        results.set_current(tx, file)
        keep_items(tx, window, chosen)
    return Done(
        window=window, counts=counts, path=file.path, content_hash=file.content_hash,
        unchanged=False,
    )  # fmt: skip


def frame_of(items: Sequence[Item], window: Window) -> pl.DataFrame:
    """The stage's frame (`ITEMS`) of a window's items."""
    return pl.DataFrame([_row(item, window) for item in items], schema=ITEMS)


def _row(item: Item, window: Window) -> dict[str, object]:
    row = asdict(item)
    row["window_id"] = window.window_id
    row["evidence"] = [{"seq": seq, "part": part} for seq, part in item.evidence]
    row["flags"] = list(item.flags)
    row["identities"] = list(item.identities)
    del row["said_hash"]
    return row


def read_items(bench: Bench, file: StageFile) -> list[Item]:
    """The items of a stored file."""
    return items_in(bench.files.read(file.path))


def items_in(frame: pl.DataFrame) -> list[Item]:
    """The items of a frame (`ITEMS`)."""
    items = []
    for row in frame.iter_rows(named=True):
        del row["window_id"]
        row["evidence"] = tuple((ref["seq"], ref["part"]) for ref in row["evidence"])
        row["flags"] = tuple(row.get("flags") or ())
        row["nearby"] = row.get("nearby") or ""
        row["source_kind"] = row.get("source_kind") or ""
        row["hint"] = row.get("hint") or 0
        row["memory_type"] = str(fold(row["memory_type"]))
        row["identities"] = tuple(row.get("identities") or ())
        items.append(Item(**row))
    return items
