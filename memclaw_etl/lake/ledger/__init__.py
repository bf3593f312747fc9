"""The ledger: the truth about what is owed, done and forgotten.

`Ledger.write()` opens a transaction; the functions of the modules here act inside one, so that a
caller decides what happens together.
"""

from memclaw_etl.lake.ledger import (
    batches,
    breakers,
    commit,
    decisions,
    failing,
    governance,
    leases,
    model_jobs,
    nodes,
    pins,
    reinterviews,
    results,
    reworded,
    shown,
    spending,
    statements,
    texts,
    tombstones,
    unfinished,
    windows,
)
from memclaw_etl.lake.ledger.database import Ledger, open_ledger, utc_now
from memclaw_etl.lake.ledger.leases import Holder
from memclaw_etl.lake.ledger.tables import ledger_frame
from memclaw_etl.lake.ledger.values import (
    PASSABLE,
    Claim,
    Node,
    Stage,
    StageFile,
    Watermark,
    Window,
    WindowState,
)

__all__ = [
    "PASSABLE",
    "Claim",
    "Holder",
    "Ledger",
    "Node",
    "Stage",
    "StageFile",
    "Watermark",
    "Window",
    "WindowState",
    "batches",
    "breakers",
    "commit",
    "decisions",
    "failing",
    "governance",
    "leases",
    "ledger_frame",
    "model_jobs",
    "nodes",
    "open_ledger",
    "pins",
    "reinterviews",
    "results",
    "reworded",
    "shown",
    "spending",
    "statements",
    "texts",
    "tombstones",
    "unfinished",
    "utc_now",
    "windows",
]
