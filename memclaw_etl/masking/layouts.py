"""Credentials whose name stands elsewhere: table columns, Kubernetes secrets, lists of codes."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.names import Strength, strength_of
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_placeholder, is_random, is_wordy

_RULE_LINE = re.compile(r"[ \t>]{0,4}\|?[ \t]*:?-{2,}[-| \t:]*$")
_CODES = re.compile(
    r"[^\n]{0,60}"
    r"(?:\n[ \t>*\-\d.)]{0,6}(?![A-Za-z]{1,10} codes?\b)"
    r"[A-Za-z0-9]{4,10}(?:[- ][A-Za-z0-9]{4,10}){0,3}[ \t]*(?=\n|$)){2,20}"
)
_CODE = re.compile(r"(?=[a-zA-Z-]*\d)[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){0,3}")
_PHRASE = re.compile(
    r"(?:\s*(?:is|was|:|=|->)|[\"'])[\s\"'`:]{1,4}"
    r"(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![a-z])"
)
_DATA = re.compile(r"(?m)^(?P<indent>[ \t>]*)(?:string)?[dD]ata:[ \t]*$")
_ENTRY = re.compile(
    r"\n(?P<indent>[ \t>]+)[\w.\-]+:[ \t]{1,4}(?P<quote>[\"']?)"
    r"(?P<value>[^\s\"'|>]{4,8192})(?P=quote)[ \t]*(?=\n|$)"
)
_HEAD_END = re.compile(r"[\w \"'*`]{0,24}+[|,\t\n]")
_MOST_ROWS = 50
_LINE_CHARS = 300
_HEADING_CHARS = 30
_DOCUMENT_CHARS = 2_000


def look_table(text: str, start: int, end: int) -> Iterator[Finding]:
    """A column of a Markdown or CSV table is headed by a credential word."""
    if _HEAD_END.match(text, end) is None:
        return
    stop = text.find("\n", end, end + _LINE_CHARS)
    if stop < 0:
        return
    newline = text.rfind("\n", max(0, start - _LINE_CHARS), start)
    if newline < 0 and start > _LINE_CHARS:
        return
    begin = newline + 1
    head = text[begin:stop]
    separator = (
        "|" if head.count("|") >= 2 else "," if "," in head else "\t" if "\t" in head else ""
    )
    if not separator:
        return
    if sum(bool(cell.strip()) for cell in head.split(separator)) < 2:
        return
    column = text[begin:start].count(separator)
    strength = _heading(head, separator, column)
    if strength < Strength.TOKEN:
        return
    yield from _cells(
        text,
        stop,
        separator=separator,
        column=column,
        columns=head.count(separator),
        strength=strength,
    )


def _heading(head: str, separator: str, column: int) -> Strength:
    """How strongly a line's cell names a credential."""
    name = head.split(separator)[column].strip(" \"'*`>")
    return strength_of(name.replace(" ", "_")) if len(name) <= _HEADING_CHARS else Strength.NONE


def _cells(
    text: str, at: int, *, separator: str, column: int, columns: int, strength: Strength
) -> Iterator[Finding]:
    for _ in range(_MOST_ROWS):
        begin = at + 1
        at = text.find("\n", begin, begin + 2000)
        row = text[begin : at if at >= 0 else min(len(text), begin + 2000)]
        if row.count(separator) != columns:
            return
        if not _RULE_LINE.match(row):
            offset = begin + sum(len(cell) + 1 for cell in row.split(separator)[:column])
            raw = row.split(separator)[column]
            value = _bare(raw)
            if is_wordy(value) and _heading(row, separator, column) >= Strength.TOKEN:
                return  # another heading, which looks under itself
            if _is_cell_secret(value, strength=strength):
                first = offset + raw.index(value)
                yield Finding("table-secret", first, first + len(value))
        if at < 0:
            return


def _bare(cell: str) -> str:
    """Without blanks, quotes and the stars of bold text; one star at the end may be part of it."""
    value = cell.strip(" \t\"'`")
    return value.strip("*") if value.startswith("*") else value


def _is_cell_secret(value: str, *, strength: Strength) -> bool:
    if len(value) < 6 or " " in value or is_placeholder(value) or is_wordy(value):
        return False
    if is_random(value, least_chars=8):
        return True
    return (
        strength is Strength.PASSWORD
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
    )


def look_codes(text: str, start: int, end: int) -> Iterator[Finding]:
    """Recovery codes, one a line under their heading."""
    del start
    found = _CODES.match(text, end)
    if found is None:
        return
    first_line = text.find("\n", end)
    for code in _CODE.finditer(text, first_line, found.end()):
        yield Finding("recovery-code", *code.span())


def look_phrase(text: str, start: int, end: int) -> Iterator[Finding]:
    """Twelve to twenty-four words that restore a wallet."""
    del start
    found = _PHRASE.match(text, end)
    if found is not None:
        yield Finding("seed-phrase", *found.span("value"))


def look_kubernetes(text: str, start: int, end: int) -> Iterator[Finding]:
    """Every value of a Kubernetes Secret: of the document that says this kind, and of no other."""
    first, last = _document(text, start, end)
    for data in _DATA.finditer(text, first, last):
        at = data.end()
        for _ in range(_MOST_ROWS):
            entry = _ENTRY.match(text, at)
            if entry is None or len(entry["indent"]) <= len(data["indent"]):
                break
            if not is_placeholder(entry["value"]) and _is_encoded_secret(entry["value"]):
                yield Finding("kubernetes-secret", *entry.span("value"))
            at = entry.end()


def _document(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the YAML document around its `kind:` may stand.

    No further than another one's `kind:`, which is indented alike.
    """
    first, last = max(0, start - _DOCUMENT_CHARS), end + _DOCUMENT_CHARS
    newline = text.rfind("\n", max(0, start - _LINE_CHARS), start)
    if newline < 0 and start > _LINE_CHARS:
        return first, last
    other = "\n" + text[newline + 1 : start] + "kind:"
    before, after = text.rfind(other, first, max(0, newline)), text.find(other, end, last)
    return max(first, before), last if after < 0 else after


def _is_encoded_secret(value: str) -> bool:
    return is_random(value, least_chars=8) and not is_wordy(value)


RULES = (
    Rule(("password", "passwd", "pwd", "secret", "token", "api key", "api_key"), look_table),
    Rule(
        ("recovery codes", "backup codes", "scratch codes", "recovery code", "2fa codes"),
        look_codes,
    ),
    Rule(
        (
            "recovery phrase",
            "seed phrase",
            "mnemonic",
            "backup phrase",
            "seed words",
            "wallet phrase",
        ),
        look_phrase,
    ),
    Rule(("kind: secret", 'kind: "secret', "kind: 'secret"), look_kubernetes),
)
