"""The plugin's capture buffer: one event a line, which carries its own seq.

The whole file is replaced when it is pruned, so only the seq of a record names its place, never its
line number. `renumber` therefore gives every line the seq of its records before windows are cut.
Texts are not shortened here, although the wire knows limits: masking comes before any cut.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from memclaw_etl.trails import known_fields
from memclaw_etl.trails.content import plain_string
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    Event,
    LineOutcome,
    Origin,
    Quarantined,
    RawLine,
    Role,
)
from memclaw_etl.trails.identity import exact_time, placed_identity, spoken_identity
from memclaw_etl.trails.lines import parse_records
from memclaw_etl.trails.outcome import odd_fields_of

_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")
_MAX_SEQ: Final = 2**63 - 1


def look(line: RawLine) -> LineOutcome:
    """Judge one physical line on its own. Pure; never raises. Text is raw.

    The seq of the outcome is that of its last record; `renumber` sets it for lines without one.
    """
    parsed = parse_records(line)
    said: list[Event] = []
    noise: list[str] = []
    lost = list(parsed.quarantined)
    seqs: list[int] = []
    odd_fields: list[str] = []
    for _, record in parsed.records:
        own_seq = _own_seq(record)
        if own_seq is None or not isinstance(record, dict):
            length = line.byte_end - line.byte_start
            lost.append(Quarantined(line.seq, line.byte_start, length, "no_seq"))
            continue
        odd_fields.extend(odd_fields_of(record, known_fields.BUFFER))
        seqs.append(own_seq)
        verdict = _judge(record, seq=own_seq)
        if isinstance(verdict, str):
            noise.append(verdict)
        else:
            said.append(verdict)
    return LineOutcome(
        seq=seqs[-1] if seqs else line.seq,
        first_part=line.first_part,
        next_part=parsed.next_part,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        terminated=line.terminated,
        whole=parsed.whole,
        said=tuple(said),
        noise=tuple(noise),
        quarantined=tuple(lost),
        own_seqs=(seqs[0], seqs[-1]) if seqs else None,
        odd_fields=tuple(odd_fields),
    )


def renumber(outcomes: Iterable[LineOutcome], *, last_seq: int | None) -> Iterator[LineOutcome]:
    """Give lines without an own seq that of the last good record, under the next part."""
    seq, part = last_seq if last_seq is not None else 0, 1
    for outcome in outcomes:
        if outcome.own_seqs:
            yield outcome
            seq, part = outcome.seq, outcome.next_part
            continue
        taken = max(outcome.next_part - outcome.first_part, 0)
        yield structs.replace(
            outcome,
            seq=seq,
            first_part=part,
            next_part=part + taken,
            quarantined=tuple(replace(lost, seq=seq) for lost in outcome.quarantined),
        )
        part += taken


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """The events of a window, holes counted (`seq_hole`, in missing seqs). Pure.

    A record whose seq is not above the one before is quarantined as `seq_restart`: the buffer was
    started again below its own end, and its new records need a new epoch.
    """
    last_seq = state.last_seq
    events: list[Event] = []
    noise: Counter[str] = Counter()
    quarantined: list[Quarantined] = []
    for outcome in renumber(outcomes, last_seq=last_seq):
        quarantined.extend(outcome.quarantined)
        if outcome.own_seqs is None:
            noise.update(outcome.noise)
            continue
        if last_seq is not None and outcome.seq <= last_seq:
            quarantined.append(_restart(outcome))
            continue
        if last_seq is not None and outcome.own_seqs[0] > last_seq + 1:
            noise["seq_hole"] += outcome.own_seqs[0] - last_seq - 1
        noise.update(outcome.noise)
        events.extend(
            _identified(event, file_session)
            for event in _events(outcome)
            if last_seq is None or event.seq > last_seq
        )
        last_seq = outcome.seq
    return Assembled(
        events=tuple(events),
        noise=dict(noise),
        quarantined=tuple(quarantined),
        state=replace(state, last_seq=last_seq),
    )


def _events(outcome: LineOutcome) -> Iterator[Event]:
    return (said for said in outcome.said if isinstance(said, Event))


def _restart(outcome: LineOutcome) -> Quarantined:
    length = outcome.byte_end - outcome.byte_start
    return Quarantined(outcome.seq, outcome.byte_start, length, "seq_restart")


def _own_seq(record: object) -> int | None:
    seq = record.get("seq") if isinstance(record, dict) else None
    if isinstance(seq, float) and seq.is_integer():
        seq = int(seq)
    if not isinstance(seq, int) or isinstance(seq, bool):
        return None
    return seq if 0 <= seq <= _MAX_SEQ else None


def _judge(record: dict[str, object], *, seq: int) -> Event | str:
    """The event of a record, or why it is noise."""
    content = record.get("content")
    text = content.strip() if isinstance(content, str) else ""
    if not text:
        return "empty"
    kind = record.get("kind")
    role = Role.USER if record.get("role") == "user" else Role.ASSISTANT
    ts, session = exact_time(record.get("ts")), plain_string(record.get("session_id"))
    identity = spoken_identity(role=role, ts=ts, session_id=session, text=text) if ts else ""
    return Event(
        seq=seq,
        part=0,
        ts=ts,
        ts_inferred=False,
        session_id=session,
        role=role,
        kind=kind if isinstance(kind, str) and _KIND.fullmatch(kind) else "message",
        content=text,
        identity=identity,
        origin=Origin.HUMAN if role is Role.USER else Origin.AGENT,
        tool=plain_string(record.get("tool")),
        outcome=plain_string(record.get("outcome")),
    )


def _identified(event: Event, file_session: str) -> Event:
    if event.identity:
        return event
    identity = placed_identity(
        file_session=file_session,
        seq=event.seq,
        part=event.part,
        role=event.role,
        text=event.content,
    )
    return structs.replace(event, identity=identity)
