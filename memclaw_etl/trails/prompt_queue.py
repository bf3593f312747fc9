"""The client's prompt queue (Claude Code): a prompt that is typed while the agent works.

It stands in an `enqueue` line, and often, but not always, again: in the user line or the
`queued_command` that follows when it leaves the queue. One prompt must become one event, decided
from the lines up to the end of the window and never from later ones. A prompt that left the queue
may come again only until the agent answers: the same words later are a new prompt.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from memclaw_etl.trails.identity import text_hash

_KEPT_ENTRIES: Final = 64
_WAITS, _LEFT = "w", "l"


@dataclass(slots=True, eq=False)
class Entry:
    """A prompt in the queue, or something else that takes a place in it (empty `key`).

    `place` is the index of its event in this window, None when an earlier window emitted it; then
    only the hash and the length of its text are known.
    """

    key: str
    length_chars: int
    place: int | None = None

    def is_in(self, session: str, text: str) -> bool:
        """Whether the text, or some of its lines, say exactly what this entry says."""
        if not self.key or len(text) < self.length_chars:
            return False
        ends = {len(text), *(at for at, letter in enumerate(text) if letter == "\n")}
        starts = {0, *(at + 1 for at in ends)}
        return any(
            queue_key(session, text[at : at + self.length_chars]) == self.key
            for at in starts
            if at + self.length_chars in ends
        )


def queue_key(session: str, text: str) -> str:
    """By what a queued prompt is known again: only within its session."""
    return text_hash(f"{session}\n{text}")


@dataclass(slots=True)
class PromptQueue:
    """The queue as the lines so far say it is."""

    line_up: deque[Entry] = field(default_factory=deque)
    left: list[Entry] = field(default_factory=list)
    """Prompts that left the queue since the agent's last words."""

    @classmethod
    def restored(cls, stored: Iterable[str]) -> "PromptQueue":
        """The queue that an earlier window left."""
        queue = cls()
        for one in stored:
            kind, length, key = [*one.split(":"), "", ""][:3]
            if not length.isdecimal():
                continue
            entry = Entry(key, int(length))
            if kind == _LEFT:
                queue.left.append(entry)
            else:
                queue.line_up.append(entry)
        return queue

    def stored(self) -> tuple[str, ...]:
        """The queue for the next window; hashes and lengths only."""
        kept = [f"{_LEFT}:{one.length_chars}:{one.key}" for one in self.left if one.key]
        kept += [f"{_WAITS}:{one.length_chars}:{one.key}" for one in self.line_up]
        return tuple(kept[-_KEPT_ENTRIES:])

    def enqueue(self, entry: Entry) -> None:
        """Put something at the end."""
        self.line_up.append(entry)

    def take_first(self) -> None:
        """The first one leaves: it is given to the agent."""
        if self.line_up:
            entry = self.line_up.popleft()
            if entry.key:
                self.left.append(entry)

    def take_back(self, session: str, content: str | None) -> list[Entry]:
        """The person took the queue back into the editor: all of it, or what `content` names.

        Returns the entries that this window emitted; they are no prompts after all. What an earlier
        window emitted stays, and is a replay when it is sent.
        """
        known = [entry for entry in self.line_up if entry.key]
        named = known
        if content is not None:
            known = [*known, *(entry for entry in self.left if entry.key)]
            named = [entry for entry in known if entry.is_in(session, content.strip())]
        prompts = [entry for entry in self.line_up if entry.key and entry not in named]
        self.line_up = deque(prompts)
        self.left = [one for one in self.left if one not in named]
        self.left += [entry for entry in named if entry.place is None]
        return [entry for entry in named if entry.place is not None]

    def take_repeated(self, session: str, text: str) -> list[Entry]:
        """The entries that a user line says again, alone or several of them joined.

        They are settled: none of them is known again.
        """
        known = [entry for entry in (*self.left, *self.line_up) if entry.key]
        if not known:
            return []
        key = queue_key(session, text)
        equal = [entry for entry in known if entry.key == key][:1]
        found = equal or [entry for entry in known if entry.is_in(session, text)]
        if not equal and not _covers(found, text):
            found = [entry for entry in found if entry.place is not None]
        repeated = [Entry(one.key, one.length_chars, one.place) for one in found]
        for entry in found:
            entry.key = ""
        return repeated

    def agent_spoke(self) -> None:
        """What left the queue before will not come again."""
        self.left.clear()


def _covers(entries: Sequence[Entry], text: str) -> bool:
    """Whether the entries, each on lines of its own, are all that the text says."""
    return sum(entry.length_chars + 1 for entry in entries) >= len(text)
