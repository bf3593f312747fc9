"""What is in the trails of a source, file by file, without a word of their content."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.content import plain_name
from memclaw_etl.trails.decode import after, assemble, look_lines
from memclaw_etl.trails.discovery import Source, TrailFile, discover
from memclaw_etl.trails.events import (
    Assembled,
    DecoderState,
    LineOutcome,
    Position,
    Quarantined,
    RawLine,
    unknown_of,
)
from memclaw_etl.trails.lines import parse_records, read_lines
from memclaw_etl.trails.opening import open_found

_UNKNOWN: Final = "unknown:"


@dataclass(frozen=True, slots=True)
class FileReport:
    """Counts of one trail.

    `line_types`: by the record's own `type` (Cursor: its role). `events`: by kind and origin, for
    example `prompt:human`. `noise`: by reason; `unknown` is the part of it whose type we do not
    know. `unterminated`: the last line has no newline. `error`: the trail could not be read, and
    all counts are zero.
    """

    path: Path
    node_id: str
    size_bytes: int
    lines: int = 0
    versions: Mapping[str, int] | None = None
    line_types: Mapping[str, int] | None = None
    events: Mapping[str, int] | None = None
    noise: Mapping[str, int] | None = None
    unknown: Mapping[str, int] | None = None
    quarantined: tuple[Quarantined, ...] = ()
    unterminated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Every trail of a source, and the files that are none."""

    source: Source
    files: tuple[FileReport, ...]
    skipped: Mapping[str, int]
    problems: tuple[tuple[Path, str], ...] = ()
    """Stores that cannot be listed, and why."""

    @property
    def is_clean(self) -> bool:
        """Whether every trail could be read, and every line of it."""
        return not self.problems and not any(file.error or file.quarantined for file in self.files)


def examine(source: Source, *, machine12: str) -> DoctorReport:
    """Read every trail of a source once and report counts only.

    A trail that cannot be opened is reported with its error and does not stop the others.

    Raises:
        TrailUnreadableError: the source's root is not there or cannot be listed.
    """
    found = discover(source, machine12=machine12)
    files = tuple(examine_file(trail) for trail in found.trails)
    return DoctorReport(source, files, found.skipped, found.problems)


def examine_file(trail: TrailFile) -> FileReport:
    """Read one trail to its end and count what is in it."""
    types: Counter[str] = Counter()
    try:
        with open_found(trail) as file:
            lines = _counted(read_lines(file, Position()), types)
            outcomes = list(look_lines(trail.kind, lines, DecoderState()))
    except (TrailUnreadableError, OSError) as error:
        return FileReport(trail.path, trail.node_id, trail.size_bytes, error=type(error).__name__)
    assembled = assemble(trail.kind, outcomes, DecoderState(), file_session=trail.file_session)
    return _report(trail, outcomes, assembled, types)


def _report(
    trail: TrailFile, outcomes: list[LineOutcome], assembled: Assembled, types: Counter[str]
) -> FileReport:
    unknown = {
        reason.removeprefix(_UNKNOWN): count
        for reason, count in {**unknown_of(assembled.noise), **assembled.odd_fields}.items()
    }
    return FileReport(
        path=trail.path,
        node_id=trail.node_id,
        size_bytes=trail.size_bytes,
        lines=len(outcomes),
        versions=assembled.versions,
        line_types=dict(types),
        events=dict(Counter(f"{event.kind}:{event.origin}" for event in assembled.events)),
        noise=assembled.noise,
        unknown=unknown,
        quarantined=assembled.quarantined,
        unterminated=bool(outcomes) and after(outcomes[-1]).open_line,
    )


def _counted(lines: Iterator[RawLine], types: Counter[str]) -> Iterator[RawLine]:
    """Pass the lines on and count the types of their records."""
    for line in lines:
        for _, record in parse_records(line).records:
            named = (record.get("type") or record.get("role")) if isinstance(record, dict) else None
            types[plain_name(named)] += 1
        yield line
