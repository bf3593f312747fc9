"""Reads the Markdown of a message into passages: prose and lists, each with what stands over it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

STATEMENT_CHARS: Final = 290
"""Longest statement: below the 300 characters that a concise memory may have."""
HEADING_CHARS: Final = 80

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+)|\*\*(?P<bold>[^*]+)\*\*:?)\s*$")
_BULLET = re.compile(r"^(?P<indent>\s*)(?:[-*•+]|\d{1,3}[.)])\s+(?P<text>\S.*)$")
_ROW = re.compile(r"^\s*\|(?P<cells>.+)\|\s*$")
_RULER = re.compile(r"^[\s|:\-=_*]*$")
_QUOTE = re.compile(r"^\s*>")
_BOLD = re.compile(r"\*\*")
_ITALIC = re.compile(r"(?<![\w*])\*(\w[^*\n]*)\*(?![\w*])")
_SYMBOLS = re.compile(r"[\u2600-\u27bf\u2b50\ufe0f\U0001f300-\U0001faff]")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9`\"'(\[*])|\n+")


class Shape(StrEnum):
    """How a passage stands in its message."""

    PROSE = "prose"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences of a paragraph, or items of a list or table, with the heading over them."""

    shape: Shape
    heading: str
    lead: str
    pieces: tuple[str, ...]


def read_passages(text: str) -> tuple[Passage, ...]:
    """The passages of a Markdown text, in order; code blocks, quotes and rulers are left out."""
    reader = _Reader()
    for line in _FENCE.sub("\n", text).split("\n"):
        reader.take(line)
    reader.close()
    return tuple(reader.passages)


def plain(text: str) -> str:
    """The text on one line without emphasis marks and symbols, with straight apostrophes."""
    text = text.replace("\u2019", "'")
    return " ".join(_SYMBOLS.sub(" ", _ITALIC.sub(r"\1", _BOLD.sub("", text))).split())


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order, blank ones left out."""
    return tuple(s for s in (plain(part) for part in _SENTENCE_END.split(_BOLD.sub("", text))) if s)


def packed(pieces: Sequence[str], *, joint: str, room: int) -> Iterator[str]:
    """Neighbouring pieces joined to texts of at most `room` characters; a longer piece is cut."""
    text = ""
    for piece in pieces:
        longer = f"{text}{joint}{piece}" if text else piece
        if text and len(longer) > room:
            yield text
            longer = piece
        text = cut(longer, room)
    if text:
        yield text


def cut(text: str, room: int) -> str:
    """At most `room` characters of the text, cut at the end of a clause or a word."""
    if len(text) <= room:
        return text
    head = text[: room - 1]
    for joint in ("; ", ". ", ", ", " "):
        at = head.rfind(joint, room // 2)
        if at > 0:
            return head[:at].rstrip(" ,;.") + "…"
    return head + "…"


@dataclass(slots=True)
class _Reader:
    passages: list[Passage] = field(default_factory=list)
    heading: str = ""
    lead: str = ""
    prose: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        if _RULER.match(line) or _QUOTE.match(line):
            self._blank(line)
        elif match := _HEADING.match(line):
            self.close()
            self.heading = plain(match["marked"] or match["bold"]).strip(" :#")
            self.lead = ""
        elif match := _BULLET.match(line):
            self._item(match["text"], nested=len(match["indent"]) > 1)
        elif match := _ROW.match(line):
            self._item(_row(match["cells"]), nested=False)
        elif self.items and line[:1].isspace():
            self.items[-1] = f"{self.items[-1]} {plain(line)}"
        else:
            self._end_list()
            self.prose.append(line)

    def close(self) -> None:
        self._end_prose()
        self._end_list()

    def _blank(self, line: str) -> None:
        if "|" in line:  # the ruler of a table: what stood over it is its head
            self.items = self.items[:-1]
        self._end_prose()

    def _item(self, text: str, *, nested: bool) -> None:
        self._end_prose()
        text = plain(text)
        if nested and self.items:
            parent = self.items[-1]
            self.items[-1] = f"{parent}{' ' if parent.endswith(':') else ', '}{text}"
        elif text:
            self.items.append(text)

    def _end_prose(self) -> None:
        parts = list(sentences("\n".join(self.prose)))
        self.prose = []
        if not parts:
            return
        self._end_list()
        self.lead = parts.pop().rstrip(" :") if parts[-1].endswith(":") else ""
        if parts:
            self.passages.append(Passage(Shape.PROSE, self.heading, "", tuple(parts)))

    def _end_list(self) -> None:
        if self.items:
            passage = Passage(Shape.LIST, self.heading, self.lead, tuple(self.items))
            self.passages.append(passage)
        elif self.lead:
            self.passages.append(Passage(Shape.PROSE, self.heading, "", (self.lead + ":",)))
        self.items, self.lead = [], ""


def _row(cells: str) -> str:
    first, *rest = (cell.strip() for cell in cells.split("|"))
    filled = ", ".join(cell for cell in rest if cell and cell != "-")
    return f"{first}: {filled}" if filled else first
