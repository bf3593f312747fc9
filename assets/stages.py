"""The five stages of a window, as assets. Each takes every window of its run."""

import dagster as dg

from assets.metadata import asset_metadata
from assets.partitions import NODES, WINDOWS
from assets.resources import Memclaw
from assets.rim import materialize
from memclaw_etl.lake.ledger import Stage

OWNERS = ["team:memclaw"]
GROUP = "interview"
_ONE_RUN = dg.BackfillPolicy.single_run()


@dg.asset(
    partitions_def=WINDOWS, backfill_policy=_ONE_RUN, group_name=GROUP, owners=OWNERS,
    kinds={"polars", "parquet"}, tags={"stage": "1", "text": "masked"},
    metadata=asset_metadata(Stage.MASKED_CHUNKS),
    check_specs=[
        dg.AssetCheckSpec(
            "no_leak", asset="masked_chunks",
            description="The masker finds nothing in what was stored.",
        )
    ],
)  # fmt: skip
def masked_chunks(context: dg.AssetExecutionContext, memclaw: Memclaw) -> dg.MaterializeResult:
    """The window's prompts and replies, masked and cut into chunks for the interviewer.

    Reads exactly the bytes that were pinned (their SHA-256 is checked) and never writes unmasked
    text. Only events that this window owns are in it: copies in forks and resumed sessions count
    as replayed. One Parquet file per window, one row per event and chunk. A window whose bytes
    changed is *rewritten* and not tried again; one whose trail cannot be read now is tried later.
    """
    return materialize(context, memclaw.bench, Stage.MASKED_CHUNKS)


@dg.asset(
    deps=[masked_chunks], partitions_def=WINDOWS, backfill_policy=_ONE_RUN, group_name=GROUP,
    owners=OWNERS, kinds={"parquet"}, tags={"stage": "2", "text": "masked"},
    metadata=asset_metadata(Stage.MINI_REPORTS),
    check_specs=[
        dg.AssetCheckSpec(
            "no_leak", asset="mini_reports",
            description="The masker finds nothing in what the interviewer said.",
        )
    ],
)  # fmt: skip
def mini_reports(context: dg.AssetExecutionContext, memclaw: Memclaw) -> dg.MaterializeResult:
    """What the interviewer says of each chunk: items in six sections, each citing its events.

    Evidence, times and session ids are checked against the chunk, never trusted. An interviewer
    that is down fails the partition; the window stays owed and nothing is consumed.
    """
    return materialize(context, memclaw.bench, Stage.MINI_REPORTS)


@dg.asset(
    deps=[mini_reports], partitions_def=WINDOWS, backfill_policy=_ONE_RUN, group_name=GROUP,
    owners=OWNERS, kinds={"parquet"}, tags={"stage": "3", "text": "masked"},
    metadata=asset_metadata(Stage.MERGED_REPORT),
    check_specs=[
        dg.AssetCheckSpec(
            "evidence_grounded", asset="merged_report",
            description="Every item cites events that its window owns, and none holds a secret.",
        )
    ],
)  # fmt: skip
def merged_report(context: dg.AssetExecutionContext, memclaw: Memclaw) -> dg.MaterializeResult:
    """The window's items: the mini-reports joined, repeats united with all their evidence.

    Items belong to their window and are replaced as a whole. `joined` and `capped` say what became
    of the others; nothing is dropped silently.
    """
    return materialize(context, memclaw.bench, Stage.MERGED_REPORT)


@dg.asset(
    deps=[merged_report], partitions_def=WINDOWS, backfill_policy=_ONE_RUN, group_name=GROUP,
    owners=OWNERS, kinds={"lancedb"}, tags={"stage": "4", "text": "masked"},
)  # fmt: skip
def memories(context: dg.AssetExecutionContext, memclaw: Memclaw) -> dg.MaterializeResult:
    """The memory index, brought in line with the live items of everything this run touched.

    A memory is resolved from all live items that say the same in one scope, whichever windows they
    come from. The index is derived: `memclaw-etl rebuild` makes it anew. One commit per run.
    """
    return materialize(context, memclaw.bench, Stage.MEMORIES)


@dg.asset(
    deps=[memories], partitions_def=WINDOWS, backfill_policy=_ONE_RUN, group_name=GROUP,
    owners=OWNERS, kinds={"sqlite"}, tags={"stage": "5", "text": "none"},
    check_specs=[
        dg.AssetCheckSpec(
            "watermark_matches_commits", asset="watermark",
            description="Each watermark is the end of the contiguous run of finished windows.",
        )
    ],
)  # fmt: skip
def watermark(context: dg.AssetExecutionContext, memclaw: Memclaw) -> dg.MaterializeResult:
    """The commit, last of all: windows become done and each node's watermark moves forward.

    One ledger transaction for all windows of the run. Windows that are done ahead of a gap are
    *held*: their memories can be recalled, only the watermark waits for the gap.
    """
    return materialize(context, memclaw.bench, Stage.WATERMARK)


node_status = dg.AssetSpec(
    "node_status",
    deps=[watermark],
    partitions_def=NODES,
    group_name=GROUP,
    owners=OWNERS,
    kinds={"sqlite"},
    tags={"text": "none"},
    description=(
        "One node (a capture stream, usually one transcript file) after each run that touched it:"
        " last_seq, head_seq, lag, windows by state, memories and masked spans, plotted over time."
        " It is written by the run that commits; there is nothing to materialise here."
    ),
)

STAGES = [masked_chunks, mini_reports, merged_report, memories, watermark]
