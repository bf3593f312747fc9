"""Jobs over the stages."""

import dagster as dg

from assets.partitions import NO_RETRY_TAGS
from assets.stages import STAGES

interview_windows = dg.define_asset_job(
    "interview_windows",
    selection=dg.AssetSelection.assets(*STAGES),
    executor_def=dg.in_process_executor,
    tags=NO_RETRY_TAGS,
    description="Takes windows from trail lines to committed memories. The sensor starts it for"
    " what is owed; start it yourself by materialising partitions.",
)
