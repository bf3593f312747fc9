"""The fields of records that our rules know, by kind of trail; any other is counted by name.

A client that writes something new is noticed by this, the day it comes out.
"""

from typing import Final

CLAUDE_CODE: Final = frozenset(
    {
        *(
            "agentId",
            "aiTitle",
            "attachment",
            "content",
            "cwd",
            "entrypoint",
            "error",
            "forkedFrom",
        ),
        *("gitBranch", "imagePasteIds", "interruptedByShutdown", "isApiErrorMessage", "isMeta"),
        *("isCompactSummary", "isSidechain", "isVisibleInTranscriptOnly", "lastPrompt", "leafUuid"),
        *("level", "logicalParentUuid", "message", "operation", "origin", "parentUuid", "slug"),
        *(
            "permissionMode",
            "planContent",
            "promptId",
            "promptSource",
            "queuePriority",
            "requestId",
        ),
        *("sessionId", "session_id", "sourceToolAssistantUUID", "sourceToolUseID", "subtype"),
        *("summary", "teamName", "thinkingMetadata", "timestamp", "todos", "toolDenialKind"),
        *("toolEndsTurn", "toolUseResult", "type", "userFeedback", "userType", "uuid", "version"),
    }
)
"""Of lines that speak; others have more, and are not looked at as a whole."""
CURSOR: Final = frozenset({"role", "message", "type", "status", "error", "model", "id"})
OPENCLAW: Final = frozenset(
    {
        *("type", "id", "parentId", "timestamp", "message", "version", "cwd", "parentSession"),
        *("provider", "modelId", "thinkingLevel", "customType", "data", "content", "display"),
        *("details", "summary", "firstKeptEntryId", "firstKeptEntryIndex", "tokensBefore"),
        *("fromHook", "fromId", "branchedFrom", "label", "targetId", "name", "appendMode"),
    }
)
BUFFER: Final = frozenset({"seq", "ts", "session_id", "role", "kind", "content", "tool", "outcome"})
CODEX: Final = frozenset(
    {
        *("timestamp", "type", "payload", "metadata", "ordinal"),
        *("id", "instructions", "git", "role", "content", "summary", "encrypted_content"),
        *("name", "arguments", "call_id", "output", "status"),
        *("thread_id", "item", "usage", "error", "message", "session_id", "ts", "text"),
    }
)
GEMINI: Final = frozenset(
    {
        *("sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary", "directories"),
        *("id", "type", "timestamp", "content", "displayContent", "thoughts", "toolCalls"),
        *("tokens", "model", "messages", "$set", "$rewindTo", "memoryScratchpad"),
    }
)
