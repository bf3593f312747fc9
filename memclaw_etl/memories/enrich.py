"""What rules can tell of a statement: entities, tags, a hint for retrieval, importance. Pure."""

import re
from collections import Counter
from dataclasses import dataclass

from memclaw_etl.memories.items import Item
from memclaw_etl.memories.wording import FILLER

ENTITIES_MAX = 12
TAGS_MAX = 5
HINT_MAX = 0.15
"""How far an interviewer's own opinion may lift the importance."""
HALF_LIFE_DAYS = {
    "preference": 365.0, "rule": 365.0, "decision": 180.0, "fact": 120.0, "outcome": 90.0,
    "insight": 90.0, "plan": 60.0, "episode": 45.0, "task": 30.0, "action": 30.0,
}  # fmt: skip
"""By memory type, as the public service has them (A5 of its protocol)."""
_OTHER_HALF_LIFE_DAYS = 90.0
_SOURCE = {
    "rule": 0.9, "preference": 0.85, "decision": 0.75, "insight": 0.65, "task": 0.6,
    "outcome": 0.6, "plan": 0.55, "fact": 0.5, "action": 0.4, "episode": 0.35,
}  # fmt: skip
"""What the user wants weighs most, what merely happened least."""
_CORRECTION = 1.0
"""A wish or choice that sets another one aside: a person said that it was wrong."""
_CHATTER = 0.2
"""A message as it stands: nothing says that it matters."""
_WEIGHTS = (0.55, 0.25, 0.2)
"""Of source, structure and novelty."""
_REASON = re.compile(
    r"\bWhy:|\b(?:because|since|so that|in order to|due to|weil|damit|wegen|parce que|porque)\b",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(
    r"\binstead\b|\brather than\b|\bnot .{1,40} but\b|\bstatt\b|\bau lieu d|\ben lugar de\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d")

_FILE_NAME = re.compile(r"(?<![\w/:@.~-])(?:[\w.~-]*/)*\.?[\w-]+\.[a-z][a-z0-9]{0,4}\b(?![(/@])")
_PATH = re.compile(r"(?<![\w/:@.~-])(?:~|\.{1,2})?/?(?:[\w.-]+/)+[\w.-]+")
"""A run of such letters is looked at from its first one only, so that time stays linear."""
_INSTALL = re.compile(
    r"\b(?:pip|pip3|pipx|uv|npm|pnpm|yarn|cargo|gem|brew|apt|apt-get|go|conda|poetry)"
    r"\s+(?:install|add|get|i)\s+(?:-\S+\s+)*([\w@./-]+)"
)
_CODE = re.compile(r"`([^`\n]{2,60})`")
_COMMAND = re.compile(
    r"^(?:\$ )?(?:git|docker|kubectl|npm|pnpm|yarn|pip|uv|cargo|go|make|pytest|ruff|mypy|python3?"
    r"|node|curl|ssh|terraform|helm|psql|sqlite3|bash|sh|systemctl|brew|apt|poetry|memclaw-etl)\b"
)
_SYMBOL = re.compile(r"\b(?:[a-z]+_[a-z_0-9]+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)\b")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|[\"'(\[]\s*|\]\s+)$")


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a memory matters, apart from its age, in [0, 1], and what that is made of."""

    source: float
    structure: float
    novelty: float
    hint: float
    """At most HINT_MAX."""

    @property
    def total(self) -> float:
        """All parts together."""
        parts = zip(_WEIGHTS, (self.source, self.structure, self.novelty), strict=True)
        return round(min(1.0, sum(weight * part for weight, part in parts) + self.hint), 4)


def entities(content: str) -> tuple[str, ...]:
    """Files, packages, commands and symbols that a text names, in order; never people."""
    code = _CODE.findall(content)
    found = [f"command:{text}" for text in code if _COMMAND.match(text)]
    found += [f"package:{name}" for name in _INSTALL.findall(content)]
    files = [*_PATH.findall(content), *_FILE_NAME.findall(content)]
    found += [f"file:{name}" for name in files if not name.startswith(("e.g", "i.e"))]
    found += [f"symbol:{name}" for name in _SYMBOL.findall(content)]
    return tuple(dict.fromkeys(found))[:ENTITIES_MAX]


def tags(content: str) -> tuple[str, ...]:
    """At most TAGS_MAX words that say what a text is about, most frequent first.

    A capitalised word inside a sentence may be a person's name, and is left out.
    """
    words = [
        match[0].casefold()
        for match in _WORD.finditer(content)
        if match[0].casefold() not in FILLER and not _may_be_a_name(content, match)
    ]
    counted = Counter(words)
    first = {word: place for place, word in reversed(list(enumerate(words)))}
    ordered = sorted(counted, key=lambda word: (-counted[word], -len(word) // 4, first[word]))
    return tuple(ordered[:TAGS_MAX])


def _may_be_a_name(content: str, match: re.Match[str]) -> bool:
    is_capitalised = match[0][0].isupper() and match[0][1:].islower()
    return is_capitalised and not _SENTENCE_START.search(content[: match.start()])


def retrieval_hint(memory_type: str, content: str) -> str:
    """One line that says for which question a memory is good; from its type, tags and entities."""
    named = [one.split(":", 1)[1] for one in entities(content)]
    return f"{memory_type} about {', '.join([*named[:3], *tags(content)])}".rstrip()


def importance(item: Item, *, related_before: int, replaces: bool = False) -> Importance:
    """How much a statement matters.

    Args:
        item: the oldest item of the memory.
        related_before: how many related memories of its scope are older: what was said before in
            other words is no news.
        replaces: whether it took the place of another memory.
    """
    content = item.content
    signs = (_REASON, _ALTERNATIVE, _FIGURE)
    return Importance(
        source=_source(item, replaces=replaces),
        structure=round(sum(bool(one.search(content)) for one in signs) / len(signs), 4),
        novelty=round(1 / (1 + related_before), 4),
        hint=HINT_MAX * min(max(item.hint, 0), 1),
    )


def _source(item: Item, *, replaces: bool) -> float:
    """What the kind of statement weighs, and who made it."""
    if item.interviewer == "verbatim":
        return _CHATTER
    is_wish = item.memory_type in {"preference", "decision", "rule"}
    is_aside = bool(_ALTERNATIVE.search(item.content))
    if item.memory_type == "preference" and (replaces or is_aside):
        return _CORRECTION
    return min(_CORRECTION, _SOURCE[item.memory_type] + (0.1 if is_wish and replaces else 0.0))


def recency(memory_type: str, age_days: float) -> float:
    """How fresh something is, in (0, 1], by event time: a half after each half-life of its type."""
    half_life = HALF_LIFE_DAYS.get(memory_type, _OTHER_HALF_LIFE_DAYS)
    return float(0.5 ** (max(age_days, 0.0) / half_life))
