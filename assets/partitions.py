"""Partition definitions, and the tags that tie a run to its batch in the ledger."""

import dagster as dg

WINDOWS = dg.DynamicPartitionsDefinition(name="windows")
"""One partition per pinned window that holds an event; keys by `memclaw_etl.windows.keys`."""

NODES = dg.DynamicPartitionsDefinition(name="nodes")
"""One partition per node, for `node_status`."""

BATCH_TAG = "memclaw/batch"
ASKED_BY_TAG = "memclaw/asked_by"
ASKED_HERE = "memclaw-etl run"
"""Who asked, when a run works in the process that asked for it."""
PARENT_RUN_TAG = "dagster/parent_run_id"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
NO_RETRY_TAGS = {"dagster/retry_on_asset_or_op_failure": "false", "dagster/max_retries": "0"}
"""The ledger decides what is retried; the daemon must not."""
