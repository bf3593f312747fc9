"""What makes an event the same event in a fork, a resumed copy or a replay."""

import hashlib
import re
from datetime import datetime
from typing import Final

_PLAIN: Final = re.compile(r"[!-~]{1,100}")


def uuid_identity(uuid: str) -> str:
    """Identity of an event whose line carries its own uuid; an odd or long one is hashed."""
    return f"uuid:{uuid}" if _PLAIN.fullmatch(uuid) else _hash("uuid", uuid)


def spoken_identity(*, role: str, ts: str, session_id: str | None, text: str) -> str:
    """Identity of an event without uuid that carries its exact time."""
    return _hash("spoken", role, ts, session_id or "", text)


def placed_identity(*, file_session: str, seq: int, part: int, role: str, text: str) -> str:
    """Identity of an event that only its place in its trail tells apart."""
    return _hash("placed", file_session, str(seq), str(part), role, text)


def chained_identity(before: str, *said: str) -> str:
    """Identity of what was said after a history that has itself an identity (empty: none)."""
    return _hash("chained", before, *said)


def named_identity(kind: str, *names: str) -> str:
    """Identity of an event whose record has an id that is unique within the names before it."""
    return _hash(kind, *names)


def text_hash(text: str) -> str:
    """Hash by which a queued prompt is known again without keeping its text."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def exact_time(value: object) -> str | None:
    """The value if it is an ISO 8601 time, as it stands, else None."""
    if not isinstance(value, str):
        return None
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return None
    return value


def _hash(*fields: str) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for field in fields:
        data = field.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return f"h:{digest.hexdigest()}"
