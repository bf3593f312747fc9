"""The asset graph: five stages over windows, and each node's status. The table of contents."""

import warnings

from dagster import BetaWarning

# `backfill_policy` is marked beta; one run over many windows is what makes this affordable.
warnings.filterwarnings("ignore", category=BetaWarning, message=".*backfill_policy.*")
