"""Which prompts were left behind when the person went back in a conversation (Claude Code).

Lines form a tree by `parentUuid`, but its leaves prove nothing: the results of parallel tool calls
branch off, too. What counts are turns (a prompt and all that hangs on it): a prompt that hangs on
an earlier turn than the current one leaves the turns between behind. Nothing looks ahead.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from memclaw_etl.trails.events import Branch

_BEFORE: Final = 0
"""The turn of every line before the window."""
_KEPT_TIPS: Final = 32
_TIP_CHARS: Final = 8


Link = tuple[str, str | None]
"""(uuid, parent uuid) of a line."""


class Conversation:
    """The tree of turns of one window. `tips`: ends of the uuids of the last lines before it.

    A line that hangs on no prompt of its own belongs to the turn in which it was written.
    """

    def __init__(self, tips: Iterable[str]) -> None:
        self._tips_before = tuple(tips)
        self._before = frozenset(self._tips_before)
        self._turn_of: dict[str, int] = {}
        self._unplaced: list[Link] = []
        self._last: list[Link] = []
        self._above: list[int | None] = [None]
        self._left: set[int] = set()
        self._restarts: set[int] = set()
        self.turn = _BEFORE
        """The current turn."""

    def add_all(self, links: Sequence[Link]) -> None:
        """Add lines that open no turn."""
        self._unplaced += links

    def add_prompt(self, uuid: str, parent: str | None) -> None:
        """Add a prompt, which opens a turn. One that was told before changes nothing."""
        self._place()
        if uuid in self._turn_of:
            return
        above = self._turn_above(parent)
        turn = len(self._above)
        self._turn_of[uuid] = turn
        self._last = [*self._last[-_KEPT_TIPS:], (uuid, parent)]
        self._above.append(above)
        if above is not None and above != self.turn:
            self._go_back(turn, above)
        elif above == _BEFORE and self._is_elsewhere(parent):
            self._restarts.add(turn)
        self.turn = turn

    def _place(self) -> None:
        """Give the lines since the last prompt their turn; a line told again keeps its first."""
        placed = self._turn_of
        new = [uuid for uuid, _ in self._unplaced if uuid not in placed]
        placed.update(dict.fromkeys(new, self.turn))
        self._last = [*self._last, *self._unplaced[-_KEPT_TIPS:]][-_KEPT_TIPS:]
        self._unplaced = []

    def _turn_above(self, parent: str | None) -> int | None:
        """The turn that a line hangs on; None starts a conversation of its own."""
        if parent is None:
            return None
        turn = self._turn_of.get(parent)
        if turn is None and self._before:
            return _BEFORE
        return turn

    def _is_elsewhere(self, parent: str | None) -> bool:
        """Whether a line before the window is not among its last ones."""
        return parent not in self._turn_of and str(parent)[-_TIP_CHARS:] not in self._before

    def _go_back(self, turn: int, above: int) -> None:
        """Leave behind what is between the current turn and the one that both hang on."""
        kept = set(self._up_from(above))
        left = {one for one in self._up_from(self.turn) if one not in kept}
        if not kept & set(self._up_from(self.turn)):
            return
        self._left |= left
        self._left -= kept
        self._restarts.add(turn)

    def _up_from(self, turn: int | None) -> Iterable[int]:
        while turn is not None:
            yield turn
            turn = self._above[turn]

    def branch_of(self, turn: int, *, is_prompt: bool) -> Branch:
        """Where an event of a turn stands, seen from the end of the window."""
        if turn in self._left:
            return Branch.REWOUND
        return Branch.RESTART if is_prompt and turn in self._restarts else Branch.MAIN

    def tips(self) -> tuple[str, ...]:
        """What the next window needs of this one."""
        self._place()
        mine = (uuid[-_TIP_CHARS:] for uuid, _ in self._last)
        return (*self._tips_before, *mine)[-_KEPT_TIPS:]
