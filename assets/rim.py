"""The rim: from a Dagster context to a stage's work and back. The only place that knows both."""

from collections.abc import Mapping, Sequence

import dagster as dg

from assets.metadata import batch_metadata, node_metadata, window_metadata
from assets.partitions import BATCH_TAG, NODES, PARENT_RUN_TAG, RANGE_START_TAG
from memclaw_etl.errors import InvariantError, MemclawError, Retry
from memclaw_etl.lake.ledger import Stage, Window
from memclaw_etl.service.checks import CHECK_OF_STAGE, Finding, after_stage
from memclaw_etl.service.status import NodeStatus, status_of
from memclaw_etl.stages import failures
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.report import StageReport
from memclaw_etl.stages.run import RunRequest, give_back, take, work
from memclaw_etl.windows.keys import encode_node


def materialize(
    context: dg.AssetExecutionContext, bench: Bench, stage: Stage
) -> dg.MaterializeResult:
    """Do one stage for the windows of this run; fail once at the end if any of them failed.

    Every good window is materialised with its own metadata, whether others failed or not.
    """
    request = _request(context)
    try:
        windows = take(bench, request)
        report = work(bench, stage, request, windows)
        findings = _check(bench, report, run_id=context.run.run_id)
    except MemclawError as error:
        raise _failure(error) from None
    except Exception as error:  # noqa: BLE001 - its message may hold trail text; Dagster stores it
        raise _failure(failures.as_ours(error)) from None
    if report.failed:
        _keep_good_ones(context, bench, report)
        give_back(bench, context.run.run_id, windows)
        raise _failures(report)
    for done in report.done:
        context.add_asset_metadata(
            window_metadata(bench, stage, done), partition_key=done.window.partition_key
        )
    if stage is Stage.WATERMARK:
        _show_nodes(context, bench, [done.window for done in report.done])
    return dg.MaterializeResult(
        metadata=batch_metadata(bench, stage, report, asked=len(request.partition_keys)),
        check_results=_check_results(stage, report, findings),
    )


def _request(context: dg.AssetExecutionContext) -> RunRequest:
    tags = context.run.tags
    keys = list(context.partition_keys) if context.has_partition_key or _has_range(tags) else []
    return RunRequest(
        run_id=context.run.run_id,
        batch_id=tags.get(BATCH_TAG),
        partition_keys=keys,
        by_person=BATCH_TAG not in tags or PARENT_RUN_TAG in tags,
    )


def _has_range(tags: Mapping[str, str]) -> bool:
    return RANGE_START_TAG in tags


def _check(bench: Bench, report: StageReport, *, run_id: str) -> list[Finding]:
    """Check what a stage stored; a window that breaks a promise fails on the spot."""
    findings = after_stage(bench, report.stage, [done.window for done in report.done])
    broken = {finding.where: finding for finding in reversed(findings)}
    for done in [one for one in report.done if one.window.partition_key in broken]:
        finding = broken[done.window.partition_key]
        report.done.remove(done)
        report.failed.append(
            failures.record(
                bench.ledger,
                done.window,
                report.stage,
                InvariantError(f"{finding.check}: {finding.where}: {finding.message}"),
                run_id=run_id,
                limits=bench.settings.limits,
            )
        )
    return findings


def _keep_good_ones(context: dg.AssetExecutionContext, bench: Bench, report: StageReport) -> None:
    for done in report.done:
        context.log_event(
            dg.AssetMaterialization(
                asset_key=context.asset_key,
                partition=done.window.partition_key,
                metadata=window_metadata(bench, report.stage, done),
            )
        )


def _failures(report: StageReport) -> dg.Failure:
    shown = report.failed[:20]
    lines = "\n".join(
        f"| `{one.window.partition_key}` | {one.code} | {one.message} |" for one in shown
    )
    count, total = len(report.failed), len(report.failed) + len(report.done)
    return dg.Failure(
        description=f"{count} of {total} windows failed in {report.stage}: {shown[0].message}",
        metadata={
            "failed windows": count,
            "windows": dg.MetadataValue.md(f"| window | error | message |\n|---|---|---|\n{lines}"),
            "what next": "they are asked for again by themselves unless quarantined;"
            " materialise a partition to try it now, or `memclaw-etl skip WINDOW --reason ...`",
        },
        allow_retries=False,
    )


def _failure(error: MemclawError) -> dg.Failure:
    """Dagster never retries for us: what is owed is asked for again by the sensor."""
    del error.__traceback__, error.__context__
    retry = {Retry.NEVER: "no", Retry.LATER: "later, by itself", Retry.REREAD: "from the source"}
    return dg.Failure(
        description=failures.message_of(error),
        metadata={"error": error.code, "tried again": retry[error.retry]},
        allow_retries=False,
    )


def _check_results(
    stage: Stage, report: StageReport, findings: Sequence[Finding]
) -> list[dg.AssetCheckResult]:
    name = CHECK_OF_STAGE.get(stage)
    if name is None:
        return []
    return [
        dg.AssetCheckResult(
            check_name=name,
            passed=not findings,
            metadata={"windows": len(report.done), "findings": len(findings)},
            description="; ".join(finding.message for finding in findings[:3]) or None,
        )
    ]


def _show_nodes(context: dg.AssetExecutionContext, bench: Bench, windows: Sequence[Window]) -> None:
    """One materialization of `node_status` per node of this run, so that the UI plots each."""
    statuses: list[NodeStatus] = status_of(
        bench, {(window.tenant_id, window.node_id) for window in windows}
    )
    keys = [encode_node(status.tenant_id, status.node_id) for status in statuses]
    context.instance.add_dynamic_partitions(str(NODES.name), keys)
    for key, status in zip(keys, statuses, strict=True):
        context.log_event(
            dg.AssetMaterialization("node_status", partition=key, metadata=node_metadata(status))
        )
