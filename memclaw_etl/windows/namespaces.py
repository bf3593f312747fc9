"""Which namespace a folder belongs to, by the path table of the settings. Never guessed."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from memclaw_etl.masking import open_masker
from memclaw_etl.settings import NamespaceSettings
from memclaw_etl.trails.events import Event, Header, LineOutcome

PATH_CHARS = 4_096
"""Linux's PATH_MAX, and the ledger's column."""
_Named = tuple[str | None, str | None]


def namespace_of(project: str | None, table: Sequence[NamespaceSettings]) -> str:
    """The namespace of a project folder; empty when no row of the table matches."""
    if project is None:
        return ""
    folder = PurePosixPath(project)
    fitting = [row for row in table if folder.is_relative_to(PurePosixPath(row.path))]
    longest = max(fitting, key=lambda row: len(PurePosixPath(row.path).parts), default=None)
    return longest.namespace if longest else ""


def named_by(outcome: LineOutcome, table: Sequence[NamespaceSettings]) -> _Named:
    """What a line names: the namespace of its last event's folder, and of its last header's."""
    events = reversed([event.project for event in outcome.events()])
    headers = reversed([said.project for said in outcome.said if isinstance(said, Header)])
    return _last(events, table), _last(headers, table)


def _last(paths: Iterable[str | None], table: Sequence[NamespaceSettings]) -> str | None:
    path = next((one for one in paths if _is_sound(one)), None)
    return None if path is None else namespace_of(path, table)


def project_of(events: Sequence[Event]) -> str | None:
    """The last working folder that the events name, masked."""
    named = (event.project for event in reversed(events))
    path = next((one for one in named if one is not None and _is_sound(one)), None)
    return open_masker().session().mask(path).text[:PATH_CHARS] if path is not None else None


def _is_sound(path: str | None) -> bool:
    """Whether any system can have a folder of that name."""
    return bool(path) and len(path or "") <= PATH_CHARS and "\0" not in (path or "")
