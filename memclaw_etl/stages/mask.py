"""masked_chunks: trail lines -> masked events, cut into chunks."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from memclaw_etl.errors import InvariantError, TrailRewrittenError, TrailUnreadableError
from memclaw_etl.interview.chunks import Chunk, cut_chunks
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.lake.frames import MASKED_CHUNKS
from memclaw_etl.lake.ledger import Node, Stage, StageFile, Window, nodes, pins, results
from memclaw_etl.masking import Masked, MaskSession
from memclaw_etl.settings import Limits
from memclaw_etl.stages import open_tags
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import keep, stands, unchanged
from memclaw_etl.stages.left_out import left_out
from memclaw_etl.stages.report import Done
from memclaw_etl.trails.events import Branch, Event, unknown_of
from memclaw_etl.trails.times import utc_time
from memclaw_etl.windows.read import read_window

WORD_CHARS = 600
"""A cut goes back to the white space before it, at most this far: half a secret is in no rule."""

SHORT_FIELD_CHARS = 200
"""Cap of tool and outcome, applied after masking (the wire's limit)."""

DECODER_VERSION = "2"
"""Part of the stage's input hash: raise it when the same lines would give other events."""


@dataclass(frozen=True, slots=True)
class _Masked:
    """A masked event with what the frame keeps beside it."""

    event: MaskedEvent
    identity: str
    chars_before_cut: int
    spans: int


@dataclass(frozen=True, slots=True)
class _Texts:
    """The masked texts of one event by column, and what was found in them by kind."""

    by_name: dict[str, str]
    masked: Counter[str]
    flagged: Counter[str]

    @classmethod
    def of(cls, first: Mapping[str, Masked], session: MaskSession) -> "_Texts":
        """Look once more, for what the session has learned since."""
        again = {name: session.mask_known(one.text) for name, one in first.items()}
        found = [
            finding.kind for one in (*first.values(), *again.values()) for finding in one.findings
        ]
        flagged = [finding.kind for one in first.values() for finding in one.flagged]
        texts = {name: one.text for name, one in again.items()}
        return cls(texts, Counter(found), Counter(flagged))

    @property
    def content(self) -> str:
        """The message; empty when it was private from end to end."""
        return self.by_name["content"].strip()


@dataclass(slots=True)
class _Tally:
    """What masking a window found. Numbers by kind, never text."""

    masked: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    private_messages: int = 0

    def add(self, texts: _Texts) -> None:
        """Count what one event held."""
        self.masked += texts.masked
        self.flagged += texts.flagged


def mask_window(bench: Bench, window: Window) -> Done:
    """Read exactly the pinned lines, mask every message whole, cut into chunks, and store them.

    Only events that the window owns are kept; copies in forks and resumed sessions are replays.
    Events that a person had erased are left out, and so are those that say the same.
    When the trail is gone or was rewritten since, the window's own stored file stands.

    Raises:
        TrailUnreadableError: the trail cannot be read, and nothing is stored yet.
        TrailRewrittenError: the pinned bytes are gone, and nothing is stored yet.
    """
    with bench.ledger.read() as tx:
        owned = pins.owned_events(tx, window.window_id)
        node = nodes.get(tx, window.tenant_id, window.node_id)
        stored = results.current(tx, [window.window_id], Stage.MASKED_CHUNKS)
        erased = left_out(tx, window.tenant_id)
    if node is None:
        raise InvariantError(f"window {window.partition_key} has no node")
    limits = bench.settings.limits
    input_hash = input_hash_of(
        window, sorted(owned), limits,
        masker_version=bench.masker.version, personal_data=bench.personal_data(window.tenant_id),
    )  # fmt: skip
    before = stored.get(window.window_id)
    if before is not None and stands(bench, before, input_hash=input_hash):
        return unchanged(window, before)
    try:
        events = _owned_events(node, window, set(owned))
    except (TrailUnreadableError, TrailRewrittenError):
        if before is None or not bench.files.is_intact(before.path, before.content_hash):
            raise
        return unchanged(window, before)
    events = [event for event in events if not erased.rests_on([event.identity])]
    tally = _Tally()
    masked = _mask_all(bench.mask_session(window.tenant_id), events, limits, tally)
    masked = [one for one in masked if not erased.says(one.event.content, one.event.outcome)]
    return _store(bench, window, masked, tally, input_hash=input_hash)


def input_hash_of(
    window: Window,
    owned: Sequence[tuple[int, int]],
    limits: Limits,
    *,
    masker_version: str,
    personal_data: str,
) -> str:
    """The hash of everything that this stage's result depends on."""
    parts: tuple[Any, ...] = (
        DECODER_VERSION, masker_version, str(personal_data), window.sha256, owned,
        limits.chunk_chars, limits.message_chars, limits.context_events,
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
    session: MaskSession, events: Sequence[Event], limits: Limits, tally: _Tally
) -> list[_Masked]:
    """Mask messages whole, then cap them; those that are private from end to end are dropped.

    A secret that a later message gives away is taken out of the earlier ones, too.
    """
    session.continue_after(event.content for event in events)
    raw = [
        _texts_of(event, content)
        for event, content in zip(events, open_tags.contents(events), strict=True)
    ]
    first = [{name: session.mask(text) for name, text in texts.items()} for texts in raw]
    done = [_Texts.of(texts, session) for texts in first]
    for texts in done:
        tally.add(texts)
    kept = [
        _masked_event(event, texts, limits)
        for event, texts in zip(events, done, strict=True)
        if texts.content
    ]
    tally.private_messages = len(events) - len(kept)
    return kept


def _texts_of(event: Event, content: str) -> dict[str, str]:
    """The texts of an event that are stored, by the name of their column."""
    texts = {
        "content": content, "session_id": event.session_id, "kind": event.kind,
        "tool": event.tool, "outcome": event.outcome,
    }  # fmt: skip
    return {name: text for name, text in texts.items() if text is not None}


def _masked_event(event: Event, texts: _Texts, limits: Limits) -> _Masked:
    return _Masked(
        event=MaskedEvent(
            seq=event.seq,
            part=event.part,
            ts=utc_time(event.ts),
            ts_inferred=event.ts_inferred,
            session_id=texts.by_name.get("session_id"),
            role=str(event.role),
            kind=texts.by_name["kind"] or str(event.role),
            origin=str(event.origin),
            content=cut(texts.content, limits.message_chars),
            tool=_capped(texts.by_name.get("tool")),
            outcome=_capped(texts.by_name.get("outcome")),
            branch=str(event.branch),
        ),
        identity=event.identity,
        chars_before_cut=len(texts.content),
        spans=texts.masked.total(),
    )


def _capped(text: str | None) -> str | None:
    return cut(text, SHORT_FIELD_CHARS) if text is not None else None


def cut(text: str, chars: int) -> str:
    """Cap a masked text, if need be at the last white space: no mark and no secret is halved.

    Rules get better: what today's do not see must still be whole, or gone, when `remask` looks.
    """
    if len(text) <= chars:
        return text
    head = text[:chars]
    if text[chars].isspace():
        return head.rstrip()
    whole = head.rstrip() if head[-1].isspace() else head[: _last_space(head) + 1].rstrip()
    return whole if len(head) - len(whole) <= WORD_CHARS and whole else head


def _last_space(text: str) -> int:
    """Where the last white space stands; -1 without any."""
    return max((text.rfind(space) for space in " \n\t\r"), default=-1)


def _store(
    bench: Bench, window: Window, masked: Sequence[_Masked], tally: _Tally, *, input_hash: str
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
        "masked_spans": tally.masked.total(),
        "masked_kinds": dict(sorted(tally.masked.items())),
        "flagged_kinds": dict(sorted(tally.flagged.items())),
        "private_messages": tally.private_messages,
        "cut_messages": sum(one.chars_before_cut > limits.message_chars for one in masked),
        "replayed": window.replayed,
        "rewound": sum(one.event.branch == Branch.REWOUND for one in masked),
        "unknown lines": unknown_of(window.noise),
        "masker_version": bench.masker.version,
        "personal_data": str(bench.personal_data(window.tenant_id)),
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
                    event.branch,
                )  # fmt: skip


def read_chunks(bench: Bench, file: StageFile) -> list[Chunk]:
    """The chunks of a stored file."""
    events: dict[int, tuple[list[MaskedEvent], list[MaskedEvent]]] = {}
    for row in bench.files.read(file.path).iter_rows(named=True):
        context, own = events.setdefault(row["chunk_index"], ([], []))
        (context if row["context"] else own).append(
            MaskedEvent(
                **{name: row[name] for name in MaskedEvent.__dataclass_fields__ & row.keys()}
            )
        )
    return [
        Chunk(index=index, events=tuple(own), context=tuple(context))
        for index, (context, own) in sorted(events.items())
    ]
