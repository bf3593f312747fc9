"""Long encoded values: storage keys by their length, and base64 that hides settings."""

import base64
import binascii
import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_random

_STORAGE_KEY = re.compile(r"(?:^|[^A-Za-z0-9+/\-])([A-Za-z0-9+/]{86}==)$")
_ENCODED = re.compile(
    r"(?:^|[\s\"'=])(?P<value>[A-Za-z0-9+/]{24,8192}={0,2})[\"']?\s{0,3}(?:\||<<<)?\s{0,3}$"
)
_SETTING = re.compile(
    rb"(?i)(?:password|passwd|secret|token|api_?key|private)[\w]{0,20}[\"']?\s{0,2}[=:]"
)


def look_storage_key(text: str, start: int, end: int) -> Iterator[Finding]:
    """64 bytes in base64, as Azure storage and Cosmos DB accounts have; not a checksum."""
    if start < 85:
        return
    found = _STORAGE_KEY.search(text, max(0, end - 89), end)
    if (
        found is not None
        and "sha512" not in text[max(0, found.start(1) - 8) : found.start(1)]
        and is_random(found[1], least_chars=80)
    ):
        yield Finding("storage-key", *found.span(1))


def look_decoded(text: str, start: int, end: int) -> Iterator[Finding]:
    """Base64 that a command decodes, when settings with credentials are inside."""
    del end
    found = _ENCODED.search(text, max(0, start - 4096), start)
    if found is None:
        return
    try:
        inside = base64.b64decode(found["value"] + "=" * (-len(found["value"]) % 4))
    except (binascii.Error, ValueError):
        return
    if _SETTING.search(inside):
        yield Finding("encoded-settings", *found.span("value"))


RULES = (
    Rule(tuple(f"{char}==" for char in "abcdefghijklmnopqrstuvwxyz0123456789+/"), look_storage_key),
    Rule(("base64 -d", "base64 --decode"), look_decoded),
)
