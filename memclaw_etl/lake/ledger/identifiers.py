"""Ids that the wire contract fixes, and the internal ones that are derived like them."""

import hashlib


def sha1_hex(text: str) -> str:
    """SHA-1 of a text, as an id and never as a protection."""
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def relation_id(left_key: str, right_key: str) -> str:
    """Names a pair of statements, the smaller group key first; the same pair for ever."""
    return "rel_" + sha1_hex(f"{left_key}:{right_key}")[:16]


def watermark_doc_id(node_id: str) -> str:
    """Document id of a node's watermark on the wire."""
    return "wm_" + sha1_hex(node_id)


def attempt_id(
    node_id: str, cursor_from: int, cursor_to: int, *, epoch: int = 0, from_part: int = 0
) -> str:
    """Attempt id of a window: the wire's form, which knows neither epochs nor parts.

    Where those are not zero they are written into it, so that two windows never share an id.
    """
    node = f"{node_id}~{epoch}" if epoch else node_id
    start = f"{cursor_from}.{from_part}" if from_part else str(cursor_from)
    return "interview:" + sha1_hex(f"{node}:{start}:{cursor_to}")


def window_id(partition_key: str) -> str:
    """The ledger's id of a window: 40 hex digits, derived from its partition key."""
    return sha1_hex(partition_key)
