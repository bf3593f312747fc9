"""Metadata for the UI: counts, ranges, hashes and commands.

Never trail text, unless a person set `preview_text`, which says that erase cannot reach it.
"""

from collections import Counter
from collections.abc import Mapping

import dagster as dg
import polars as pl

from memclaw_etl.lake import frames
from memclaw_etl.lake.ledger import Stage, Window
from memclaw_etl.service.status import NodeStatus
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.report import Done, StageReport

Metadata = dict[str, dg.MetadataValue | dg.TableSchema | str | int | float]

_SCHEMAS = {
    Stage.MASKED_CHUNKS: frames.MASKED_CHUNKS,
    Stage.MINI_REPORTS: frames.MINI_REPORTS,
    Stage.MERGED_REPORT: frames.ITEMS,
}
PREVIEW_CHARS = 2_000


def table_schema(schema: pl.Schema) -> dg.TableSchema:
    """A stage file's schema as the UI shows it."""
    return dg.TableSchema(
        columns=[dg.TableColumn(name=name, type=str(kind)) for name, kind in schema.items()]
    )


def asset_metadata(stage: Stage) -> Metadata:
    """What is true of every materialization of a stage."""
    schema = _SCHEMAS.get(stage)
    return {"dagster/column_schema": table_schema(schema)} if schema is not None else {}


def window_metadata(bench: Bench, stage: Stage, done: Done) -> Metadata:
    """One window's materialization: where it comes from, what was counted, how to see it."""
    window = done.window
    metadata: Metadata = {
        "node": window.node_id,
        "lines": f"{window.cursor_from}-{window.cursor_to}",
        "bytes": f"{window.byte_from}-{window.byte_to}",
        "trail sha256": window.sha256[:12],
        "already done": dg.MetadataValue.bool(done.unchanged),
        "show it": dg.MetadataValue.md(_command(stage, window)),
    }
    if window.project:
        metadata["project"] = window.project
    if window.ts_first and window.ts_last:
        metadata["time range"] = (
            f"{window.ts_first:%Y-%m-%d %H:%M} to {window.ts_last:%Y-%m-%d %H:%M} UTC"
        )
    if done.path:
        metadata["file"] = dg.MetadataValue.path(bench.files.absolute(done.path))
        metadata["file sha256"] = done.content_hash[:12]
    metadata |= _numbers(done)
    if bench.settings.preview_text and done.path:
        metadata["preview (erase cannot reach it here)"] = _preview(bench, stage, done)
    return metadata


def _numbers(done: Done) -> Metadata:
    """What was counted; what was masked, by kind."""
    numbers: Metadata = {}
    for name, value in done.counts.items():
        if isinstance(value, Mapping):
            numbers |= {f"{name}: {kind}": count for kind, count in value.items()}
        elif value is not None:
            numbers[name] = value
    return numbers


def _command(stage: Stage, window: Window) -> str:
    table = {
        Stage.MASKED_CHUNKS: "chunks",
        Stage.MINI_REPORTS: "mini_reports",
        Stage.MERGED_REPORT: "items",
        Stage.MEMORIES: "items",
        Stage.WATERMARK: "windows",
    }[stage]
    query = f"select * from {table} where partition_key = '{window.partition_key}'"  # noqa: S608 - shown, not run
    return f'```\nmemclaw-etl sql "{query}"\n```'


def _preview(bench: Bench, stage: Stage, done: Done) -> dg.MetadataValue:
    column = "summary" if stage is Stage.MINI_REPORTS else "content"
    texts = bench.files.read(done.path)[column].drop_nulls().to_list()
    return dg.MetadataValue.md("\n\n".join(texts)[:PREVIEW_CHARS])


def batch_metadata(bench: Bench, stage: Stage, report: StageReport, *, asked: int) -> Metadata:
    """What is true of the whole run: shown on every window of it."""
    del bench
    metadata: Metadata = {
        "windows asked": asked,
        "windows done": len(report.done),
        "windows done before": sum(done.unchanged for done in report.done),
    }
    what = "windows" if stage is Stage.WATERMARK else "memories"
    metadata |= {f"{what} {name}": count for name, count in report.totals.items()}
    if stage is Stage.MASKED_CHUNKS:
        metadata["dagster/row_count"] = sum(int(done.counts["events"]) for done in report.done)
        metadata |= _masked(report)
    return metadata


def _masked(report: StageReport) -> Metadata:
    """What was taken out of the messages of the run, by kind."""
    kinds: Counter[str] = Counter()
    for done in report.done:
        kinds.update(done.counts.get("masked_kinds", {}))
    return {f"masked {kind}": count for kind, count in sorted(kinds.items())}


def node_metadata(status: NodeStatus) -> Metadata:
    """A node's numbers, which the UI plots over time."""
    return {
        "last_seq": status.last_seq if status.last_seq is not None else -1,
        "head_seq": status.head_seq if status.head_seq is not None else -1,
        "lag": status.lag,
        "windows committed": status.committed,
        "windows held": status.held,
        "windows failed": status.failed,
        "windows quarantined": status.quarantined,
        "memories": status.items,
        "masked spans": status.masked_spans,
        "llm tokens": status.llm_tokens,
        "llm cost": status.llm_cost,
        "epoch": status.epoch,
        "source": status.source,
        "path": dg.MetadataValue.path(status.path),
    }
