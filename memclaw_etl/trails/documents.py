"""Gemini chats that are one JSON document: read as if every message stood on a line of its own.

The client rewrites the whole file with every message. Its messages, reduced to the fields that
later writes keep, form a stream that only grows, so that windows, hashes and fingerprints mean the
same for it as for any other trail: seq is the index of the message.
"""

import json
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from memclaw_etl.trails.errors import unreadable
from memclaw_etl.trails.gemini import lasting_messages
from memclaw_etl.trails.lenient import LenientError, decode_at, decode_text

MAX_DOCUMENT_BYTES: Final = 512 * 1024 * 1024
_FIRST_LINE_BYTES: Final = 1024 * 1024
_BLANK: Final = b"\xef\xbb\xbf\x00\r\n\t "
_UNWRITABLE: Final = b'{"type":"unwritable"}'


def is_document(file: BinaryIO) -> bool:
    """Whether a Gemini file is one JSON document, not JSON lines; the file is left at its start.

    A document opens with a bare `{`, or is one line that holds `messages`, or no whole line yet.
    """
    file.seek(0)
    line = b"\n"
    while line.endswith(b"\n") and not line.strip(_BLANK):
        line = file.readline(_FIRST_LINE_BYTES)
    file.seek(0)
    first = line.strip(_BLANK)
    if not first.startswith(b"{"):
        return not first
    if first == b"{":
        return True
    try:
        value = orjson.loads(first)
    except orjson.JSONDecodeError:
        return not line.endswith(b"\n") and not first.startswith(b'{"$set"')
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def document_as_lines(file: BinaryIO, *, real_path: Path, node_id: str) -> BinaryIO:
    """The messages of a document, a line each. Closes the file.

    Raises:
        TrailUnreadableError: it is no whole JSON document now (the client may be writing it).
        OSError: as the file raises it.
    """
    with file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        reason = f"the document has more than {MAX_DOCUMENT_BYTES} bytes"
        raise unreadable(real_path, node_id, reason)
    try:
        document = _parsed(data)
    except LenientError as error:
        reason = f"its {len(data)} bytes are no whole JSON document ({error.reason})"
        raise unreadable(real_path, node_id, reason) from None
    return BytesIO(b"".join(_dumped(message) + b"\n" for message in lasting_messages(document)))


def _parsed(data: bytes) -> object:
    """The document. Raises LenientError when it is none, or not all of one."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = decode_text(data).strip("\ufeff\x00\r\n\t ")
    value, end = decode_at(text, 0)
    if text[end:].strip("\x00\r\n\t "):
        raise LenientError("broken_json")
    return value


def _dumped(message: object) -> bytes:
    try:
        return orjson.dumps(message, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(message, sort_keys=True).encode()
    except (RecursionError, ValueError, TypeError):
        return _UNWRITABLE
