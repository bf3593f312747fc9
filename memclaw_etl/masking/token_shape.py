"""What a shape of token is, and the pieces that shapes are made of."""

from typing import NamedTuple


class Shape(NamedTuple):
    """One shape of token."""

    kind: str
    heads: tuple[str, ...]
    """Lower-case literals; one of them stands `back` characters after the token's first."""
    pattern: str
    least_entropy: float = 2.5
    """Of the part behind the head, in bits per character: rejects stand-ins."""
    back: int = 0
    anywhere: bool = False
    """May follow a letter or digit directly."""


def prefixed(kind: str, *heads: str, rest: str = r"[A-Za-z0-9_\-]{16,}") -> Shape:
    """Make a shape of alternative heads and a pattern for what follows them.

    Args:
        kind: What it is a token of.
        heads: As written in tokens; letters, digits, `-`, `_`, `.` and `$`.
        rest: Regular expression of the part behind the head.
    """
    pattern = "|".join(head.replace(".", r"\.").replace("$", r"\$") for head in heads)
    return Shape(kind, tuple(head.lower() for head in heads), f"(?:{pattern}){rest}")


HEX32 = r"[0-9a-f]{32}"
HEX40 = r"[0-9a-f]{40}"
URLSAFE = r"[A-Za-z0-9_\-]"
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
