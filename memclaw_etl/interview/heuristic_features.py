"""What can be seen of a statement without understanding it, as numbers between 0 and 1."""

import re
from collections.abc import Mapping
from typing import Final

from memclaw_etl.interview import heuristic_language as language
from memclaw_etl.interview.heuristic_passages import STATEMENT_CHARS, Shape
from memclaw_etl.interview.heuristic_statements import Place, Statement

MANY_NAMES: Final = 6
MANY_WORDS: Final = 30
LATE_RANK: Final = 20
SHORT_CHARS: Final = 50

_I = re.IGNORECASE
_CUES: Final = {
    "changed": language.CHANGED,
    "failed": language.FAILED,
    "chosen": language.CHOSEN,
    "explained": language.EXPLAINED,
    "remains": language.REMAINS,
    "wished": language.WISHED,
    "asked": language.ASKED,
    "denied": language.DENIED,
    "tasked": language.TASKED,
    "corrects": language.CORRECTS,
    "did": re.compile(r"^(?:i(?:'ve| have)? )?\w+ed\b|^(?:done|wrote|built|made)\b", _I),
    "now": re.compile(r"\bnow\b", _I),
    "ought": re.compile(r"\bshould|recommend|instead|rather", _I),
}
_HEADINGS: Final = {
    "over_changes": re.compile(r"chang|summary|did|result|done|fix|complet|update|creat", _I),
    "over_causes": re.compile(
        r"why|cause|issue|problem|how|happen|analysis|insight|state|mechanism|current", _I
    ),
    "over_tasks": re.compile(r"next|todo|remain|need|finding|p\d\b|left", _I),
    "over_choices": re.compile(
        r"recommend|option|decision|approach|propos|design|solution|architect", _I
    ),
}
_LABEL_CHARS: Final = 80


def features(statement: Statement) -> Mapping[str, float]:
    """The features of a statement; absent means 0.

    A cue counts as `<cue>`, and once more as `<place>:<cue>`, since the same words weigh otherwise
    in a prompt, between tools and at the close of a turn.
    """
    text, place = statement.text, statement.place.value
    cues = {cue for cue, pattern in _CUES.items() if pattern.search(text)}
    label = statement.heading or text.partition(":")[0][:_LABEL_CHARS]
    cues |= {cue for cue, pattern in _HEADINGS.items() if pattern.search(label)}
    flags = {place, *cues, *(f"{place}:{cue}" for cue in cues), *_standing(statement)}
    sizes = {
        "names": min(len(language.names(text)), MANY_NAMES) / MANY_NAMES,
        "words": min(len(language.content_words(text)), MANY_WORDS) / MANY_WORDS,
        "chars": min(len(text), STATEMENT_CHARS) / STATEMENT_CHARS,
        "late": min(statement.rank, LATE_RANK) / LATE_RANK,
    }
    placed = {f"{place}:chars": sizes["chars"], f"{place}:names": sizes["names"]}
    return {"bias": 1.0, **dict.fromkeys(flags, 1.0), **sizes, **placed}


def _standing(statement: Statement) -> set[str]:
    """Flags of how the statement stands in its message and session."""
    text = statement.text
    seen = {
        "answers": statement.answers,
        "opens": statement.opens,
        "leads": statement.rank == 0,
        "list": statement.shape is Shape.LIST,
        "short": len(text) < SHORT_CHARS,
        "announces": text.endswith(":"),
        "questions": text.endswith("?"),
        "prompt:questions": text.endswith("?") and statement.place is Place.PROMPT,
    }
    return {flag for flag, holds in seen.items() if holds}
