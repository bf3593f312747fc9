"""Texts that were made to be slow to mask: one piece, over and over."""

import random

from memclaw_etl.masking.catalogue import RULES

_ANCHORS = sorted({anchor for rule in RULES for anchor in rule.anchors})

HOSTILE = {
    "password=": "password=",
    "password:": "password: ",
    "flags": "--password --token ",
    "told": "the password is ",
    "BEGIN": "-----BEGIN RSA PRIVATE " + "KEY-----\n",
    "END": "-----END RSA PRIVATE " + "KEY-----\n",
    "PGP": "-----BEGIN ",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5",
    "short base64": "cGFzc3dvcmQ9aHVudGVyMg== ",
    "a:b@": "https://a:b@",
    "a:b@c:d@": "://a:b@c:d@",
    "://": "://",
    "curl": "curl -u a:b ",
    "netrc": "machine a login b password c\n",
    "quotes": '{\\"token\\":\\"',
    "JSON": '{"password": {"token": [',
    "XML": "<password><token>",
    "private": "<private ",
    "nested": "<private><private>",
    "closed": "</private>",
    "headings": "| password | token |\n",
    "headings and rows": "| password | token |\n| x1 | y2 |\n",
    "secrets": "kind: secret\ndata:\n  a: b\n",
    "kinds": "kind: Secret\n kind: Secret\n",
    "codes": "recovery codes\nabcd1234\nabcd1234\n",
    "cookies": "Cookie: sid=abc; token=",
    "bearer": "Authorization: Bearer ",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.",
    "eyJ": "eyJ",
    "key ids": "AK" + "IAABCDEFGHIJKLMNOP ",
    "heads of tokens": "gh" + "p_" + "xo" + "xb-" + "sk" + "-",
    "anchors": " ".join(_ANCHORS) + "\n",
    "anchors=": "=".join(_ANCHORS) + "\n",
    "marks": "[MASKED:token:1]",
    "escapes": '\\\\\\"key\\\\\\": ',
    "backslashes": "\\",
    "one letter": "x",
    "dots": "a.",
    "at signs": "a.b@",
    "emails": "a@b.co ",
    "digits": "4242 4242 4242 424",
    "phones": "+44 7700 90012",
    "IBAN": "GB82 WEST 1234 5698 7654 32 ",
    "hex": "0123456789abcdef",
    "hex by a word": "deadbeefcafebabe0123456789abcdef token ",
    "wide": "пароль: ключ ",
}
"""By name; each piece holds what calls a rule, and never what ends one."""


def hostile_text(piece: str, chars: int) -> str:
    """A text of that length."""
    return (piece * (chars // len(piece) + 1))[:chars]


_ALONE = ("private", "nested", "closed", "anchors", "anchors=", "BEGIN", "END", "PGP")
"""They swallow what follows them, or are longer than all others together."""


def tangled(number: int) -> str:
    """Pieces of most kinds, mixed at random: about 2,000 characters."""
    pieces = [piece for name, piece in HOSTILE.items() if name not in _ALONE]
    return "".join(random.Random(number).choices(pieces, k=100))
