"""mini_reports: masked chunks -> what an interviewer says of each."""

import hashlib
from collections.abc import Iterator, Sequence

import polars as pl

from memclaw_etl.errors import InvariantError
from memclaw_etl.interview.grounding import check
from memclaw_etl.interview.interviewer import Interviewer
from memclaw_etl.interview.report import MiniReport, ReportItem, Section
from memclaw_etl.lake.frames import MINI_REPORTS
from memclaw_etl.lake.ledger import Stage, StageFile, Window, results
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import input_of, keep, stands, unchanged
from memclaw_etl.stages.mask import read_chunks
from memclaw_etl.stages.report import Done
from memclaw_etl.stages.said import masked_reports


def interview_window(bench: Bench, window: Window, interviewer: Interviewer) -> Done:
    """Have every chunk of a window interviewed, check the grounding, mask and store the items.

    Raises:
        SurroundingsError: the model is down; nothing was consumed.
        InvariantError: an item rests on evidence that its chunk does not hold.
    """
    with bench.ledger.read() as tx:
        source = input_of(tx, window, Stage.MINI_REPORTS)
        stored = results.current(tx, [window.window_id], Stage.MINI_REPORTS)
    input_hash = input_hash_of(
        source.content_hash, interviewer.name, interviewer.version, interviewer.model,
        masker_version=bench.masker.version, personal_data=bench.personal_data(window.tenant_id),
    )  # fmt: skip
    before = stored.get(window.window_id)
    if before is not None and stands(bench, before, input_hash=input_hash):
        return unchanged(window, before)
    chunks = read_chunks(bench, source)
    reports = interviewer.interview(chunks, cache=bench.responses(window.tenant_id))
    flaws = [
        flaw for report, chunk in zip(reports, chunks, strict=True) for flaw in check(report, chunk)
    ]
    if flaws:
        raise InvariantError(
            f"window {window.partition_key}: {len(flaws)} ungrounded statements of interviewer"
            f" {interviewer.name} {interviewer.version}, the first: {flaws[0]}"
        )
    session = bench.mask_session(window.tenant_id)
    session.continue_after(event.content for chunk in chunks for event in chunk.events)
    masked, kinds = masked_reports(session, reports)
    counts = {
        **_counts(reports, interviewer),
        "items": sum(len(report.items) for report in masked),
        "masked_kinds": dict(sorted(kinds.items())),
        "masker_version": bench.masker.version,
        "personal_data": str(bench.personal_data(window.tenant_id)),
    }
    frame = pl.DataFrame(list(_rows(masked)), schema=MINI_REPORTS, orient="row")
    done = keep(
        bench, window, Stage.MINI_REPORTS, frame, MINI_REPORTS,
        input_hash=input_hash, counts=counts,
    )  # fmt: skip
    with bench.ledger.write() as tx:
        results.set_interviewer(
            tx,
            window.window_id,
            interviewer=interviewer.name,
            prompt_version=interviewer.version,
        )
    return done


def input_hash_of(
    source_hash: str,
    interviewer: str,
    prompt_version: str,
    model: str | None,
    *,
    masker_version: str,
    personal_data: str,
) -> str:
    """The hash of everything that this stage's result depends on."""
    parts = (source_hash, interviewer, prompt_version, model, masker_version, str(personal_data))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _counts(reports: Sequence[MiniReport], interviewer: Interviewer) -> dict[str, int | str | None]:
    usage = [report.usage for report in reports]
    return {
        "chunks": len(reports),
        "llm_calls": sum(one.calls for one in usage),
        "llm_cache_hits": sum(one.cache_hits for one in usage),
        "llm_tokens": sum(one.prompt_tokens + one.completion_tokens for one in usage),
        "interviewer": interviewer.name,
        "prompt_version": interviewer.version,
        "model": interviewer.model,
    }


def _rows(reports: Sequence[MiniReport]) -> Iterator[tuple[object, ...]]:
    for report in reports:
        for item in report.items:
            yield (
                report.chunk_index, str(item.section), item.summary, item.rationale,
                item.alternative, item.result, item.ts_start, item.ts_end, item.session_id,
                [{"seq": seq, "part": part} for seq, part in item.evidence],
            )  # fmt: skip


def read_reports(bench: Bench, file: StageFile) -> list[MiniReport]:
    """The mini-reports of a stored file, without their usage."""
    items: dict[int, list[ReportItem]] = {}
    for row in bench.files.read(file.path).iter_rows(named=True):
        row["evidence"] = tuple((ref["seq"], ref["part"]) for ref in row["evidence"])
        row["section"] = Section(row["section"])
        index = row.pop("chunk_index")
        items.setdefault(index, []).append(ReportItem(**row))
    return [MiniReport(chunk_index=index, items=tuple(own)) for index, own in sorted(items.items())]
