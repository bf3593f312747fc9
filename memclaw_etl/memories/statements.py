"""What a statement claims, as far as words show it: subjects, figures, identifiers, polarity."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memclaw_etl.memories.wording import terms

Words = frozenset[str]

_GROUPS = """
databas db | configur config set setting | fix repair resolv solv | creat add introduc implement
built build write wrote written | authent auth login signin | repositori repo | directori folder dir
| document doc | environ env | store save persist | fail broke broken break crash | need requir must
| start begin launch | run execut ran | minut min | second sec s | hour hr h | millisecond ms
| maximum max | minimum min | develop dev | product prod | everi each | ship releas publish deploy
| postgresql postgr | kubernet k8s | javascript js | typescript ts | one singl | quick fast | error
except | reply answer respons | pictur imag photo | mail email | bill invoic | check verifi valid
"""
_SYNONYMS = {word: group.split()[0] for group in _GROUPS.split("|") for word in group.split()[1:]}
_SOFT_WORDS = """
user team project now current today final new make made say said ask state note time way thing work
us chang switch move correct actual updat instead rather longer success failur partial whi becaus
sinc yes ok okay done decis decid agre settl opt went go use adopt choos chose chosen pick select
employ keep kept stick prefer like favor favour want love over than from howev again well need must
requir live rais lower increas decreas reduc bump default figur valu henceforth onward put into
"""
_SOFT = frozenset(_SOFT_WORDS.split())
"""Words that may stand in one wording and not in the other; what they say is read by rules."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|without|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't"
    r"|weren't|shouldn't|mustn't|hasn't|haven't|avoid\w*|stop(?:s|ped|ping)?|disabl\w+|forbid\w*"
    r"|forbade|refus\w+|reject\w*|den(?:y|ies|ied)|dislik\w+|hat(?:e|es|ed)|remov\w+|delet\w+"
    r"|dropp?(?:s|ed|ing)?|unsupported|off|block\w*|ban(?:s|ned)?)\b",
    re.IGNORECASE,
)
_POLAR_WORDS = """
not never no none without cannot can don doesn didn won isn aren wasn weren shouldn mustn hasn haven
t avoid stop disabl forbid forbad forbidden refus reject deni dislik hate remov delet drop unsupport
enabl allow accept support permit off on block ban
"""
_POLAR = frozenset(_POLAR_WORDS.split())
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_SERIES = (
    "release|version|build|issue|ticket|pr|mr|pull request|step|chapter|sprint|batch|phase"
    "|iteration|milestone|migration|case|test|task|run|row|line|page|part|section|figure|table"
    "|week|round|exercise|question|item|job|shard|node|server|host|plan|topic|option|window"
    "|candidate|attempt|experiment|customer|order|invoice|room|lesson|episode|module|model|group"
)
_IDENTIFIER = re.compile(
    rf"\b[a-z][a-z0-9]+-\d+\b|#\d+|\b(?:{_SERIES})s?\s+(?:number\s+|no\.?\s+)?#?"
    r"(?:v?\d[\w.]*|[a-z]+\d+|[a-z](?=\W|$))|\b(?=[a-f\d]*\d)(?=[a-f\d]*[a-f])[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<![\w.-])(?:[\w.-]*/)+[\w.-]*\w|\b[\w-]{1,100}\.[a-z]{1,5}\b(?!\.\w)", re.IGNORECASE
)
"""Looked for at the first letter of a run only, or bounded, so that time stays linear."""
_FIGURE = re.compile(
    rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bq[1-4]\b|\bv?\d[\d,_]*(?:[.:]\d+)*",
    re.IGNORECASE,
)
_NUMBERS = ("zero", "-", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(set(_NUMBERS) - {'-'})})\b(?!-)")
"""Without `one`, which mostly counts nothing."""
_MIXED = re.compile(r"\b(?=\w*\d)(?=\w*[a-z])[\w]+\b")
_ASIDE = re.compile(
    r"(?:\binstead of:?|\brather than|\breplac(?:es|ed|ing|e)|(?:,|\band)\s+not|\bover|\bfrom)"
    r"\s+(?:us(?:e|ing)\s+|the\s+|a\s+|an\s+)?([\w.+#-]+)"
)
_DENIED = re.compile(r"(?:,|\band)\s+not\s+(?:the |a |an )?[\w.+#-]+")
_VALUE = re.compile(
    r"\b(?:uses?|used|using|chose|choose|chosen|adopt\w*|pick\w*|select\w*|prefer\w*|wants?|likes?"
    r"|(?:switch\w*|mov(?:e|es|ed|ing)|migrat\w+|chang\w+|went|go|stick|settl\w+|default\w*|set)"
    r"\s+(?:over |back |[\w-]+ ){0,2}?(?:to|on|with)"
    r"|(?:stored?|lives?|kept|runs?|host(?:s|ed)?|deploy(?:s|ed)?|written|built)"
    r"\s+(?:in|on|to|at|with)|(?:is|are)(?!\s+(?:stored|kept|host|deploy|written|built)))"
    r"\s+(?:the |a |an |now |our |in |on |by |with )*"
    r"([\w.+#-]+(?: [\w.+#-]+)?)"
)
_CHOSEN = re.compile(
    r"(?<![\w.+#-])([\w.+#-]+)\s+(?:is|was|are|were|will be)\s+(?:now\s+)?"
    r"(?:used|chosen|picked|selected|adopted|preferred|our)\b"
)
_ORDER = re.compile(r"\b(?:before|after|than|over)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """What is compared of one text. Everything is folded, stemmed and free of synonyms."""

    words: Words
    """Its subjects: without figures, identifiers, denials and words that claim nothing."""
    order: tuple[str, ...]
    figures: frozenset[str]
    """Numbers, dates, weekdays."""
    identifiers: frozenset[str]
    """Tickets, files, hashes, members of a series: `release 17`."""
    is_denied: bool
    aside: Words
    """What it says is replaced."""
    value: Words
    """What it says is used, chosen, or is so."""
    is_ordered: bool

    @property
    def is_comparable(self) -> bool:
        """Whether there is enough to compare; else it is equal to itself only."""
        return bool(self.words) and len(self.words) + len(self.figures) > 1


@lru_cache(maxsize=65_536)
def statement_of(content: str) -> Statement:
    """Read a text. Case and white space make no difference."""
    text = " ".join(content.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold().split())
    text = _NUMBER_WORD.sub(lambda found: str(_NUMBERS.index(found[0])), text)
    identifiers, rest = _taken(_IDENTIFIER, text)
    files, rest = _taken(_FILE, rest)
    figures, rest = _taken(_FIGURE, rest)
    mixed, rest = _taken(_MIXED, rest)
    order = tuple(word for word in _canonical(rest) if word not in _SOFT | _POLAR)
    values = [*_VALUE.findall(rest), *_CHOSEN.findall(rest)]
    return Statement(
        words=frozenset(order),
        order=order,
        figures=frozenset(_plain_figure(figure) for figure in figures),
        identifiers=frozenset(identifiers | files | mixed),
        is_denied=len(_NEGATION.findall(_DENIED.sub(" ", text))) % 2 == 1,
        aside=frozenset(word for found in _ASIDE.findall(rest) for word in _canonical(found)),
        value=frozenset(word for found in values for word in _canonical(found)),
        is_ordered=_ORDER.search(text) is not None,
    )


def _taken(pattern: re.Pattern[str], text: str) -> tuple[set[str], str]:
    """What the pattern finds, and the text without it."""
    found = {" ".join(match[0].split()) for match in pattern.finditer(text)}
    return found, pattern.sub(" ", text)


def _canonical(text: str) -> list[str]:
    return [_SYNONYMS.get(term, term) for term in terms(text) if len(term) > 1]


def _plain_figure(figure: str) -> str:
    return re.sub(r"[,_]|(?<=\d)(?:st|nd|rd|th)|^v(?=\d)|s$|\bof\b ?", "", figure)
