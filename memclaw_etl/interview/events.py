"""The masked event: what an interviewer reads, and all that it reads."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

EventRef = tuple[int, int]
"""Names an event inside its trail: `(seq, part)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedEvent:
    """One prompt or reply after masking; content, tool and outcome are already masked and capped.

    `ts` is aware and in UTC, or None where the trail has no time; `ts_inferred` says that it was
    inherited from an earlier line. `role` is `user` or `assistant`.
    """

    seq: int
    part: int
    ts: datetime | None
    ts_inferred: bool
    session_id: str | None
    role: str
    kind: str
    origin: str
    content: str
    tool: str | None = None
    outcome: str | None = None
    branch: str = "main"
    """`rewound`: the person went back and said something else; `restart`: what was said instead."""

    @property
    def ref(self) -> EventRef:
        """The event's name in its trail."""
        return (self.seq, self.part)

    @property
    def cost_chars(self) -> int:
        """Characters that the event takes of a chunk's budget, with its header and labels."""
        tool = len(self.tool) + TOOL_LABEL_CHARS if self.tool else 0
        outcome = len(self.outcome) + OUTCOME_LABEL_CHARS if self.outcome else 0
        return len(self.content) + tool + outcome + HEADER_CHARS


HEADER_CHARS: Final = 80
"""Room for an event's header line in a prompt: role, seq, time, session."""
TOOL_LABEL_CHARS: Final = 6
OUTCOME_LABEL_CHARS: Final = 9
