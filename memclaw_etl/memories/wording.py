"""Words of a text as recall and resolving compare them: folded, stemmed, without filler."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

import Stemmer

_FILLER_WORDS = """
a an and are as at be been being but by can could did do does for from had has have he her his
how i if in into is it its just me my of on or our she should so some such than that the their
them then there these they this those to up us was we were what when where which who whom why
will with would you your also already still very really please all any about
"""
FILLER = frozenset(_FILLER_WORDS.split())
"""Words that carry no subject; negations and words of order are not among them."""

_WORD = re.compile(r"[^\W_]+")


def terms(text: str) -> list[str]:
    """Stems of the words that carry a subject, in order."""
    return [_stem(word) for word in _WORD.findall(text.casefold()) if word not in FILLER]


def bare(text: str) -> str:
    """A text without what makes no difference to a reader: case, white space and punctuation."""
    return " ".join(_WORD.findall(text.casefold()))


def pairs(words: Sequence[str]) -> list[str]:
    """Each two words that stand beside each other, as one word."""
    return [f"{left}_{right}" for left, right in pairwise(words)]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """English Snowball stem; words of other languages mostly stay as they are."""
    stem: str = _stemmer().stemWord(word)
    return stem


@cache
def _stemmer() -> "Stemmer.Stemmer":
    return Stemmer.Stemmer("english")
