"""mini_reports: masked chunks -> what an interviewer says of each."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from memclaw_etl.errors import InvariantError, SurroundingsError
from memclaw_etl.interview.grounding import check
from memclaw_etl.interview.interviewer import Interviewer
from memclaw_etl.interview.protocols import Asked, ManyAtOnce, Told
from memclaw_etl.interview.report import Flag, MiniReport, ReportItem, Section, Usage
from memclaw_etl.lake.frames import MINI_REPORTS
from memclaw_etl.lake.ledger import Stage, StageFile, Window, WindowState, reinterviews, results
from memclaw_etl.stages import failures
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import input_of, keep, stands, unchanged
from memclaw_etl.stages.left_out import left_out, without_erased
from memclaw_etl.stages.mask import read_chunks
from memclaw_etl.stages.report import Done, StageReport
from memclaw_etl.stages.said import masked_reports
from memclaw_etl.stages.sitting import (
    Stamp,
    fallback_stamp,
    have_told,
    keystones_of,
    stamp_of,
    step_in,
)


@dataclass(frozen=True, slots=True)
class _Due:
    """A window that has to be interviewed."""

    window: Window
    source: StageFile
    asked: Asked
    stamp: Stamp


def interview_windows(
    bench: Bench, windows: Sequence[Window], interviewer: Interviewer, *, run_id: str
) -> StageReport:
    """Have every chunk interviewed, check the grounding, mask and store the items.

    A model is asked for the chunks of all windows at once; each window is stored as soon as its own
    are answered, and each failure is its window's alone. When the model's endpoint is down, the
    rest is not asked, and nothing is consumed.
    """
    work = _Work(bench, interviewer, run_id)
    due = {one.window.window_id: one for one in work.due(windows)}
    for told in have_told(bench, interviewer, [one.asked for one in due.values()]):
        work.store(due[told.key], told)
    return work.report


@dataclass
class _Work:
    bench: Bench
    interviewer: Interviewer
    run_id: str
    report: StageReport = field(default_factory=lambda: StageReport(Stage.MINI_REPORTS))

    def due(self, windows: Sequence[Window]) -> Iterator[_Due]:
        """The windows that have no report of this interviewer yet; the others are done."""
        for window in windows:
            try:
                one = self._due(window)
            except Exception as error:  # noqa: BLE001 - one window's trouble never stops the others
                self._fail(window, error)
            else:
                if one is not None:
                    yield one

    def _due(self, window: Window) -> _Due | None:
        with self.bench.ledger.read() as tx:
            source = input_of(tx, window, Stage.MINI_REPORTS)
            stored = results.current(tx, [window.window_id], Stage.MINI_REPORTS)
        stamp = stamp_of(self.bench, window, self.interviewer)
        before = stored.get(window.window_id)
        input_hash = _input_hash(self.bench, window, source, stamp)
        if before is not None and stands(self.bench, before, input_hash=input_hash):
            self.report.done.append(unchanged(window, before))
            return None
        asked = Asked(
            key=window.window_id,
            chunks=tuple(read_chunks(self.bench, source)),
            cache=self.bench.responses(window.tenant_id),
            keystones=keystones_of(self.bench, window),
        )
        return _Due(window, source, asked, stamp)

    def store(self, due: _Due, told: Told) -> None:
        """Store what was told of a window, or its failure."""
        stamp = due.stamp
        if told.error is not None and isinstance(self.interviewer, ManyAtOnce):
            instead = step_in(self.bench, due.asked, told.error)
            if instead is not None:
                told, stamp = instead, fallback_stamp()
        if told.error is not None:
            self._fail(due.window, told.error)
            return
        try:
            self.report.done.append(_keep(self.bench, due, stamp, told.reports))
        except Exception as error:  # noqa: BLE001 - one window's trouble never stops the others
            self._fail(due.window, error)

    def _fail(self, window: Window, error: Exception) -> None:
        ours = failures.as_ours(error)
        if window.state is WindowState.COMMITTED and not isinstance(ours, SurroundingsError):
            target = stamp_of(self.bench, window, self.interviewer).target
            with self.bench.ledger.write() as tx:
                reinterviews.count_failure(
                    tx, window.window_id, target, code=ours.code, now=self.bench.ledger.now()
                )
        failed = failures.record(
            self.bench.ledger, window, Stage.MINI_REPORTS, ours,
            run_id=self.run_id, limits=self.bench.settings.limits,
        )  # fmt: skip
        self.report.failed.append(failed)


def _keep(bench: Bench, due: _Due, stamp: Stamp, reports: Sequence[MiniReport]) -> Done:
    window, chunks = due.window, due.asked.chunks
    flaws = [
        flaw for report, chunk in zip(reports, chunks, strict=True) for flaw in check(report, chunk)
    ]
    if flaws:
        raise InvariantError(
            f"window {window.partition_key}: {len(flaws)} ungrounded statements of interviewer"
            f" {stamp.interviewer} {stamp.prompt_version}, the first: {flaws[0]}"
        )
    session = bench.mask_session(window.tenant_id)
    session.continue_after(event.content for chunk in chunks for event in chunk.events)
    with bench.ledger.read() as tx:
        erased = left_out(tx, window.tenant_id)
    masked, kinds = masked_reports(session, reports)
    masked = without_erased(masked, erased)
    counts = {
        **_counts(reports, stamp),
        "items": sum(len(report.items) for report in masked),
        "masked_kinds": dict(sorted(kinds.items())),
        "masker_version": bench.masker.version,
        "personal_data": str(bench.personal_data(window.tenant_id)),
    }
    frame = pl.DataFrame(list(_rows(masked)), schema=MINI_REPORTS, orient="row")
    done = keep(
        bench, window, Stage.MINI_REPORTS, frame, MINI_REPORTS,
        input_hash=_input_hash(bench, window, due.source, stamp), counts=counts,
    )  # fmt: skip
    with bench.ledger.write() as tx:
        results.set_interviewer(
            tx,
            window.window_id,
            interviewer=stamp.interviewer,
            prompt_version=stamp.prompt_version,
        )
    return done


def _input_hash(bench: Bench, window: Window, source: StageFile, stamp: Stamp) -> str:
    return input_hash_of(
        source.content_hash, stamp.interviewer, stamp.prompt_version, stamp.model,
        masker_version=bench.masker.version, personal_data=bench.personal_data(window.tenant_id),
    )  # fmt: skip


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


def _counts(reports: Sequence[MiniReport], stamp: Stamp) -> dict[str, int | float | str | None]:
    usage = sum((report.usage for report in reports), Usage())
    counts: dict[str, int | float | str | None] = {
        "chunks": len(reports),
        "llm_calls": usage.calls,
        "llm_cache_hits": usage.cache_hits,
        "llm_tokens": usage.prompt_tokens + usage.completion_tokens,
        "interviewer": stamp.interviewer,
        "prompt_version": stamp.prompt_version,
        "model": stamp.model,
    }
    if stamp.model is not None:
        counts["llm_prompt_tokens"] = usage.prompt_tokens
        counts["llm_completion_tokens"] = usage.completion_tokens
        counts["llm_cost"] = round(usage.cost, 6)
        for name in type(reports[0].grounding).model_fields if reports else ():
            counts[name] = sum(getattr(report.grounding, name) for report in reports)
    return counts


def _rows(reports: Sequence[MiniReport]) -> Iterator[tuple[object, ...]]:
    for report in reports:
        for item in report.items:
            yield (
                report.chunk_index, str(item.section), item.summary, item.rationale,
                item.alternative, item.result, item.ts_start, item.ts_end, item.session_id,
                [{"seq": seq, "part": part} for seq, part in item.evidence],
                item.importance, [str(flag) for flag in item.flags],
            )  # fmt: skip


def read_reports(bench: Bench, file: StageFile) -> list[MiniReport]:
    """The mini-reports of a stored file, without their usage."""
    items: dict[int, list[ReportItem]] = {}
    for row in bench.files.read(file.path).iter_rows(named=True):
        row["evidence"] = tuple((ref["seq"], ref["part"]) for ref in row["evidence"])
        row["section"] = Section(row["section"])
        row["flags"] = tuple(Flag(flag) for flag in row.get("flags") or ())
        index = row.pop("chunk_index")
        items.setdefault(index, []).append(ReportItem(**row))
    return [MiniReport(chunk_index=index, items=tuple(own)) for index, own in sorted(items.items())]
