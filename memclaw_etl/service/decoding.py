"""Decoding trails without a home: what `events` prints."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.discovery import Source, discover, open_trail
from memclaw_etl.trails.events import DecoderState, Event, Position, Quarantined


@dataclass(frozen=True, slots=True)
class DecodedTrail:
    """One trail's events in order, or why it could not be read. Text is raw."""

    path: Path
    events: tuple[Event, ...]
    quarantined: tuple[Quarantined, ...]
    error: str | None = None


def decode_source(source: Source, *, machine12: str) -> Iterator[DecodedTrail]:
    """Decode every trail of a source, one after the other, each as a single window.

    An event that stands twice in one trail is given once, where it stands first.

    Raises:
        TrailUnreadableError: the source's root is not there or cannot be listed.
    """
    for trail in discover(source, machine12=machine12).trails:
        try:
            with open_trail(trail.real_path, root=trail.root, node_id=trail.node_id) as file:
                assembled, _ = decode_bytes(
                    trail.kind, file, start=Position(), byte_end=None, state=DecoderState(),
                    file_session=trail.file_session,
                )  # fmt: skip
        except (OSError, TrailUnreadableError) as error:
            message = str(error) if isinstance(error, TrailUnreadableError) else "cannot be read"
            yield DecodedTrail(trail.path, (), (), error=message)
            continue
        once = {event.identity: event for event in reversed(assembled.events)}
        yield DecodedTrail(trail.path, tuple(reversed(once.values())), assembled.quarantined)
