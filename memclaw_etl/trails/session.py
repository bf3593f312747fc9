"""What the lines of one Claude Code window mean together: one event per prompt and reply.

Decides what one line cannot say: whether a queued prompt came again, whether a line was told
before, and which events were left behind by going back.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from msgspec import structs

from memclaw_etl.trails.branches import Conversation
from memclaw_etl.trails.events import (
    Assembled,
    Branch,
    DecoderState,
    Event,
    LineOutcome,
    Origin,
    Quarantined,
    QueueOp,
    Role,
)
from memclaw_etl.trails.identity import placed_identity, uuid_identity
from memclaw_etl.trails.prompt_queue import Entry, PromptQueue, queue_key

_OPENS_NO_TURN = frozenset({Origin.QUEUED, Origin.STEERING})


@dataclass(slots=True)
class _Window:
    """The window while its lines are read."""

    file_session: str
    queue: PromptQueue
    talk: Conversation
    events: list[Event | None] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    noise: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    identities: set[str] = field(default_factory=set)

    def take_spoken(self, outcome: LineOutcome) -> None:
        """Add a line that says something."""
        for said in outcome.said:
            if isinstance(said, Event):
                if said.role is Role.USER and said.origin not in _OPENS_NO_TURN:
                    self._open_turn(said.identity, outcome)
                self.take_event(said)
            elif isinstance(said, QueueOp):
                self.take_operation(said)
        self.talk.add_all(outcome.links)

    def _open_turn(self, identity: str, outcome: LineOutcome) -> None:
        """A prompt opens a turn where its record hangs in the tree of the conversation."""
        for uuid, parent in outcome.links:
            if uuid_identity(uuid) == identity:
                self.talk.add_prompt(uuid, parent)

    def take_event(self, event: Event) -> None:
        """Add an event, unless it was told before."""
        event = _complete(event, self.file_session)
        if event.identity in self.identities:
            self.noise["replayed"] += 1
            return
        if event.role is Role.ASSISTANT:
            self.queue.agent_spoke()
        elif self._replays_queue(event):
            self.noise["replayed_queue"] += 1
            return
        self._add(event)

    def _add(self, event: Event) -> None:
        self.identities.add(event.identity)
        self.events.append(event)
        self.turns.append(self.talk.turn)

    def _replays_queue(self, event: Event) -> bool:
        """Whether an earlier window emitted all that this line says.

        What this window emitted from the queue gives way: the line says it better.
        """
        repeated = self.queue.take_repeated(event.session_id or "", event.content)
        mine = [entry for entry in repeated if entry.place is not None]
        if len(mine) < len(repeated):
            return True
        for entry in mine:
            self._drop(entry, "queued_elsewhere")
        return False

    def take_operation(self, operation: QueueOp) -> None:
        """Follow the client's queue."""
        if operation.operation == "enqueue":
            self.queue.enqueue(self._enqueued(operation.event))
        elif operation.operation == "popAll":
            session = operation.session_id or self.file_session
            for entry in self.queue.take_back(session, operation.content):
                self._drop(entry, "queue_taken_back")
        else:
            self.queue.take_first()

    def _enqueued(self, event: Event | None) -> Entry:
        nothing = Entry("", 0)
        if event is None:
            return nothing
        event = _complete(event, self.file_session)
        if event.identity in self.identities:
            self.noise["replayed"] += 1
            return nothing
        key = queue_key(event.session_id or "", event.content)
        entry = Entry(key, len(event.content), len(self.events))
        self._add(event)
        return entry

    def _drop(self, entry: Entry, reason: str) -> None:
        if entry.place is not None and self.events[entry.place] is not None:
            self.events[entry.place] = None
            self.noise[reason] += 1

    def finished_events(self) -> tuple[Event, ...]:
        """The events, each with its place in the tree as it is at the end of the window."""
        return tuple(
            self._branched(event, turn)
            for event, turn in zip(self.events, self.turns, strict=True)
            if event is not None
        )

    def _branched(self, event: Event, turn: int) -> Event:
        opens_turn = event.role is Role.USER and event.origin not in _OPENS_NO_TURN
        branch = self.talk.branch_of(turn, is_prompt=opens_turn)
        return event if branch is Branch.MAIN else structs.replace(event, branch=branch)


def assemble(
    outcomes: Iterable[LineOutcome], state: DecoderState, *, file_session: str
) -> Assembled:
    """Turn the looked-at lines of a window into its events. Pure; holds no line.

    An enqueue that no later line of the window repeats or takes back is an event of this window;
    the hash of its text goes into the state, so that a repetition in a later window is a replay.
    """
    window = _Window(
        file_session, PromptQueue.restored(state.emitted_queue), Conversation(state.tips)
    )
    quarantined: list[Quarantined] = []
    versions: defaultdict[str | None, int] = defaultdict(int)
    noise = window.noise
    for outcome in outcomes:
        for reason in outcome.noise:
            noise[reason] += 1
        versions[outcome.client_version] += outcome.lines
        if outcome.quarantined:
            quarantined.extend(outcome.quarantined)
        if outcome.said:
            window.take_spoken(outcome)
        else:
            window.talk.add_all(outcome.links)
    return Assembled(
        events=window.finished_events(),
        noise=dict(window.noise),
        quarantined=tuple(quarantined),
        state=replace(state, emitted_queue=window.queue.stored(), tips=window.talk.tips()),
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
    return structs.replace(event, session_id=event.session_id or file_session, identity=identity)
