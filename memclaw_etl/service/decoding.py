"""Decoding trails without a home: what `events` prints."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.discovery import Source, TrailFile, discover
from memclaw_etl.trails.events import Assembled, DecoderState, Event, Position, Quarantined
from memclaw_etl.trails.opening import open_found


@dataclass(frozen=True, slots=True)
class DecodedTrail:
    """One trail's events in order, or why it could not be read. Text is raw."""

    path: Path
    events: tuple[Event, ...]
    quarantined: tuple[Quarantined, ...]
    error: str | None = None


def decode_source(source: Source, *, machine12: str) -> Iterator[DecodedTrail]:
    """Decode every trail of a source, one after the other, each as a single window.

    An event that stands in several places of the source (a fork, a resumed copy, history that was
    written again) is given once, where it stands first in the order of paths.

    Raises:
        TrailUnreadableError: the source's root is not there or cannot be listed.
    """
    given: set[str] = set()
    found = discover(source, machine12=machine12)
    for path, problem in found.problems:
        yield DecodedTrail(path, (), (), error=problem)
    for trail in found.trails:
        try:
            assembled = _decoded(trail)
        except (OSError, TrailUnreadableError) as error:
            message = str(error) if isinstance(error, TrailUnreadableError) else "cannot be read"
            yield DecodedTrail(trail.path, (), (), error=message)
            continue
        yield DecodedTrail(trail.path, tuple(_new(assembled.events, given)), assembled.quarantined)


def _decoded(trail: TrailFile) -> Assembled:
    with open_found(trail) as file:
        assembled, _ = decode_bytes(
            trail.kind, file, start=Position(), byte_end=None, state=DecoderState(),
            file_session=trail.file_session,
        )  # fmt: skip
    return assembled


def _new(events: tuple[Event, ...], given: set[str]) -> Iterator[Event]:
    """The events that were not given before."""
    for event in events:
        if event.identity not in given:
            given.add(event.identity)
            yield event
