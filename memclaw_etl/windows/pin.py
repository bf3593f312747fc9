"""Pinning one trail: read what is new, plan, and insert windows into the ledger."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

from sqlalchemy import Connection

from memclaw_etl.lake.ledger import (
    Claim,
    Ledger,
    Node,
    WindowState,
    commit,
    leases,
    nodes,
    pins,
)
from memclaw_etl.lake.ledger import windows as window_table
from memclaw_etl.settings import Limits, NamespaceSettings
from memclaw_etl.trails import decode
from memclaw_etl.trails.events import Assembled, Event, Position, TrailKind
from memclaw_etl.windows.namespaces import namespace_of
from memclaw_etl.windows.pin_rows import window_row
from memclaw_etl.windows.plan import Cut, LineFacts, plan
from memclaw_etl.windows.read import (
    ReadLine,
    closed,
    facts_of,
    fingerprints,
    last_buffer_seq,
    read_from,
    reading,
    state_of,
    stored_form,
    takeable,
)


@dataclass(slots=True)
class Pinned:
    """What pinning one trail did."""

    windows: int = 0
    """Windows that are owed now."""
    noise_windows: int = 0
    """Stretches without an event of their own, which the watermark passes."""
    pinned_noise_lines: int = 0
    pinned_quarantined_lines: int = 0
    read_bytes: int = 0
    at_end: bool = False
    """Nothing readable is left that a later plan could take without a change of the file."""
    settled: bool = False
    head_seq: int | None = None
    rewritten: str | None = None
    overtaken: bool = False
    """Another planner pinned first; its windows stand."""
    quarantined: int = 0
    torn: int = 0
    """Pieces of an unterminated last line that are no JSON yet: they wait."""
    records: int = 0
    noise: Counter[str] = field(default_factory=Counter)


def pin_trail(
    ledger: Ledger,
    node: Node,
    limits: Limits,
    *,
    still: bool,
    limit_bytes: int,
    namespaces: Sequence[NamespaceSettings] = (),
) -> tuple[Node, Pinned]:
    """Pin windows over everything new in a trail.

    Reading stops after `limit_bytes`, but not before something was pinned: whatever the budget and
    the length of the lines, each call gets further. Returns the node as it stands afterwards. Every
    pin is durable as soon as it is made: stopping at any point loses nothing.

    Raises:
        TrailUnreadableError: the trail cannot be opened or read.
        BusyError: the ledger stays locked.
    """
    with reading(node) as file:
        size = file.seek(0, os.SEEK_END)
        done = Pinned()
        if (why := _rewritten(file, node, size)) is not None:
            node = _open_epoch(ledger, node, why)
            done.rewritten = why
        start = closed(file, _frontier(node))
        node = _pin_lines(
            ledger, node, file, start, limits, done,
            still=still, limit_bytes=limit_bytes, namespaces=namespaces,
        )  # fmt: skip
    done.settled = done.at_end and not done.overtaken and (still or node.frontier_byte >= size)
    return node, done


def _frontier(node: Node) -> Position:
    return Position(
        seq=node.frontier_seq, part=node.frontier_part, byte=node.frontier_byte,
        open_line=node.frontier_open,
    )  # fmt: skip


def _rewritten(file: BinaryIO, node: Node, size: int) -> str | None:
    """Why the trail is not the one that the frontier belongs to, or None."""
    if node.frontier_byte == 0:
        return None
    if node.kind == TrailKind.BUFFER:
        return _restarted(file, node)
    if size < node.frontier_byte:
        return f"the trail shrank from {node.frontier_byte} to {size} bytes"
    head, tail = fingerprints(file, node.frontier_byte)
    if node.head_hash is not None and head != node.head_hash:
        return f"the first bytes of the trail changed (sha256 {head[:12]})"
    if node.tail_hash is not None and tail != node.tail_hash:
        return f"the bytes before offset {node.frontier_byte} changed (sha256 {tail[:12]})"
    return None


def _restarted(file: BinaryIO, node: Node) -> str | None:
    """Why a buffer is another one: its client lost its state, and counts again below our pins."""
    last, reached = last_buffer_seq(file), node.frontier_seq - (not node.frontier_open)
    if last is None or last >= reached:
        return None
    return f"the buffer ends at seq {last}, below seq {reached} that was read before"


def _open_epoch(ledger: Ledger, node: Node, why: str) -> Node:
    """Start the next epoch; windows of the old text that nobody has read yet are lost to it."""
    now = ledger.now()
    with ledger.write() as tx:
        if nodes.open_epoch(tx, node, now=now, why=why):
            lost = window_table.set_state(
                tx,
                _nobody_works_on(tx, node, now=now),
                WindowState.REWRITTEN,
                only_from=[WindowState.PINNED],
                reason=why,
            )
            pins.pass_on_claims(tx, lost)
        stored = nodes.get(tx, node.tenant_id, node.node_id)
    if stored is None:
        raise AssertionError("a node never leaves the ledger")
    return stored


def _nobody_works_on(tx: Connection, node: Node, *, now: datetime) -> list[str]:
    """Pinned windows of the node's epoch that no run holds: one that does may have read them."""
    leases.drop_dead(tx, now=now)
    old = window_table.of_node(tx, node.tenant_id, node.node_id, node.epoch)
    ids = [window.window_id for window in old if window.state is WindowState.PINNED]
    held = leases.held(tx, [leases.window_lease(one) for one in ids])
    return [one for one in ids if leases.window_lease(one) not in held]


def _pin_lines(
    ledger: Ledger,
    node: Node,
    file: BinaryIO,
    start: Position,
    limits: Limits,
    done: Pinned,
    *,
    still: bool,
    limit_bytes: int,
    namespaces: Sequence[NamespaceSettings],
) -> Node:
    kind = TrailKind(node.kind)
    state = state_of(node.decoder_state)
    lines: list[ReadLine] = []

    def facts() -> Iterator[LineFacts]:
        for line in read_from(kind, file, start, state):
            if done.read_bytes >= limit_bytes and done.windows + done.noise_windows:
                return
            lines.append(line)
            _note(done, line, still=still)
            done.at_end = not line.raw.terminated
            yield facts_of(line, message_chars=limits.message_chars, namespaces=namespaces)
        done.at_end = True

    header = namespace_of(state.project, namespaces) if state.project and namespaces else None
    for cut in plan(
        facts(), start, limits,
        still=still, at_end=lambda: done.at_end, header_namespace=header,
    ):  # fmt: skip
        mine, lines = lines[: cut.lines], lines[cut.lines :]
        assembled = decode.assemble(
            kind, [line.outcome for line in mine], state, file_session=node.file_session
        )
        moved = _pin_cut(ledger, node, file, cut, mine, assembled, done)
        if moved is None:
            done.overtaken = True
            return node
        node, state = moved, assembled.state
    return node


def _note(done: Pinned, line: ReadLine, *, still: bool) -> None:
    """Count what a line holds, whether a window takes it now or later."""
    done.read_bytes += line.outcome.byte_end - line.outcome.byte_start
    done.records += len(line.outcome.said)
    done.noise.update(line.outcome.noise)
    if line.raw.terminated or (still and takeable(line)):
        done.head_seq = line.outcome.seq
        done.quarantined += len(line.outcome.quarantined)
    else:
        done.torn += len(line.outcome.quarantined)


def _pin_cut(
    ledger: Ledger,
    node: Node,
    file: BinaryIO,
    cut: Cut,
    lines: Sequence[ReadLine],
    assembled: Assembled,
    done: Pinned,
) -> Node | None:
    head, tail = fingerprints(file, cut.end.byte)
    frontier: dict[str, Any] = {
        "frontier_seq": cut.end.seq,
        "frontier_part": cut.end.part,
        "frontier_byte": cut.end.byte,
        "frontier_open": cut.end.open_line,
        "decoder_state": stored_form(assembled.state),
        "head_hash": head,
        "tail_hash": tail,
    }
    row = window_row(ledger, node, cut, lines, assembled)
    with ledger.write() as tx:
        state = pins.pin(tx, node, row, _claims(assembled.events), frontier=frontier)
        if state is None:
            return None
        if state is WindowState.NOISE:
            commit.advance(tx, node.tenant_id, node.node_id, node.epoch, now=ledger.now())
    done.pinned_noise_lines += row["noise_lines"]
    done.pinned_quarantined_lines += row["quarantined_lines"]
    if state is WindowState.NOISE:
        done.noise_windows += 1
    else:
        done.windows += 1
    return replace(node, **frontier)


def _claims(events: Sequence[Event]) -> list[Claim]:
    return [Claim(identity=event.identity, seq=event.seq, part=event.part) for event in events]
