"""Invented trails of an invented project, shipped: what the main job runs on.

They hold decisions, a rejected approach, corrections by the user, blockers, open questions, made-up
credentials, `<private>` text, a replayed line and every kind of noise that real trails have.
"""

from importlib.resources import as_file, files
from pathlib import Path


def example_sources() -> tuple[tuple[str, Path, tuple[str, ...]], ...]:
    """The shipped trails as `(trail kind, root, include globs)`, one row per source."""
    with as_file(files(__name__)) as root:
        return (
            ("claude_code", root / "claude_code", ("*-tidewatch",)),
            ("cursor", root / "cursor", ("*-tidewatch-web",)),
            ("buffer", root / "buffer", ()),
        )
