"""What English sentences of software work say about themselves: cue families, names, answers.

The families are words of the trade in general; none of them belongs to a project or a session.
"""

import re
from typing import Final

_I = re.IGNORECASE
_OPENING: Final = (
    r"(?:(?:perfect|great|excellent|good|ok(?:ay)?|alright|right|now|next|first|then|finally|so|"
    r"yes|ah+|aha|hmm+|wait|actually|also|and|but|almost there|done)\b[\s,.!:—-]*)*"
)

PLAN: Final = re.compile(
    rf"^{_OPENING}(?:let me\b|let'?s (?!not\b)|i'?ll\b|i will\b|i'?m going to\b|"
    r"i (?:need|want|have) to\b|we need to (?:check|see|look)\b|time to\b|"
    r"(?:i )?(?:can )?now (?:i |let|run|fix|update|add|check|verify|test|commit|for|the last)|"
    r"(?:run|fix|update|add|check|verify|test|read|look)(?:ning|ting|ing)?\b[^.]{0,60}[:…]$|"
    r"starting (?:with|by)\b|continuing\b|moving on\b|"
    r"(?:i )?(?:have|see) (?:a|the) (?:clear|full|complete|good) (?:picture|understanding|"
    r"context))",
    _I,
)
PRAISE: Final = re.compile(
    r"^(?:perfect|great|excellent|awesome|nice|wonderful|good (?:catch|question|idea|point|call)|"
    r"great (?:question|idea|point|catch)|(?:yes,? )?(?:you're|you are) (?:absolutely |totally )?"
    r"(?:right|correct)[^.!]{0,40}|exactly|absolutely|indeed|got it|understood|makes sense|"
    r"sounds good|done|all done|ok(?:ay)?|sure|yes|no problem|i see|ah|aha|hello|hi)"
    r"(?:[,!.:\s—-]|$)+",
    _I,
)
SIGN_OFF: Final = re.compile(
    r"^(?:everything (?:should|is|looks|seems)\b[^.,;:]{0,40}|"
    r"(?:all |you're |we're )?(?:ready|set)\b[^.,;:]{0,40}|"
    r"(?:let me know|happy to|feel free|enjoy|glad)\b[^.;:]*)[.!]*$",
    _I,
)
"""How replies take their leave; nothing in it outlives the turn."""
INJECTED: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.!?]{0,40}\b(?:instructions?|rules?|prompts?|"
    r"guidelines?|(?:said|written|told) (?:above|before))\b|"
    r"^\W*(?:system|developer)(?: (?:prompt|message|note|override|instructions?))?\s*:|"
    r"\b(?:new|updated) instructions? for\b|\byou are now (?:a|an|the|in)\b|"
    r"\b(?:note|remember|record|store|report|save) (?:in|under|for) (?:every|all|each) "
    r"(?:sections?|memor\w+|users?)\b|</?(?:system|instructions?|im_start|im_end)\b",
    _I,
)
"""Words that talk to whoever reads the conversation, to make it say something: never noted."""
OFFER: Final = re.compile(
    r"\b(?:should|shall|can|could) (?:i|we)\b|\bwould you (?:like|prefer)\b|\bdo you want\b|"
    r"\bwant me to\b|\blet me know\b|\bready (?:to|for)\b.*\?|\bthoughts\?|\bwhich (?:one|"
    r"option)\b",
    _I,
)
CHANGED: Final = re.compile(
    r"\b(?:added|fixed|removed|created|updated|implemented|renamed|moved|refactored|extracted|"
    r"replaced|introduced|converted|changed|merged|committed|pushed|released|published|deleted|"
    r"wrote|written|ported|migrated|reverted|simplified|integrated|bumped|installed|deployed|"
    r"generated|complete[d]?|succeed(?:s|ed)|success(?:ful(?:ly)?)?|pass(?:es|ed|ing)?|works|"
    r"working|done|ready|opened|resolved|undid|undone|now (?:\w+s)\b)",
    _I,
)
FAILED: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|broke(?:n)?|breaks|crash(?:es|ed)?|error(?:s)?|wrong|"
    r"did(?: not|n't) (?:work|fix|help)|does(?: not|n't) work|still (?:the same|looks|get|"
    r"fails|broken|not)|undid|regression|lost|corrupt(?:ed)?|mismatch)\b",
    _I,
)
CHOSEN: Final = re.compile(
    r"\b(?:instead(?: of)?|rather than|in favou?r of|decid(?:e|ed|es)|decision|chose[n]?|choose|"
    r"recommend(?:ed|ation|s)?|prefer(?:red|s)?|option \w\b|approach|switch(?:ed|es)? (?:to|from)|"
    r"should (?:be|use|have|live|go|not|never|only|return|always|stay)|shouldn't|no longer|"
    r"must(?: not)?|opt-(?:in|out)|default(?:s)? to|keep(?:s)?|drop(?:ped)?|reject(?:ed)?|"
    r"skip(?:ped)?|don't need|no need|we (?:should|can|could|will|want|need)|cleanest|best|"
    r"better|simpl(?:er|est|y)|design|so that|use[sd]? (?:a|the|one)|let'?s|make (?:it|the)|"
    r"merge[d]? into|belongs?|not (?:blocking|worth))\b",
    _I,
)
EXPLAINED: Final = re.compile(
    r"\b(?:because|since|cause[sd]?|reason|root cause|(?:issue|problem|bug|catch|trick|key) (?:is|"
    r"was|here)|means|therefore|due to|by design|actually|only|never|always|requires?|expects?|"
    r"contains?|returns?|is called|calls|doesn't|does not|isn't|aren't|cannot|can't|"
    r"without|unless|until|when|whenever|if|limit(?:ation|ed|s)?|caveat|note|depends|signature|"
    r"support(?:s|ed)?|takes|lacks?|missing|exists?|stored?|reads?|happens?|survives?|uses)\b",
    _I,
)
REMAINS: Final = re.compile(
    r"\b(?:todo|remain(?:s|ing)?|not (?:yet|done|implemented|started)|yet to|still (?:need|needs|"
    r"have|has|open|missing|to do)|block(?:s|ed|er|ing)?|pending|follow[- ]?up|next steps?|later|"
    r"left to|needs? to be|to be done|postpone[d]?|defer(?:red)?|could be removed|can be removed|"
    r"dead code|unused|duplicat(?:e|ed|ion)|p[123]\b|tech debt|waiting|won't (?:run|work)|"
    r"unresolved|key changes needed|outstanding)\b",
    _I,
)
WISHED: Final = re.compile(
    r"\b(?:always|never|please|don'?t|do not|stop|make sure|in (?:the )?future|from now on|"
    r"every time|next time|remember|i (?:want|prefer|hate|expect|told|said)|why (?:do|did|are|"
    r"would) "
    r"you|you (?:have(?:n'?t| not)|should|must|need|didn'?t|forgot|keep|always)|in full|"
    r"fully|before you|first|not (?:as|the|that)|no (?!longer|need)\w+|instead|without asking|"
    r"try again|only)\b",
    _I,
)
CORRECTS: Final = re.compile(
    r"\bwhy (?:do|did|are|would|does|is|has)(?:n'?t)? (?:you|we|it|this)\b|\byou (?:have(?:n'?t|"
    r"ve)?"
    r"|did(?:n'?t)?|should(?:n'?t)?|must|forgot|broke|keep|removed|never|always|need to)\b|"
    r"\bin full\b|\bmake sure\b|\b(?:always|never)\b|\b(?:do not|don'?t) \w+|\bno \w+[^?]*!|"
    r"^not (?:the|as|a)\b|\bi (?:told|said|asked|undid|want you)\b|\bin (?:the )?future\b|"
    r"\b(?:from now on|next time|without asking|before you|fully clean|commit first|first)\b",
    _I,
)
ASKED: Final = re.compile(
    r"^(?:can|could|would|will) (?:you|we)\b|\?\s*$|^(?:how|why|what|where|when|which|who|is|are|"
    r"does|do|did|any idea)\b",
    _I,
)
TASKED: Final = re.compile(
    r"^(?:ok(?:ay)?,?\s|alright,?\s|now,?\s|so,?\s|please\s)*(?:can you|could you|let'?s|we need "
    r"to|we should|i'?d like|i want|i'?m working|help|please|read|write|add|fix|create|update|"
    r"implement|review|find|search|investigate|look|check|move|port|refactor|make|build|set ?up|"
    r"change|remove|rename|generate|explain|we still need)\b",
    _I,
)
DENIED: Final = re.compile(r"^(?:no|nope|nah|don'?t|not|wait|actually|stop|neither)\b", _I)
ERRAND: Final = re.compile(
    r"^(?:ok(?:ay)?,?\s|yes,?\s|alright,?\s|please\s|and\s|now\s|just\s)*(?:continue|go on|"
    r"go ahead|"
    r"proceed|resume|commit|push|try again|again|wow|nice|thanks?|thank you|hi|hello|yo|ok(?:ay)?|"
    r"sleep|good|great|cool|ls|test|stop|wait|/\w*)\b[^a-z]*(?:\w+(?:\W+|$)){0,3}$",
    _I,
)

_NAME = re.compile(
    r"`[^`\n]+`|\b\w+(?:[_./:-]\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b\w*\d\w*\b|"
    r"--[\w-]+|"
    r"\b[A-Z]{2,}\b|#[0-9a-fA-F]{3,8}\b"
)
_WORD = re.compile(r"[A-Za-z0-9_]{3,}")
_COMMON_WORDS: Final = """
the and for that this with from was were are has have had not but its it's you your our their
they them then than there here when where what which who why how all any can could should would
will now also into onto over under more most some such only just like get got let use used uses
using one two new old out off per via been being does did done make made see look
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


def names(text: str) -> frozenset[str]:
    """The names in a text (identifiers, paths, numbers, flags): what makes a statement concrete."""
    return frozenset(name.strip("`").casefold() for name in _NAME.findall(text))


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, folded and cut to a stem of six letters."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word[:6] for word in words if word not in _COMMON)


def without_praise(sentence: str) -> str:
    """The sentence without the courtesy that it opens with."""
    rest = PRAISE.sub("", sentence, count=1)
    return rest[:1].upper() + rest[1:] if rest != sentence else sentence
