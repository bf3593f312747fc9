"""When two statements must not be joined, however alike they sound: pure rules on their words."""

import re
from typing import Final

from memclaw_etl.interview.names import figures_in, names_in

_WORD: Final = re.compile(r"\w+")
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|none|nothing|nobody|without|cannot|nowhere|hardly|unless)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_OPPOSITES: Final = tuple(
    (re.compile(rf"\b(?:{one})\b", re.IGNORECASE), re.compile(rf"\b(?:{other})\b", re.IGNORECASE))
    for one, other in (
        (r"enabl\w+", r"disabl\w+"),
        (r"add(?:s|ed|ing)?", r"remov\w+|delet\w+|dropp?\w*"),
        (r"before", r"after"),
        (r"increas\w+|rais\w+|higher|more|longer", r"decreas\w+|lower\w*|reduc\w+|less|shorter"),
        (r"allow\w*|permit\w*", r"forbid\w*|den(?:y|ies|ied)|refus\w+|reject\w*|block\w*"),
        (r"pass(?:es|ed)?|succeed\w*|success\w*|works?", r"fail\w*|broke\w*|crash\w*"),
        (r"open(?:s|ed)?", r"clos(?:e|es|ed)"),
        (r"first", r"last"),
        (r"always", r"sometimes|rarely"),
        (r"min(?:imum)?|at least", r"max(?:imum)?|at most"),
        (r"true|on|yes", r"false|off"),
        (r"sync\w*", r"async\w*"),
        (r"read(?:s|ing)?", r"writ(?:e|es|ing)"),
        (r"client\w*", r"server\w*"),
        (r"accept\w*|approv\w+", r"reject\w*|declin\w+"),
        (r"start\w*", r"stop\w*|end(?:s|ed)?"),
        (r"keep\w*|kept", r"remov\w+|delet\w+|dropp?\w*|discard\w*"),
    )
)
_PROPER: Final = re.compile(r"\b[A-Z][\w+#-]*")
_STARTERS: Final = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those it its we i you they he she there here our your their "
        "one all each every any some both use uses using keep add run set make put do does did "
        "let when if while since because before after for from in on at to with by as only now "
        "then also but and or so what which who why how where is are was were be been has have "
        "had will would can could should must may might not no never yes new old user agent ",
    )
)
"""Words that carry no claim, and that sentences like to begin with."""
_STEM_CHARS: Final = 5


def may_join(one: str, other: str) -> bool:
    """Whether nothing in their words says that two statements differ in what they claim.

    They must name the same figures, deny equally often, hold no pair of opposites, not be the same
    sentence about another thing, and not each name something that the other lacks.
    """
    return (
        figures_in(one) == figures_in(other)
        and len(_NEGATION.findall(one)) == len(_NEGATION.findall(other))
        and not _opposed(one, other)
        and not _one_word_apart(one, other)
        and not (_names_missing(one, other) and _names_missing(other, one))
    )


def _opposed(one: str, other: str) -> bool:
    return any(
        _only(first, second, one, other) or _only(first, second, other, one)
        for first, second in _OPPOSITES
    )


def _only(first: re.Pattern[str], second: re.Pattern[str], one: str, other: str) -> bool:
    """Whether one text has the first word of a pair alone, and the other the second alone."""
    return bool(
        first.search(one)
        and not second.search(one)
        and second.search(other)
        and not first.search(other)
    )


def _one_word_apart(one: str, other: str) -> bool:
    """Whether they are the same sentence about two things: the importer, the exporter."""
    mine, theirs = _claims(one), _claims(other)
    first, second = mine - theirs, theirs - mine
    if len(first) != 1 or len(second) != 1:
        return False
    return next(iter(first))[:_STEM_CHARS] != next(iter(second))[:_STEM_CHARS]


def _claims(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _STARTERS


def _names_missing(one: str, other: str) -> bool:
    """Whether the first text names something that the second does not hold."""
    plain = other.casefold()
    return any(name not in plain for name in names_in(one) | _proper(one))


def _proper(text: str) -> set[str]:
    """Capitalised words that are no common openings of a sentence."""
    found = {word.casefold() for word in _PROPER.findall(text)}
    return {word for word in found - _STARTERS if not word.endswith(("ed", "ing"))}
