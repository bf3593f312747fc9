"""Opening a trail, whatever it is: always a stream of lines that only grows."""

from pathlib import Path
from typing import BinaryIO

from memclaw_etl.trails.discovery import TrailFile, open_trail
from memclaw_etl.trails.documents import document_as_lines, is_document
from memclaw_etl.trails.events import TrailKind
from memclaw_etl.trails.stores import open_session, split_path


def open_found(trail: TrailFile) -> BinaryIO:
    """Open what discovery found, as lines.

    Raises:
        TrailUnreadableError: it cannot be opened now, or is a document that is no whole JSON.
        OSError: as the file raises it.
    """
    if is_session(trail.real_path):
        return open_session(trail.real_path, root=trail.root, node_id=trail.node_id)
    file = open_trail(trail.real_path, root=trail.root, node_id=trail.node_id)
    return as_lines(trail.kind, file, real_path=trail.real_path, node_id=trail.node_id)


def is_session(real_path: Path) -> bool:
    """Whether the name is that of a session in a store."""
    return split_path(real_path) is not None


def as_lines(kind: TrailKind, file: BinaryIO, *, real_path: Path, node_id: str) -> BinaryIO:
    """The file itself, or the messages of a document as lines.

    Raises:
        TrailUnreadableError: it is a document, but not whole.
        OSError: as the file raises it.
    """
    if kind is not TrailKind.GEMINI:
        return file
    try:
        documented = is_document(file)
    except OSError:
        file.close()
        raise
    return document_as_lines(file, real_path=real_path, node_id=node_id) if documented else file
