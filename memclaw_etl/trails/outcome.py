"""From the records of a line and what each of them says to the line's outcome."""

from collections.abc import Callable
from typing import Protocol

from memclaw_etl.trails.content import plain_name
from memclaw_etl.trails.events import LineOutcome, RawLine, Said
from memclaw_etl.trails.lines import ParsedLine


class Judge(Protocol):
    """Says what one record is: what it says, or the reason why it is noise."""

    def __call__(self, record: dict[str, object], *, seq: int, part: int) -> tuple[Said | str, ...]:
        """Judge a record. Pure."""


def outcome_of(
    line: RawLine,
    parsed: ParsedLine,
    judge: Judge,
    *,
    known_fields: frozenset[str],
    version_of: Callable[[dict[str, object]], str | None] | None = None,
    time_of: Callable[[dict[str, object]], str | None] | None = None,
) -> LineOutcome:
    """The outcome of a line whose records are judged one by one. Pure."""
    said: list[Said] = []
    noise: list[str] = []
    version: str | None = None
    ts_mark: str | None = None
    odd_fields: list[str] = []
    for part, record in parsed.records:
        if not isinstance(record, dict):
            noise.append("no_object")
            continue
        odd_fields.extend(odd_fields_of(record, known_fields))
        version = version or (version_of(record) if version_of else None)
        ts_mark = (time_of(record) if time_of else None) or ts_mark
        for verdict in judge(record, seq=line.seq, part=part):
            if isinstance(verdict, str):
                noise.append(verdict)
            else:
                said.append(verdict)
    return LineOutcome(
        seq=line.seq,
        first_part=line.first_part,
        next_part=parsed.next_part,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        terminated=line.terminated,
        whole=parsed.whole,
        said=tuple(said),
        noise=tuple(noise),
        quarantined=parsed.quarantined,
        client_version=version,
        ts_mark=ts_mark,
        odd_fields=tuple(odd_fields),
    )


def odd_fields_of(record: dict[str, object], known: frozenset[str]) -> list[str]:
    """The fields of a record that no rule knows, as they may stand in reports."""
    return [] if known.issuperset(record) else sorted(map(plain_name, record.keys() - known))
