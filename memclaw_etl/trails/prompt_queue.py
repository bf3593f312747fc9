"""What the lines of one Claude Code window mean together.

A prompt that is typed while the agent works stands in an `enqueue` line, and often, but not always,
again in a later user line or `queued_command`. One prompt must become one event, decided from the
lines up to the end of the window and never from later ones.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    Event,
    LineOutcome,
    QueueOp,
    Role,
)
from memclaw_etl.trails.identity import placed_identity, text_hash

_KEPT_HASHES: Final = 64


@dataclass(slots=True)
class _Waiting:
    """An enqueued prompt whose fate is open; `place` is its index among the events."""

    place: int
    text: str


@dataclass(slots=True)
class _Window:
    """The window while its lines are read."""

    file_session: str
    emitted: list[str]
    events: list[Event | None] = field(default_factory=list)
    noise: Counter[str] = field(default_factory=Counter)
    identities: set[str] = field(default_factory=set)
    line_up: deque[_Waiting | None] = field(default_factory=deque)
    """The client's queue; None stands for what is no prompt (notifications, commands)."""
    undecided: list[_Waiting] = field(default_factory=list)

    def take_event(self, event: Event) -> None:
        """Add an event, unless it repeats a queued prompt of an earlier window or itself."""
        event = _complete(event, self.file_session)
        if event.identity in self.identities:
            self.noise["replayed"] += 1
            return
        if event.role is Role.USER and self._replays_queue(event.content):
            self.noise["replayed_queue"] += 1
            return
        self.identities.add(event.identity)
        self.events.append(event)

    def _replays_queue(self, text: str) -> bool:
        """Whether the text was emitted from the queue before; else settle what waits for it."""
        if (self.undecided and self._settle(text)) or not self.emitted:
            return False
        known = text_hash(text)
        if known not in self.emitted:
            return False
        self.emitted.remove(known)
        return True

    def _settle(self, text: str) -> bool:
        """The waiting prompts that this user line repeats are not events of their own."""
        equal = next((waiting for waiting in self.undecided if waiting.text == text), None)
        lines = f"\n{text}\n"
        repeated = [equal] if equal else [w for w in self.undecided if f"\n{w.text}\n" in lines]
        for waiting in repeated:
            self._drop(waiting, "queued_elsewhere")
        return bool(repeated)

    def take_operation(self, operation: QueueOp) -> None:
        """Follow the client's queue."""
        if operation.operation == "enqueue":
            self.line_up.append(self._enqueue(operation.event))
        elif operation.operation == "popAll":
            self._take_back(operation.content)
        elif self.line_up:
            self.line_up.popleft()

    def _enqueue(self, event: Event | None) -> _Waiting | None:
        if event is None:
            return None
        event = _complete(event, self.file_session)
        if event.identity in self.identities:
            self.noise["replayed"] += 1
            return None
        self.identities.add(event.identity)
        waiting = _Waiting(len(self.events), event.content)
        self.events.append(event)
        self.undecided.append(waiting)
        return waiting

    def _take_back(self, content: str | None) -> None:
        """The person took the queue back into the editor: all of it, or what `content` names."""
        in_line = [waiting for waiting in self.line_up if waiting is not None]
        named = [w for w in in_line if content is None or w.text in content]
        if content is not None and not named:
            named = [w for w in self.undecided if w.text == content.strip()]
        for waiting in named:
            if waiting in self.undecided:
                self._drop(waiting, "queue_taken_back")
        self.line_up = deque(w for w in self.line_up if w is not None and w not in named)

    def _drop(self, waiting: _Waiting, reason: str) -> None:
        self.undecided.remove(waiting)
        self.events[waiting.place] = None
        self.noise[reason] += 1

    def hashes_to_keep(self) -> tuple[str, ...]:
        """Hashes of the queued prompts that were emitted and may still come again."""
        self.emitted.extend(text_hash(waiting.text) for waiting in self.undecided)
        return tuple(self.emitted[-_KEPT_HASHES:])


def assemble(
    outcomes: Sequence[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Turn the looked-at lines of a window into its events. Pure.

    An enqueue that no later line of the window repeats or takes back is an event of this window;
    the hash of its text goes into the state, so that a repetition in a later window is a replay.
    """
    window = _Window(file_session, list(state.emitted_queue))
    window.noise.update(chain.from_iterable(outcome.noise for outcome in outcomes))
    for outcome in outcomes:
        for said in outcome.said:
            if isinstance(said, Event):
                window.take_event(said)
            else:
                window.take_operation(said)
    versions = Counter(outcome.client_version for outcome in outcomes)
    return Assembled(
        events=tuple(event for event in window.events if event is not None),
        noise=dict(window.noise),
        quarantined=tuple(lost for outcome in outcomes for lost in outcome.quarantined),
        state=replace(state, emitted_queue=window.hashes_to_keep()),
        versions={name: count for name, count in versions.items() if name},
    )


def _complete(event: Event, file_session: str) -> Event:
    """Fill in what the line alone could not say: the session, and an identity by place."""
    if event.identity and event.session_id:
        return event
    identity = event.identity or placed_identity(
        file_session=file_session,
        seq=event.seq,
        part=event.part,
        role=event.role,
        text=event.content,
    )
    return replace(event, session_id=event.session_id or file_session, identity=identity)
