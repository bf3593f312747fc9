"""masked_chunks: trail lines -> masked events, cut into chunks."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from memclaw_etl.errors import InvariantError, TrailRewrittenError, TrailUnreadableError
from memclaw_etl.interview.chunks import Chunk, cut_chunks
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.lake.frames import MASKED_CHUNKS
from memclaw_etl.lake.ledger import Node, Stage, StageFile, Window, nodes, pins, results
from memclaw_etl.masking import MASKER_VERSION, MaskSession
from memclaw_etl.settings import Limits
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import keep, stands, unchanged
from memclaw_etl.stages.report import Done
from memclaw_etl.trails.events import Event
from memclaw_etl.trails.times import utc_time
from memclaw_etl.windows.read import read_window

SHORT_FIELD_CHARS = 200
"""Cap of tool and outcome, applied after masking (the wire's limit)."""

DECODER_VERSION = "1"
"""Part of the stage's input hash: raise it when the same lines would give other events."""


@dataclass(frozen=True, slots=True)
class _Masked:
    """A masked event with what the frame keeps beside it."""

    event: MaskedEvent
    identity: str
    chars_before_cut: int
    spans: int


def mask_window(bench: Bench, window: Window) -> Done:
    """Read exactly the pinned lines, mask every message whole, cut into chunks, and store them.

    Only events that the window owns are kept; copies in forks and resumed sessions are replays.
    When the trail is gone or was rewritten since, the window's own stored file stands.

    Raises:
        TrailUnreadableError: the trail cannot be read, and nothing is stored yet.
        TrailRewrittenError: the pinned bytes are gone, and nothing is stored yet.
    """
    with bench.ledger.read() as tx:
        owned = pins.owned_events(tx, window.window_id)
        node = nodes.get(tx, window.tenant_id, window.node_id)
        stored = results.current(tx, [window.window_id], Stage.MASKED_CHUNKS)
    if node is None:
        raise InvariantError(f"window {window.partition_key} has no node")
    limits = bench.settings.limits
    input_hash = _input_hash(window, sorted(owned), limits)
    before = stored.get(window.window_id)
    if before is not None and stands(bench, before, input_hash=input_hash):
        return unchanged(window, before)
    try:
        events = _owned_events(node, window, set(owned))
    except (TrailUnreadableError, TrailRewrittenError):
        if before is None or not bench.files.is_intact(before.path, before.content_hash):
            raise
        return unchanged(window, before)
    masked, private = _mask_all(bench.masker.session(), events, limits)
    return _store(bench, window, masked, input_hash=input_hash, private=private)


def _input_hash(window: Window, owned: Sequence[tuple[int, int]], limits: Limits) -> str:
    parts: tuple[Any, ...] = (
        DECODER_VERSION, MASKER_VERSION, window.sha256, owned, limits.chunk_chars,
        limits.message_chars, limits.context_events,
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _owned_events(node: Node, window: Window, owned: set[tuple[int, int]]) -> list[Event]:
    events = read_window(node, window).events
    mine = [event for event in events if (event.seq, event.part) in owned]
    if len(mine) != len(owned):
        raise InvariantError(
            f"window {window.partition_key} owns {len(owned)} events, its lines hold {len(mine)}"
            " of them; was the decoder changed without a new DECODER_VERSION?"
        )
    return mine


def _mask_all(
    session: MaskSession, events: Sequence[Event], limits: Limits
) -> tuple[list[_Masked], int]:
    """Mask messages whole, then cap them. Also says how many were private from end to end."""
    masked = [_mask(session, event, limits) for event in events]
    kept = [one for one in masked if one is not None]
    return kept, len(masked) - len(kept)


def _mask(session: MaskSession, event: Event, limits: Limits) -> _Masked | None:
    content = session.mask(event.content)
    text = content.text.strip()
    if not text:
        return None
    short = {
        name: session.mask(value).text if value is not None else None
        for name, value in (
            ("session_id", event.session_id), ("tool", event.tool), ("outcome", event.outcome),
        )
    }  # fmt: skip
    return _Masked(
        event=MaskedEvent(
            seq=event.seq,
            part=event.part,
            ts=utc_time(event.ts),
            ts_inferred=event.ts_inferred,
            session_id=short["session_id"],
            role=str(event.role),
            kind=event.kind,
            origin=str(event.origin),
            content=text[: limits.message_chars],
            tool=_capped(short["tool"]),
            outcome=_capped(short["outcome"]),
        ),
        identity=event.identity,
        chars_before_cut=len(text),
        spans=len(content.findings),
    )


def _capped(text: str | None) -> str | None:
    return text[:SHORT_FIELD_CHARS] if text is not None else None


def _store(
    bench: Bench, window: Window, masked: Sequence[_Masked], *, input_hash: str, private: int
) -> Done:
    limits = bench.settings.limits
    chunks = cut_chunks(
        [one.event for one in masked],
        budget_chars=limits.chunk_chars,
        context_events=limits.context_events,
    )
    beside = {one.event.ref: one for one in masked}
    frame = pl.DataFrame(list(_rows(chunks, beside)), schema=MASKED_CHUNKS, orient="row")
    counts = {
        "events": len(masked),
        "chunks": len(chunks),
        "chars": sum(len(one.event.content) for one in masked),
        "masked_spans": sum(one.spans for one in masked),
        "private_messages": private,
        "cut_messages": sum(one.chars_before_cut > limits.message_chars for one in masked),
        "replayed": window.replayed,
        "masker_version": MASKER_VERSION,
    }
    return keep(
        bench, window, Stage.MASKED_CHUNKS, frame, MASKED_CHUNKS,
        input_hash=input_hash, counts=counts,
    )  # fmt: skip


def _rows(
    chunks: Sequence[Chunk], beside: dict[tuple[int, int], _Masked]
) -> Iterator[tuple[object, ...]]:
    for chunk in chunks:
        for is_context, events in ((True, chunk.context), (False, chunk.events)):
            for event in events:
                extra = beside[event.ref]
                yield (
                    chunk.index, is_context, event.seq, event.part, event.ts, event.ts_inferred,
                    event.session_id, event.role, event.kind, event.origin, event.content,
                    event.tool, event.outcome, extra.identity, extra.chars_before_cut, extra.spans,
                )  # fmt: skip


def read_chunks(bench: Bench, file: StageFile) -> list[Chunk]:
    """The chunks of a stored file."""
    events: dict[int, tuple[list[MaskedEvent], list[MaskedEvent]]] = {}
    for row in bench.files.read(file.path).iter_rows(named=True):
        context, own = events.setdefault(row["chunk_index"], ([], []))
        (context if row["context"] else own).append(
            MaskedEvent(**{name: row[name] for name in MaskedEvent.__dataclass_fields__})
        )
    return [
        Chunk(index=index, events=tuple(own), context=tuple(context))
        for index, (context, own) in sorted(events.items())
    ]
