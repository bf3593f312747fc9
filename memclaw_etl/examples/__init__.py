"""Invented trails of an invented project, shipped: what the main job runs on.

They hold decisions, a rejected approach, corrections by the user, blockers, open questions, made-up
credentials, `<private>` text, a replayed line and every kind of noise that real trails have.
"""

from pathlib import Path


def example_sources() -> tuple[tuple[str, Path, tuple[str, ...]], ...]:
    """The shipped trails as `(trail kind, root, include globs)`, one row per source."""
    root = Path(__file__).parent
    return (
        ("claude_code", root / "claude_code", ("*-tidewatch",)),
        ("cursor", root / "cursor", ("*-tidewatch-web",)),
        ("buffer", root / "buffer", ()),
    )
