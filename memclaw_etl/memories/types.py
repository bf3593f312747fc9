"""The memory types of the protocol (A3): which there are, which are folded, which are reserved."""

from enum import StrEnum

from memclaw_etl.errors import UsageError


class MemoryType(StrEnum):
    """The 14 types that clients know."""

    FACT = "fact"
    EPISODE = "episode"
    DECISION = "decision"
    PREFERENCE = "preference"
    TASK = "task"
    SEMANTIC = "semantic"
    INTENTION = "intention"
    PLAN = "plan"
    COMMITMENT = "commitment"
    ACTION = "action"
    OUTCOME = "outcome"
    CANCELLATION = "cancellation"
    RULE = "rule"
    INSIGHT = "insight"


DEPRECATED = frozenset(
    {MemoryType.SEMANTIC, MemoryType.INTENTION, MemoryType.COMMITMENT, MemoryType.CANCELLATION}
)
"""They are understood and stored as `fact`."""
RESERVED = frozenset({MemoryType.OUTCOME, MemoryType.RULE, MemoryType.INSIGHT})
"""Only an interviewer or a rule of ours may say them; nobody from outside."""
STORED = tuple(one for one in MemoryType if one not in DEPRECATED)
"""The types that memories have."""


def fold(memory_type: str) -> MemoryType:
    """The type as it is stored: deprecated ones are facts.

    Raises:
        UsageError: there is no such type.
    """
    try:
        known = MemoryType(memory_type)
    except ValueError:
        raise UsageError(
            f"there is no memory type {memory_type[:40]!r}; expected one of {', '.join(MemoryType)}"
        ) from None
    return MemoryType.FACT if known in DEPRECATED else known


def check_from_outside(memory_type: str) -> MemoryType:
    """The type under which a statement from outside (HTTP, MCP, an import) is stored.

    Raises:
        UsageError: there is no such type, or it is reserved.
    """
    known = fold(memory_type)
    if known in RESERVED:
        free = ", ".join(one for one in STORED if one not in RESERVED)
        raise UsageError(
            f"memory type {known} is reserved for what is derived here; expected one of {free}"
        )
    return known
