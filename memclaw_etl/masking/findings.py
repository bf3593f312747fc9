"""The values that masking speaks in: findings, masked texts, spans."""

from dataclasses import dataclass
from typing import NamedTuple


class Finding(NamedTuple):
    """One stretch of text that must not be kept.

    `start` and `end` count characters (code points) of the text that was looked at, end exclusive.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Masked:
    """A text after masking, and what was taken out of it.

    `findings` are sorted, do not overlap, and their offsets refer to the text that went in.
    """

    text: str
    findings: tuple[Finding, ...] = ()
    flagged: tuple[Finding, ...] = ()
    """Personal data that was found and left in the text (policy `flag`)."""


def united(findings: list[Finding]) -> list[Finding]:
    """Sort findings and join those that overlap; the kind of the longest one is kept."""
    joined: list[Finding] = []
    for finding in sorted(findings, key=lambda found: (found.start, -found.end)):
        if joined and finding.start < joined[-1].end:
            joined[-1] = _join(joined[-1], finding)
        else:
            joined.append(finding)
    return joined


def _join(left: Finding, right: Finding) -> Finding:
    longer = left if left.end - left.start >= right.end - right.start else right
    return Finding(longer.kind, left.start, max(left.end, right.end))
