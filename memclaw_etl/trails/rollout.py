"""What the lines of one Codex window mean together: copies, forks, subagents, identity.

A fork tells its parent's history again first, with new times. An event is therefore known by what
was said before it: its identity is a hash of all words since the start of the session that the
history comes from. A fork's copy has the identity of the original, whichever of them is read first.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from msgspec import structs

from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    Event,
    Header,
    LineOutcome,
    Quarantined,
)
from memclaw_etl.trails.identity import chained_identity, text_hash
from memclaw_etl.trails.times import utc_time

_KEPT_TEXTS: Final = 16
_BURST: Final = timedelta(seconds=2)
"""History is told again in one go: a longer pause between two lines ends it."""


@dataclass(slots=True)
class _Window:
    """The rollout while its lines are read."""

    file_session: str
    state: DecoderState
    events: list[Event] = field(default_factory=list)
    noise: Counter[str] = field(default_factory=Counter)
    copies: dict[str, Counter[str]] = field(default_factory=dict)
    """Text hash -> how often each kind of copy told it; `given`: how often it became an event."""

    def take_time(self, ts: str | None) -> None:
        """Notice when the telling again is over."""
        if ts is None:
            return
        before, now = utc_time(self.state.last_ts), utc_time(ts)
        if self.state.forked_from and before and now and now - before > _BURST:
            self.state = replace(self.state, forked_from=None)
        self.state = replace(self.state, last_ts=ts)

    def take_header(self, header: Header) -> None:
        """The file's own header comes first; those of the history that it tells again follow."""
        state = self.state
        if state.own_session is None:
            state = replace(
                state,
                own_session=header.session_id or self.file_session,
                forked_from=header.forked_from,
                side=header.side,
                session_id=header.forked_from or header.session_id,
            )
        elif state.forked_from is not None and header.session_id:
            state = replace(state, session_id=header.session_id)
        root = state.session_id if not self.state.chain or not self.has_spoken else None
        chain = chained_identity("", root) if root else state.chain
        self.state = replace(state, chain=chain, project=header.project or state.project)

    @property
    def has_spoken(self) -> bool:
        """Whether something was said already, in this window or before."""
        return bool(self.copies)

    def take_event(self, event: Event) -> None:
        """Add an event, unless it is the other copy of one."""
        if not self._is_first_copy(event):
            self.noise["stored_twice"] += 1
            return
        state = self.state
        before = state.chain or chained_identity("", self.file_session)
        identity = chained_identity(before, event.role, event.content)
        self.state = replace(state, chain=identity)
        if state.side:
            self.noise["sidechain"] += 1
            return
        told_again = state.forked_from is not None
        session = state.session_id if told_again else state.own_session
        self.events.append(
            structs.replace(
                event,
                session_id=session or self.file_session,
                ts_inferred=told_again and event.ts is not None,
                project=state.project,
                identity=identity,
                source="",
            )
        )

    def _is_first_copy(self, event: Event) -> bool:
        key = text_hash(f"{event.role}\n{' '.join(event.content.split())}")
        counts = self.copies.pop(key, None) or Counter()
        self.copies[key] = counts  # the last one told stands last
        while len(self.copies) > _KEPT_TEXTS:
            del self.copies[next(iter(self.copies))]
        counts[event.source] += 1
        if counts[event.source] <= counts["given"]:
            return False
        counts["given"] += 1
        return True


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Turn the looked-at lines of a window into its events. Pure."""
    window = _Window(file_session, state, copies=_stored_copies(state.recent))
    quarantined: list[Quarantined] = []
    versions: Counter[str] = Counter()
    for outcome in outcomes:
        window.noise.update(outcome.noise)
        quarantined.extend(outcome.quarantined)
        if outcome.client_version:
            versions[outcome.client_version] += 1
        window.take_time(outcome.ts_mark)
        for said in outcome.said:
            if isinstance(said, Header):
                window.take_header(said)
            elif isinstance(said, Event):
                window.take_event(said)
    return Assembled(
        events=tuple(window.events),
        noise=dict(window.noise),
        quarantined=tuple(quarantined),
        state=replace(window.state, recent=_kept_copies(window.copies)),
        versions=dict(versions),
    )


def _kept_copies(copies: dict[str, Counter[str]]) -> tuple[str, ...]:
    return tuple(
        f"{key}:" + ",".join(f"{name}={count}" for name, count in sorted(counts.items()))
        for key, counts in copies.items()
    )


def _stored_copies(recent: Iterable[str]) -> dict[str, Counter[str]]:
    copies: dict[str, Counter[str]] = {}
    for entry in recent:
        key, _, counts = entry.partition(":")
        pairs = (one.partition("=") for one in counts.split(","))
        copies[key] = Counter({name: int(count) for name, _, count in pairs})
    return copies
