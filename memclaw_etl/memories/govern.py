"""Govern: which items may become memories under a tenant's policies, and in which words.

Pure, and blind to order and batching: what becomes of an item follows from the item and the
policies alone (only the words around it, which search knows, follow from its whole window).
What was found is counted and listed by policy; its text is kept nowhere.
"""

import hashlib
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memclaw_etl.masking import Finding
from memclaw_etl.masking.findings import united
from memclaw_etl.masking.personal import look_personal
from memclaw_etl.memories import govern_topics
from memclaw_etl.memories.govern_patterns import find_pattern
from memclaw_etl.memories.items import Item, text_hash
from memclaw_etl.memories.wording import terms
from memclaw_etl.tenant_settings import PolicySettings

GOVERN_VERSION = "1"
"""Raise it when the rules may decide otherwise about any text: what is stored then follows."""
MASK, DROP, FLAG = "mask", "drop", "flag"
FLAG_PREFIX = "policy:"
TITLE_CHARS = 80
NON_BUSINESS = "non_business"
_MARK = re.compile(r"\[MASKED:(?P<kind>[a-z\-]+):(?P<number>\d+)\]")
_EMPTY = re.compile(r"\[(?:success|failure|partial)\]|\(instead of:|Why:|[\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class Record:
    """What a policy did to an item."""

    item_id: str
    policy: str
    action: str


@dataclass(frozen=True, slots=True)
class Governed:
    """What is left of items, and why; no text of what is gone."""

    items: tuple[Item, ...]
    """In the order in which they were given."""
    records: tuple[Record, ...]
    """Sorted; one for each item, policy and action."""

    @property
    def dropped(self) -> dict[str, int]:
        """Items that make no memory, by policy."""
        return self._count(DROP)

    @property
    def masked(self) -> dict[str, int]:
        """Items of which something was masked, by policy."""
        return self._count(MASK)

    @property
    def flagged(self) -> dict[str, int]:
        """Items that say that something was found in them, by policy."""
        return self._count(FLAG)

    def _count(self, action: str) -> dict[str, int]:
        counted = Counter(one.policy for one in self.records if one.action == action)
        return dict(sorted(counted.items()))


@dataclass(frozen=True, slots=True)
class _Hit:
    """What one policy found in one item's content. `is_all`: the content says nothing else."""

    policy: PolicySettings
    findings: tuple[Finding, ...]
    is_all: bool


def fingerprint(policies: Sequence[PolicySettings]) -> str:
    """Names the policies and the rules behind them; empty for none."""
    if not policies:
        return ""
    parts = (GOVERN_VERSION, *(policy.model_dump_json() for policy in policies))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def govern(items: Iterable[Item], policies: Sequence[PolicySettings]) -> Governed:
    """Apply policies to items, all of one tenant.

    `drop` wins over `mask` and `flag`; of several that drop, the first one in the settings is the
    reason. A statement that is only in part about a dropped topic keeps the rest: its sentences are
    masked. One of which a mask leaves nothing is dropped.
    """
    given = tuple(items)
    if not policies or not given:
        return Governed(given, ())
    hits = _hits(given, policies)
    kept: list[Item] = []
    records: set[Record] = set()
    gone: defaultdict[str, set[str]] = defaultdict(set)
    for item, mine in zip(given, hits, strict=True):
        left, actions = _ruled(item, mine)
        records.update(Record(item.item_id, policy, action) for policy, action in actions)
        gone[item.window_key] |= _words_gone(item, mine)
        if left is not None:
            kept.append(left)
    return Governed(tuple(_without_words(kept, gone, policies)), tuple(sorted(records)))


def _hits(items: Sequence[Item], policies: Sequence[PolicySettings]) -> list[list[_Hit]]:
    """For each item, what each policy finds in its content."""
    texts = [item.content for item in items]
    may_have = govern_topics.may_have_topics(texts)
    hits: list[list[_Hit]] = [[] for _ in items]
    for policy in policies:
        for number, (findings, is_all) in enumerate(_found(policy, texts, may_have)):
            whole = _with_whole_marks(texts[number], findings)
            if whole:
                hits[number].append(_Hit(policy, whole, is_all))
    return hits


def _found(
    policy: PolicySettings, texts: Sequence[str], may_have_topics: Sequence[bool]
) -> list[tuple[Sequence[Finding], bool]]:
    """(findings, whether a drop takes the whole text) of each text."""
    if policy.pattern is not None:
        found = find_pattern(policy.pattern, texts, kind=policy.name)
        return [(findings, True) for findings in found]
    if policy.category == "personal_data":
        return [(list(look_personal(text)), True) for text in texts]
    topics = topics_of(policy)
    return [
        govern_topics.about(text, topics, kind=policy.name) if may else ((), True)
        for text, may in zip(texts, may_have_topics, strict=True)
    ]


def topics_of(policy: PolicySettings) -> frozenset[str]:
    """The topics of a policy on non-business content."""
    every = policy.category == NON_BUSINESS
    return frozenset(govern_topics.TOPICS) if every else frozenset({str(policy.category)})


def _with_whole_marks(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, disjoint; a mark that masking left is taken whole or not at all."""
    marks = [match.span() for match in _MARK.finditer(text)]
    grown = [
        _around_marks(one, marks)
        for one in findings
        if not any(start <= one.start and one.end <= end for start, end in marks)
    ]
    return tuple(united(grown))


def _around_marks(finding: Finding, marks: Sequence[tuple[int, int]]) -> Finding:
    touched = [mark for mark in marks if mark[0] < finding.end and finding.start < mark[1]]
    return Finding(
        finding.kind,
        min([finding.start, *(start for start, _ in touched)]),
        max([finding.end, *(end for _, end in touched)]),
    )


def _ruled(item: Item, hits: Sequence[_Hit]) -> tuple[Item | None, list[tuple[str, str]]]:
    """What is left of an item, and what each policy did: (policy, action)."""
    for hit in hits:
        if hit.policy.action == DROP and hit.is_all:
            return None, [(hit.policy.name, DROP)]
    masking = [hit for hit in hits if hit.policy.action != FLAG]
    flagging = [hit.policy.name for hit in hits if hit.policy.action == FLAG]
    content = _masked(item.content, [one for hit in masking for one in hit.findings])
    if masking and not _says_something(content):
        return None, [(masking[0].policy.name, DROP)]
    actions = [(hit.policy.name, MASK) for hit in masking]
    actions += [(name, FLAG) for name in flagging]
    return _reworded(item, content, flagging), actions


def _reworded(item: Item, content: str, flagging: Sequence[str]) -> Item:
    """The item in these words; its id stays, since it names what was said in the window."""
    if content != item.content:
        title = textwrap.shorten(content, TITLE_CHARS, placeholder="…")
        said = item.said_hash or text_hash(item.content)
        item = replace(item, content=content, title=title, said_hash=said)
    if flagging:
        flags = {*item.flags, *(f"{FLAG_PREFIX}{name}" for name in flagging)}
        item = replace(item, flags=tuple(sorted(flags)))
    return item


def _masked(text: str, findings: list[Finding]) -> str:
    """The text with a mark for each finding; equal findings get equal marks."""
    numbers: Counter[str] = Counter()
    for mark in _MARK.finditer(text):
        numbers[mark["kind"]] = max(numbers[mark["kind"]], int(mark["number"][:9]))
    known: dict[tuple[str, str], str] = {}
    parts: list[str] = []
    at = 0
    for kind, start, end in united(findings):
        place = (kind, text[start:end])
        if place not in known:
            numbers[kind] += 1
            known[place] = f"[MASKED:{kind}:{numbers[kind]}]"
        parts += (text[at:start], known[place])
        at = end
    return "".join([*parts, text[at:]])


def _says_something(content: str) -> bool:
    return bool(_EMPTY.sub("", _MARK.sub("", content)))


def _words_gone(item: Item, hits: Sequence[_Hit]) -> set[str]:
    """Words of what was dropped or masked: search must not know them from the words around."""
    if not any(hit.policy.action != FLAG for hit in hits):
        return set()
    spans = [one for hit in hits if hit.policy.action != FLAG for one in hit.findings]
    return {word for one in spans for word in terms(item.content[one.start : one.end])}


def _without_words(
    items: Sequence[Item],
    gone: Mapping[str, set[str]],
    policies: Sequence[PolicySettings],
) -> list[Item]:
    """The items without those words around them that a policy took from their window.

    A pattern is also looked for among the words around, in any case: they are folded.
    """
    patterns = [one.pattern for one in policies if one.pattern and one.action != FLAG]
    around = [item.nearby for item in items]
    for pattern in patterns:
        found = find_pattern(f"(?i){pattern}", around, kind="")
        around = [_cut(text, some) for text, some in zip(around, found, strict=True)]
    return [
        replace(item, nearby=_less(text, gone[item.window_key])) if item.nearby else item
        for item, text in zip(items, around, strict=True)
    ]


def _cut(words: str, findings: Sequence[Finding]) -> str:
    """The words that no finding touches."""
    kept, at = [], 0
    for word in words.split(" "):
        end = at + len(word)
        if not any(one.start < end and at < one.end for one in findings):
            kept.append(word)
        at = end + 1
    return " ".join(kept)


def _less(words: str, gone: set[str]) -> str:
    return " ".join(word for word in words.split(" ") if word not in gone) if gone else words
