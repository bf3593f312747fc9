"""The partition-key codec: `{tenant}/{node_id}~{epoch}@{from}.{part}-{to}`.

Tenant, epoch and part are written only when they are not the default, so that the usual key reads
`cc:0123456789ab:<session>@0-41`. Reserved characters are percent-encoded: every legal wire id (1 to
200 characters of anything) has exactly one key. Dagster validates nothing of this (it takes `...`,
newlines and the empty string), so this module is the only gate.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from memclaw_etl.errors import UnknownWindowError
from memclaw_etl.settings import DEFAULT_TENANT

_KEY = re.compile(
    r"(?:(?P<tenant>[^/@~]+)/)?(?P<node>[^/@~]+)(?:~(?P<epoch>[1-9]\d{0,18}))?"
    r"@(?P<start>0|[1-9]\d{0,18})(?:\.(?P<part>[1-9]\d{0,18}))?-(?P<end>0|[1-9]\d{0,18})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class WindowKey:
    """What a partition key says."""

    node_id: str
    cursor_from: int
    cursor_to: int
    tenant_id: str = DEFAULT_TENANT
    epoch: int = 0
    from_part: int = 0


def encode(key: WindowKey) -> str:
    """Write a partition key."""
    tenant = "" if key.tenant_id == DEFAULT_TENANT else f"{_escape(key.tenant_id)}/"
    epoch = f"~{key.epoch}" if key.epoch else ""
    part = f".{key.from_part}" if key.from_part else ""
    node = _escape(key.node_id)
    return f"{tenant}{node}{epoch}@{key.cursor_from}{part}-{key.cursor_to}"


def decode(text: str) -> WindowKey:
    """Read a partition key.

    Raises:
        UnknownWindowError: the text is no key, or is not written as `encode` writes it.
    """
    found = _KEY.fullmatch(text)
    if found is None:
        raise UnknownWindowError(
            "not a window's partition key; expected {node_id}@{cursor_from}-{cursor_to}"
        )
    try:
        key = WindowKey(
            tenant_id=_unescape(found["tenant"]) if found["tenant"] else DEFAULT_TENANT,
            node_id=_unescape(found["node"]),
            epoch=int(found["epoch"] or 0),
            cursor_from=int(found["start"]),
            from_part=int(found["part"] or 0),
            cursor_to=int(found["end"]),
        )
    except UnicodeDecodeError:
        raise UnknownWindowError("not a window's partition key: its escapes are no text") from None
    if encode(key) != text or key.cursor_to < key.cursor_from:
        raise UnknownWindowError("not a window's partition key: it is not in its canonical form")
    return key


def encode_node(tenant_id: str, node_id: str) -> str:
    """Write the partition key of a node, for `node_status`."""
    tenant = "" if tenant_id == DEFAULT_TENANT else f"{_escape(tenant_id)}/"
    return tenant + _escape(node_id)


def _escape(text: str) -> str:
    escaped = quote(text, safe=":", errors="surrogatepass").replace("~", "%7E")
    return escaped.replace(".", "%2E") if ".." in escaped else escaped


def _unescape(text: str) -> str:
    return unquote(text, errors="surrogatepass")
