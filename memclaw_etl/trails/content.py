"""Message contents as the agents write them: a string, or a list of typed blocks."""

import re
from collections.abc import Collection
from typing import Final

_SAFE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_NONE: Final[frozenset[str]] = frozenset()


def text_blocks(content: object) -> list[str]:
    """The texts of a content: the string, or its blocks of type `text`."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        text
        for block in content
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(text := block.get("text"), str)
    ]


def block_types(content: object) -> frozenset[str]:
    """The types of the blocks of a content; none for a string."""
    if not isinstance(content, list):
        return _NONE
    types = (block.get("type") for block in content if isinstance(block, dict))
    return frozenset(name for name in types if isinstance(name, str))


def textless_reason(content: object) -> str:
    """Why a message without own words is noise, from the types of its blocks."""
    return reason_of_types(block_types(content))


def reason_of_types(types: Collection[str]) -> str:
    """The noise reason of a message that holds blocks of these types and no text."""
    for name in ("tool_result", "tool_use", "thinking", "image"):
        if name in types:
            return name
    return "thinking" if "redacted_thinking" in types else "empty"


def plain_name(value: object) -> str:
    """A type or role as it may stand in reports: a plain word of at most 40 characters."""
    if isinstance(value, str) and _SAFE_NAME.fullmatch(value):
        return value
    return "other" if value is not None else "none"


def unknown_type(value: object) -> str:
    """Noise reason of a type or role that we do not know."""
    return f"unknown:{plain_name(value)}" if value is not None else "untyped"


def plain_string(value: object) -> str | None:
    """The value if it is a string with something in it."""
    return value if isinstance(value, str) and value else None
