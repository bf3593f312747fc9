"""The texts of Codex messages: which blocks a person typed, and what was put around them."""

import re
from typing import Final

from memclaw_etl.trails.injected import is_slash_command, strip_injected

_WRAPPED: Final = re.compile(r"<([A-Za-z][\w:-]{0,60})(?:\s[^<>]{0,400})?>.*</\1>", re.DOTALL)
_INJECTED_STARTS: Final = {
    "# AGENTS.md instructions": "instructions",
    "<INSTRUCTIONS>": "instructions",
    "<user_instructions>": "instructions",
    "<environment_context>": "environment",
    "<recommended_plugins>": "injected",
    "<codex_internal_context": "injected",
    "<goal_context>": "injected",
    "<skill>": "skill",
    "<turn_aborted>": "interrupted",
    "<subagent_notification>": "notification",
    "<user_shell_command>": "shell",
    "<model_switch>": "injected",
    "<personality_spec>": "injected",
    "<permissions instructions>": "instructions",
    "<collaboration_mode>": "instructions",
    "<apps_instructions>": "instructions",
    "<skills_instructions>": "instructions",
}
_IDE_CONTEXT: Final = "# Context from my IDE setup:"
_REQUEST: Final = re.compile(r"^## My request for Codex:[ \t]*\n", re.MULTILINE)
_SECTION: Final = re.compile(r"^## [^\n]{1,80}:[ \t]*\n", re.MULTILINE)
_CONTEXT_SECTION: Final = re.compile(r"## (?:Active (?:file|selection)|Open tabs)")
_TEXT_BLOCKS: Final = ("input_text", "output_text", "text", "Text")


def texts_of(content: object) -> list[str]:
    """The texts of a content, without what is empty."""
    if isinstance(content, str):
        return [content.strip()] if content.strip() else []
    blocks = content if isinstance(content, list) else []
    texts = (
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") in _TEXT_BLOCKS
    )
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]


def typed_blocks(payload: dict[str, object]) -> list[str]:
    """The blocks of a user message; only the typed ones where the client says which they are."""
    content = payload.get("content")
    passed = payload.get("internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds") if isinstance(passed, dict) else None
    if isinstance(kinds, list) and isinstance(content, list) and len(kinds) == len(content):
        named = zip(content, kinds, strict=True)
        content = [block for block, kind in named if kind == "user.text"]
        return texts_of(content) or ["<injected></injected>"]
    return texts_of(content)


def own_words(blocks: list[str], *, strict: bool) -> tuple[str, str]:
    """The person's words in the blocks of a user message, and the reason if there are none.

    `strict`: the message may be context as a whole, so that a block that is one single tag from
    end to end is none of the person's.
    """
    words: list[str] = []
    reason = ""
    for block in blocks:
        text = strip_injected(block)
        wrapped = _injected_reason(text) or ("injected" if strict and _is_tag(text) else None)
        if wrapped is None:
            text = _request(text)
            wrapped = None if text else "ide_context"
        if wrapped is None and is_slash_command(text):
            wrapped = "command"
        if wrapped is None:
            words.append(text)
        reason = reason or wrapped or ""
    return "\n\n".join(words), reason or "empty"


def _injected_reason(text: str) -> str | None:
    if not text:
        return "injected"
    if text[0] in "<#":
        for start, reason in _INJECTED_STARTS.items():
            if text.startswith(start):
                return reason
    return None


def _is_tag(text: str) -> bool:
    return text.startswith("<") and _WRAPPED.fullmatch(text) is not None


def _request(text: str) -> str:
    """The person's request behind the context that an editor put in front of it.

    Should the heading ever be worded otherwise, it still is the last one and no known section.
    """
    if request := _REQUEST.search(text):
        return text[request.end() :].strip()
    if not text.startswith(_IDE_CONTEXT):
        return text
    sections = list(_SECTION.finditer(text))
    if not sections or _CONTEXT_SECTION.match(sections[-1].group()):
        return ""
    return text[sections[-1].end() :].strip()
