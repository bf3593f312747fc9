"""Invented secrets of every family, drawn at random, each in the text that carries it."""

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import _constants as op  # the regular expression's own parser draws texts that it matches
from re import _parser as parser
from urllib.parse import quote

from memclaw_etl.masking.token_shape import Shape
from memclaw_etl.masking.token_shapes_clouds import CLOUDS, MODELS
from memclaw_etl.masking.token_shapes_services import FORGES, SERVICES
from memclaw_etl.masking.values import entropy

MIXED = string.ascii_letters + string.digits
LONGEST_REPEAT = 8
"""Added to the least number of an open repetition."""
PIECE_CHARS = 14
"""Runs of letters and digits of a secret that long are looked for, too: an index stores words."""


@dataclass(frozen=True)
class Planted:
    """A text, and what of it nobody may see."""

    family: str
    text: str
    secrets: tuple[str, ...]

    @property
    def pieces(self) -> set[str]:
        """The secrets and their long runs of letters and digits."""
        runs = {run for secret in self.secrets for run in re.findall(r"[A-Za-z0-9]+", secret)}
        return {*self.secrets, *(run for run in runs if len(run) >= PIECE_CHARS)}


def drawn(chance: random.Random, pattern: str) -> str:
    """A text that the pattern matches; looks around are left to whoever checks."""
    return "".join(_pieces(chance, parser.parse(pattern)))


def _pieces(chance: random.Random, tree: object) -> Iterator[str]:
    for kind, value in tree:
        if kind is op.LITERAL:
            yield chr(value)
        elif kind is op.NOT_LITERAL:
            yield chance.choice(MIXED)
        elif kind is op.IN:
            yield chance.choice(_members(value))
        elif kind is op.MAX_REPEAT:
            least, most, inner = value
            for _ in range(chance.randint(least, min(most, least + LONGEST_REPEAT))):
                yield from _pieces(chance, inner)
        elif kind is op.SUBPATTERN:
            yield from _pieces(chance, value[-1])
        elif kind is op.BRANCH:
            yield from _pieces(chance, chance.choice(value[1]))
        elif kind not in (op.ASSERT, op.ASSERT_NOT, op.AT):
            raise NotImplementedError(kind)


def _members(parts: list[tuple[object, object]]) -> str:
    if parts[0][0] is op.NEGATE:
        return "".join(sorted(set(MIXED) - set(_members(parts[1:]))))
    found = ""
    for kind, value in parts:
        if kind is op.LITERAL:
            found += chr(value)
        elif kind is op.RANGE:
            found += "".join(map(chr, range(value[0], value[1] + 1)))
        elif value is op.CATEGORY_DIGIT:
            found += string.digits
        elif value is op.CATEGORY_WORD:
            found += MIXED + "_"
        elif value is op.CATEGORY_SPACE:
            found += " \n"
        else:
            raise NotImplementedError(value)
    return found


def token(chance: random.Random, shape: Shape) -> str:
    """A token of a shape, as random as its issuer would make it."""
    pattern = re.compile(shape.pattern)
    while True:
        text = drawn(chance, shape.pattern)
        tail = text[len(shape.heads[0]) :] or text
        is_plain = not re.search(r"(.)\1{2}|\.\.", tail)
        if pattern.fullmatch(text) and is_plain and entropy(tail) >= shape.least_entropy + 0.2:
            return text


def _carrier(chance: random.Random, shape: Shape) -> str:
    """Shapes that look behind are tokens behind white space only: they are too common otherwise."""
    return "$ echo {}\nok" if "(?<=" in shape.pattern else chance.choice(CARRIERS)


def value(chance: random.Random, length: int = 20) -> str:
    """A password or key as a generator makes it: digits between the letters."""
    letters = "bcdfgkmpqrtvwzBCDFGKMPQRTVWZ"
    return "".join(
        chance.choice("23456789" if place % 3 == 1 else letters) for place in range(length)
    )


CARRIERS = (
    "The run stopped at {} again.", "```\n{}\n```", '{{"x": "{}", "n": 1}}', "$ echo {}\nok", "see `{}`, please",
)  # fmt: skip
CONTEXTS = {
    "env": "DEPLOY_PASSWORD={}\nDEBUG=1", "yaml": "db_password: '{}'\nport: 1", "json": '{{"adminPassword": "{}"}}',
    "toml": 'api_key = "{}"', "code": 'conn.setPassword("{}");', "escaped": '"{{\\"api_key\\":\\"{}\\",\\"n\\":1}}"',
    "url": "postgres://app:{}@db.internal:5432/main", "query": "https://app.example/x?access_token={}&n=1",
    "curl": "curl -u bot:{} https://x.example", "flag": "mytool --password {} --verbose", "sshpass": "sshpass -p '{}' ssh host",
    "bearer": "Authorization: Bearer {}", "cookie": "Cookie: session_token={}; theme=dark", "prose": "the password is {}, keep it",
    "foreign": "пароль: {}", "netrc": "machine h login bob password {}", "sql": "ALTER USER bob IDENTIFIED BY '{}';",
    "xml": "<password>{}</password>", "table": "| user | password |\n|---|---|\n| bob | {} |\n",
}  # fmt: skip


def _private_key(chance: random.Random) -> Planted:
    lines = ["".join(chance.choices(MIXED + "+/", k=64)) for _ in range(6)]
    begin, end = (f"-----{word} RSA PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
    text = "\n".join([begin, *lines, *([end] if chance.random() < 0.7 else [])])
    return Planted("private key", text, tuple(lines))


def _basic(chance: random.Random) -> Planted:
    secret = base64.b64encode(f"bob:{value(chance)}".encode()).decode()
    return Planted("basic", f"Authorization: Basic {secret}", (secret,))


def _encoded_url(chance: random.Random) -> Planted:
    secret = quote(value(chance, 9) + "@/" + value(chance, 9), safe="")
    return Planted("encoded url", f"amqp://bob:{secret}@mq.example:5672", (secret,))


def _telegram(chance: random.Random) -> Planted:
    secret = "".join(chance.choices(string.digits[1:], k=9)) + ":" + value(chance, 35)
    return Planted("telegram", f"bot {secret} answers", (secret,))


def _private(chance: random.Random) -> Planted:
    words = " ".join("".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(3))
    close = chance.choice(["</private>", "</ PRIVATE >", ""])
    opening = chance.choice(["<private>", '<Private why="a > b">', "\\u003cprivate\\u003e"])
    return Planted("private", f"{opening}{words}{close}", (words,))


def _repeated(chance: random.Random) -> Planted:
    secret = value(chance)
    return Planted("repeated", f"I tried {secret} first. api_key: {secret}", (secret,))


MADE: tuple[Callable[[random.Random], Planted], ...] = (
    _private_key, _basic, _encoded_url, _telegram, _private, _repeated,
)  # fmt: skip


def planted(chance: random.Random) -> list[Planted]:
    """One of every family: each shape of token, each context, each form of its own."""
    shapes = (*CLOUDS, *MODELS, *FORGES, *SERVICES)
    tokens = [token(chance, shape) for shape in shapes]
    found = [
        Planted(shape.kind, _carrier(chance, shape).format(text), (text,))
        for shape, text in zip(shapes, tokens, strict=True)
    ]
    for name, carrier in CONTEXTS.items():
        secret = value(chance)
        found.append(Planted(name, carrier.format(secret), (secret,)))
    return found + [make(chance) for make in MADE]


def personal(chance: random.Random) -> list[Planted]:
    """One of every family of personal data."""
    digits = lambda count: "".join(chance.choices(string.digits[1:], k=count))  # noqa: E731
    name = "".join(chance.choices(string.ascii_lowercase, k=10))
    texts = {
        "email": f"{name}@analytical.test", "phone": f"+44 7700 9{digits(5)}", "card": _card(digits(14)),
        "iban": _iban(digits(18)), "us-ssn": f"{chance.randint(100, 665)}-{chance.randint(10, 99)}-{digits(4)}",
        "uk-nino": f"AB{digits(6)}C", "es-dni": _dni(digits(8)),
    }  # fmt: skip
    return [Planted(kind, f"write {text} down", (text,)) for kind, text in texts.items()]


def _card(digits: str) -> str:
    head = "4" + digits
    total = sum(sum(divmod(int(c) * (2 - place % 2), 10)) for place, c in enumerate(reversed(head)))
    return head + str(-total % 10)


def _iban(digits: str) -> str:
    return f"DE{98 - int(digits + '131400') % 97:02d}{digits}"


def _dni(digits: str) -> str:
    return digits + "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23]
