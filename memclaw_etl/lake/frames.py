"""Schemas of the stage files. Every text in them is masked.

`EVIDENCE` entries are (seq, part) of the window's own node and epoch.
"""

import polars as pl
from polars.datatypes import DataType, DataTypeClass

_Columns = dict[str, DataType | DataTypeClass]

UTC_TIME: DataType = pl.Datetime("us", "UTC")
EVIDENCE: DataType = pl.List(pl.Struct({"seq": pl.Int64, "part": pl.Int32}))
FLAGS: DataType = pl.List(pl.String)
"""What is doubtful about an item: figures or names that its evidence does not hold."""

_MASKED_CHUNKS: _Columns = {
    "chunk_index": pl.Int32,
    "context": pl.Boolean,  # an earlier event, for understanding only; never evidence
    "seq": pl.Int64,
    "part": pl.Int32,
    "ts": UTC_TIME,
    "ts_inferred": pl.Boolean,
    "session_id": pl.String,
    "role": pl.String,
    "kind": pl.String,
    "origin": pl.String,
    "content": pl.String,
    "tool": pl.String,
    "outcome": pl.String,
    "identity": pl.String,
    "chars_before_cut": pl.Int64,  # characters of the masked message before the cap
    "masked_spans": pl.Int32,
    "branch": pl.String,  # main, rewound (left behind by going back), restart (what leaves it)
}
MASKED_CHUNKS = pl.Schema(_MASKED_CHUNKS)
"""One row per masked event and chunk, in trail order."""

_MINI_REPORTS: _Columns = {
    "chunk_index": pl.Int32,
    "section": pl.String,
    "summary": pl.String,
    "rationale": pl.String,
    "alternative": pl.String,
    "result": pl.String,
    "ts_start": UTC_TIME,
    "ts_end": UTC_TIME,
    "session_id": pl.String,
    "evidence": EVIDENCE,
    "importance": pl.Int8,  # which items stay first where a section has too many
    "flags": FLAGS,
}
MINI_REPORTS = pl.Schema(_MINI_REPORTS)
"""One row per item of a chunk's report, in the interviewer's order."""

_ITEMS: _Columns = {
    "item_id": pl.String,
    "window_id": pl.String,
    "window_key": pl.String,
    "attempt_id": pl.String,
    "tenant_id": pl.String,
    "fleet_id": pl.String,
    "node_id": pl.String,
    "agent_id": pl.String,
    "epoch": pl.Int32,
    "namespace": pl.String,
    "section": pl.String,
    "memory_type": pl.String,
    "title": pl.String,
    "content": pl.String,
    "session_id": pl.String,
    "ts_start": UTC_TIME,
    "ts_end": UTC_TIME,
    "evidence": EVIDENCE,
    "chunk_index": pl.Int32,
    "interviewer": pl.String,
    "prompt_version": pl.String,
    "model": pl.String,
    "masker_version": pl.String,
    "flags": FLAGS,
    "nearby": pl.String,  # words of the events around the evidence, for search
    "source_kind": pl.String,
    "hint": pl.Int8,  # the interviewer's opinion of its importance
    "identities": pl.List(pl.String),  # of the events of the evidence
}
ITEMS = pl.Schema(_ITEMS)
"""One row per item of a window, in the merged report's order."""
