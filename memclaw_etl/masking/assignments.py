r"""Values that stand behind the name of a credential: env, JSON, YAML, TOML, code, XML, tables.

The shape is `name operator value`, where the name holds a credential word. Quotes around name and
value may be escaped any number of times (`\\\"api_key\\\":\\\"...`), as logs and tool results do.
"""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.names import Name, Strength, name_at
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.values import is_random, is_varied
from memclaw_etl.masking.verdict import is_credential

ANCHORS = (
    "pass", "passwor", "pasw", "psw", "pssw", "pwd", "pw", "kennwort",
    "secret", "token", "key", "credential", "auth", "cred", "salt", "signature", "cookie",
    "webhook", "_dsn", "?sig", "&sig", "?code", "&code", "sessid", "_api", "srt",
)  # fmt: skip

_TAIL = re.compile(
    r"""(?xi)
    (?:\w++|[.\-](?![>=])){0,16}+
    (?:\((?:[\w \-]{1,20})\)|\ for\ [\w.@\-]{1,30})?         # Key(ANYSecret):  password for bob:
    (?P<closing>(?:\\*["'`]|&quot;|\*{1,2}|[\])]){0,3})
    (?:\s{0,2}:\s{0,2}(?:string|str|&str|text|bytes)\s{0,2}(?==)|\s{1,2}string\s{0,2}(?==))?
    \s{0,20}
    (?P<op>
        :{1,3}= | \?= | \.= | \+= | ={2,3} | !={1,2} | => | -> | = | : | \|\| | \?\? | %3[dD] | \|
      | (?<=["'`]), | (?<=["'`]\ ), | (?<=["'`]\)),? | (?<=[\])]\ )or(?=\ )
      | (?<=["'`]\ )value= | \((?=\\*["']) | (?<=\ )(?:is|to|was|set\ to|are)(?=\ )
    )
    [ \t]{0,20}
    (?:\[\]byte|new\s|b(?=["'])|\((?=["']))?
    (?P<open>\\*(?:\"{3}|'{3}|\"(?!\")|'(?!')|`)|&quot;|&\#39;|%22)?
    """
)
_XML_TAIL = re.compile(r"(?i)[\w.\-]{0,40}+(?:\"[^<>\n]{0,80})?>\s{0,20}(?P<open>)")
_UNQUOTED = re.compile(r"(?:[^\s\"'`<>\\&]|\\(?![nrtu\"'])|&(?!lt;|gt;|quot;|amp;)){1,512}+")
_REST = re.compile(r"[A-Za-z0-9+/=_.\-]*")
_URL_VALUE = re.compile(r"(?:[^\s\"'`<>&#,;)\]}|\\%]|%(?!26)){1,512}+")
_MULTILINE = re.compile(r"[A-Za-z0-9+/=_\-\s\\]*")
_NEXT_PAIR = re.compile(r"[,;&/|]\s?[A-Za-z_][\w.\-]{0,30}['\"]?\s?[=:](?=[^\s=])")
_JUDGED_CHARS = 512
_MOST_QUOTED_CHARS = 8192
_OPENERS = {")": "(", "]": "[", "}": "{"}
_TRAIL = ".,;:)]}|\\>"


def look(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find the value that the name around the anchor is given."""
    tail = _TAIL.match(text, end)
    if tail is None:
        return
    name = name_at(text, start, tail.start("closing"))
    if name.strength is Strength.NONE or _is_userinfo(text, start):
        return
    span = _value_span(text, tail["open"] or "", tail.end(), in_url=name.in_url)
    if span is None:
        return
    begin, stop = span
    value = "".join(text[begin : min(stop, begin + _JUDGED_CHARS)].split("\n"))
    if is_credential(value, name=name, operator=tail["op"], is_quoted=bool(tail["open"])):
        if stop - begin >= _JUDGED_CHARS and not tail["open"]:
            stop = _REST.match(text, stop).end()  # type: ignore[union-attr]
        yield Finding(name.kind, begin, stop)


def _is_userinfo(text: str, start: int) -> bool:
    """The name is the user of a URL; what follows is the matter of another rule."""
    scheme = text.rfind("://", max(0, start - 40), start)
    return scheme >= 0 and not re.search(r"[\s/?\"']", text[scheme + 3 : start])


def look_xml(text: str, start: int, end: int) -> Iterator[Finding]:
    """Find the text of an element whose tag or name attribute says that it is a credential."""
    tail = _XML_TAIL.match(text, end)
    if tail is None or "<" not in text[max(0, start - 80) : start]:
        return
    name = name_at(text, start, end)
    stop = text.find("<", tail.end(), tail.end() + 4096)
    if stop < 0 or not text.startswith("</", stop):
        return
    raw = text[tail.end() : stop]
    value = raw.strip()
    if value and is_credential(value, name=name, operator="=", is_quoted=True):
        begin = tail.end() + raw.index(value)
        yield Finding(name.kind, begin, begin + len(value))


def _value_span(text: str, opening: str, at: int, *, in_url: bool) -> tuple[int, int] | None:
    if opening:
        return _quoted(text, opening, at)
    found = (_URL_VALUE if in_url else _UNQUOTED).match(text, at)
    if found is None:
        return None
    end = found.end()
    pair = _NEXT_PAIR.search(text, at + 1, end + 3)
    if pair is not None and pair.start() > at:
        end = min(end, pair.start())
    while end > at and text[end - 1] in _TRAIL and not _closes(text[at:end]):
        end -= 1
    return (at, end) if end > at else None


def _closes(value: str) -> bool:
    return value[-1] in _OPENERS and _OPENERS[value[-1]] in value


def _quoted(text: str, opening: str, at: int) -> tuple[int, int] | None:
    limit = min(len(text), at + _MOST_QUOTED_CHARS)
    end = text.find(opening, at, limit)
    if end < 0:
        end = text.find("\n", at, limit)
        end = limit if end < 0 else end
    newline = text.find("\n", at, end)
    if len(opening) == 1 and newline >= 0 and not _MULTILINE.fullmatch(text, at, end):
        end = newline
    while end > at and text[end - 1] == "\\":
        end -= 1
    return (at, end) if end > at else None


_COMPARED = re.compile(r"(?P<value>[A-Za-z0-9_\-+=!@#$%^&*.]{16,200})(?=[\"'])")
_CALL_END = re.compile(
    r"[^()\n]{0,160}?[\"'][ ]{0,2},\s{0,4}[\"'](?P<value>[^\"'\s]{6,200})[\"']\s{0,4}\)"
)


def look_short(text: str, start: int, end: int) -> Iterator[Finding]:
    """The anchor is a short name and one character that bounds it."""
    yield from look(text, start, end - 1)


def look_compared(text: str, start: int, end: int) -> Iterator[Finding]:
    """Code compares something to a random literal."""
    del start
    found = _COMPARED.match(text, end)
    if (
        found is not None
        and is_varied(found["value"])
        and is_random(found["value"], least_chars=16)
    ):
        yield Finding("compared-secret", *found.span("value"))


def look_call(text: str, start: int, end: int) -> Iterator[Finding]:
    """A call that takes a user and a password; the password is its last argument."""
    del start
    found = _CALL_END.match(text, end)
    if found is None:
        return
    name = Name("password", Strength.PASSWORD, "password", in_url=False)
    if is_credential(found["value"], name=name, operator="(", is_quoted=True):
        yield Finding("password", *found.span("value"))


RULES = (
    Rule(("pat:", "pat=", 'pat"', "pat'", "pat "), look_short),
    Rule(('== "', "== '"), look_compared),
    Rule(("getconnection(", "credentials(", "basicauth(", "authenticate(", ".login("), look_call),
    Rule(ANCHORS, look),
    Rule(("password", "passwd", "token", "secret", "key"), look_xml),
)

__all__ = ["RULES", "Name", "look"]
