"""Nodes and windows for tests of the ledger, without any trail."""

from collections.abc import Sequence
from dataclasses import replace

from memclaw_etl.lake.ledger import (
    Claim,
    Holder,
    Ledger,
    Node,
    Stage,
    StageFile,
    Window,
    WindowState,
    batches,
    commit,
    nodes,
    pins,
    results,
    windows,
)
from memclaw_etl.lake.ledger.identifiers import attempt_id, window_id
from memclaw_etl.windows import keys


def add_node(
    ledger: Ledger, node_id: str = "cc:m:one", *, tenant_id: str = "default", path: str = ""
) -> Node:
    path = path or f"/trails/{tenant_id}/{node_id}.jsonl"
    row = {
        "tenant_id": tenant_id, "node_id": node_id, "kind": "claude_code", "path": path,
        "real_path": path, "root": "/trails", "file_session": node_id, "fleet_id": None,
        "agent_id": "agent-7", "epoch": 0, "frontier_seq": 0, "frontier_part": 0,
        "frontier_byte": 0, "frontier_open": False, "decoder_state": {}, "settled": False,
        "at_end": False, "created_at": ledger.now(),
    }  # fmt: skip
    with ledger.write() as tx:
        return nodes.register(tx, row)


def window_row(ledger: Ledger, node: Node, *, lines: int, ends_open: bool = False) -> dict:
    start, last = node.frontier_seq, node.frontier_seq + lines - 1
    key = keys.encode(
        keys.WindowKey(
            tenant_id=node.tenant_id, node_id=node.node_id, epoch=node.epoch, cursor_from=start,
            from_part=node.frontier_part, cursor_to=last,
        )
    )  # fmt: skip
    return {
        "window_id": window_id(key), "partition_key": key,
        "attempt_id": attempt_id(node.node_id, start, last, epoch=node.epoch),
        "tenant_id": node.tenant_id, "node_id": node.node_id, "epoch": node.epoch,
        "cursor_from": start, "from_part": node.frontier_part, "cursor_to": last,
        "byte_from": node.frontier_byte, "byte_to": node.frontier_byte + 100 * lines,
        "opens_line": node.frontier_open, "ends_open": ends_open,
        "end_part": node.frontier_part + 1 if ends_open else 0,
        "sha256": "0" * 64, "decoder_state": {}, "noise_lines": 0, "quarantined_lines": 0,
        "noise": {}, "ts_first": None, "ts_last": None, "project": None,
        "pinned_at": ledger.now(),
    }  # fmt: skip


def frontier_behind(row: dict) -> dict:
    ends_open = row["ends_open"]
    return {
        "frontier_seq": row["cursor_to"] + (not ends_open), "frontier_part": row["end_part"],
        "frontier_byte": row["byte_to"], "frontier_open": ends_open, "decoder_state": {},
        "head_hash": "h", "tail_hash": "t",
    }  # fmt: skip


def try_pin(
    ledger: Ledger,
    node: Node,
    events: Sequence[str] | None = None,
    *,
    lines: int = 10,
    ends_open: bool = False,
) -> tuple[WindowState | None, dict, Node]:
    """Pin the next window of a node; `events` are identities, by default one of its own."""
    row = window_row(ledger, node, lines=lines, ends_open=ends_open)
    chosen = [f"uuid:{row['window_id']}"] if events is None else events
    claims = [
        Claim(identity=identity, seq=row["cursor_from"], part=row["from_part"] + number)
        for number, identity in enumerate(chosen)
    ]
    frontier = frontier_behind(row)
    with ledger.write() as tx:
        state = pins.pin(tx, node, row, claims, frontier=frontier)
    return state, row, replace(node, **frontier) if state is not None else node


def pin(
    ledger: Ledger, node: Node, events: Sequence[str] | None = None, **fields: object
) -> tuple[Node, Window]:
    state, row, moved = try_pin(ledger, node, events, **fields)  # type: ignore[arg-type]
    assert state is not None
    return moved, window(ledger, row["partition_key"])


def pin_many(ledger: Ledger, count: int, node: Node | None = None) -> list[Window]:
    node = node or add_node(ledger)
    found = []
    for _ in range(count):
        node, one = pin(ledger, node)
        found.append(one)
    return found


def window(ledger: Ledger, partition_key: str) -> Window:
    with ledger.read() as tx:
        return windows.by_keys(tx, [partition_key])[0]


def again(ledger: Ledger, one: Window) -> Window:
    """The window as it stands now."""
    return window(ledger, one.partition_key)


def owed_keys(ledger: Ledger, *, limit: int = 100, endpoint: str | None = None) -> list[str]:
    needs = [endpoint] if endpoint else []
    with ledger.read() as tx:
        found = windows.owed(tx, now=ledger.now(), limit=limit, needs=needs)
    return [one.partition_key for one in found]


def ask(ledger: Ledger, asked: Sequence[Window], *, deadline_s: float = 900) -> str:
    with ledger.write() as tx:
        return batches.ask(
            tx, asked, asked_by="test", interviewer="heuristic", now=ledger.now(),
            deadline_s=deadline_s,
        )  # fmt: skip


def take(
    ledger: Ledger,
    batch_id: str,
    run: str | Holder = "run-1",
    *,
    by_person: bool = False,
    lease_s: float = 120,
) -> list[Window]:
    holder = run if isinstance(run, Holder) else Holder.here(run)
    with ledger.write() as tx:
        return batches.take(
            tx, batch_id=batch_id, holder=holder, now=ledger.now(), lease_s=lease_s,
            by_person=by_person,
        )  # fmt: skip


def take_keys(
    ledger: Ledger, chosen: Sequence[Window], run: str = "by-hand", *, lease_s: float = 120
) -> list[Window]:
    with ledger.write() as tx:
        return batches.take_keys(
            tx, [one.partition_key for one in chosen], holder=Holder.here(run), now=ledger.now(),
            lease_s=lease_s,
        )  # fmt: skip


def commit_all(ledger: Ledger, done: Sequence[Window], run: str = "run-1") -> list[str]:
    with ledger.write() as tx:
        return commit.commit(tx, done, run_id=run, now=ledger.now())


def do(ledger: Ledger, chosen: Sequence[Window], run: str = "run-1") -> None:
    """Ask for windows, take them, and commit them."""
    commit_all(ledger, take(ledger, ask(ledger, chosen), run), run)


def last_seq(ledger: Ledger, node: Node) -> int | None:
    with ledger.read() as tx:
        mark = commit.watermark(tx, node.tenant_id, node.node_id, node.epoch)
    return mark.last_seq if mark else None


def note_file(ledger: Ledger, one: Window, stage: Stage = Stage.MASKED_CHUNKS) -> StageFile:
    file = StageFile(
        window_id=one.window_id, stage=str(stage), path=f"{stage}/{one.window_id}.parquet",
        input_hash="i", content_hash="c", row_count=1, counts={"events": 1},
        created_at=ledger.now(),
    )  # fmt: skip
    with ledger.write() as tx:
        results.set_current(tx, file)
    return file


def owned(ledger: Ledger, one: Window) -> list[str]:
    with ledger.read() as tx:
        return sorted(pins.owned_events(tx, one.window_id).values())
