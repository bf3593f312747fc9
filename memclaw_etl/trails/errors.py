"""The error that says why a trail cannot be read now."""

from pathlib import Path

from memclaw_etl.errors import TrailUnreadableError


def unreadable(real_path: Path, node_id: str, reason: str) -> TrailUnreadableError:
    """Names node, path and reason; never trail text."""
    message = (
        f"node {node_id}: the trail {real_path} cannot be read: {reason};"
        " nothing is lost, it is tried again later"
    )
    return TrailUnreadableError(message, resource=f"trail:{node_id}")
