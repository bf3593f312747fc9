"""Windows as rows of the ledger: all that is known of one when it is pinned."""

from collections.abc import Mapping, Sequence
from typing import Any

from memclaw_etl.lake.ledger import Ledger, Node
from memclaw_etl.lake.ledger.identifiers import attempt_id, window_id
from memclaw_etl.trails.events import Assembled
from memclaw_etl.trails.times import utc_time
from memclaw_etl.windows import keys
from memclaw_etl.windows.namespaces import project_of
from memclaw_etl.windows.plan import Cut
from memclaw_etl.windows.read import ReadLine, digest


def window_row(
    ledger: Ledger, node: Node, cut: Cut, lines: Sequence[ReadLine], assembled: Assembled
) -> Mapping[str, Any]:
    """A window's row: its place, its bytes, and what decoding counted in its lines."""
    start, last = cut.start, cut.last_seq
    key = keys.encode(
        keys.WindowKey(
            tenant_id=node.tenant_id, node_id=node.node_id, epoch=node.epoch,
            cursor_from=start.seq, from_part=start.part, cursor_to=last,
        )
    )  # fmt: skip
    attempt = attempt_id(node.node_id, start.seq, last, epoch=node.epoch, from_part=start.part)
    times = [at for event in assembled.events if (at := utc_time(event.ts)) is not None]
    return {
        "window_id": window_id(key),
        "partition_key": key,
        "attempt_id": attempt,
        "tenant_id": node.tenant_id,
        "node_id": node.node_id,
        "epoch": node.epoch,
        "cursor_from": start.seq,
        "from_part": start.part,
        "cursor_to": last,
        "byte_from": start.byte,
        "byte_to": cut.end.byte,
        "opens_line": start.open_line,
        "ends_open": cut.end.open_line,
        "end_part": cut.end.part,
        "sha256": digest(lines),
        "decoder_state": dict(node.decoder_state),
        "noise_lines": sum(assembled.noise.values()),
        "quarantined_lines": len(assembled.quarantined),
        "noise": {**assembled.noise, **assembled.odd_fields},
        "ts_first": min(times, default=None),
        "ts_last": max(times, default=None),
        "project": project_of(assembled.events),
        "pinned_at": ledger.now(),
    }
