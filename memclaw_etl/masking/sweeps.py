"""Shapes without any fixed literal; each is swept for from a character that stands inside it."""

import re
from collections.abc import Iterator

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.values import is_random

_DISCORD_TAIL = re.compile(r"\.[\w\-]{6}\.[\w\-]{27,40}")
_DISCORD_HEAD = re.compile(r"[MNO][\w\-]{23,25}$")
_TELEGRAM_TAIL = re.compile(r":[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])")
_TELEGRAM_HEAD = re.compile(r"(?:(?<![\w.:])|(?<=\\[nrt]))\d{8,10}$")
_AIRTABLE_TAIL = re.compile(r"\.[0-9a-f]{64}(?![0-9a-f])")
_AIRTABLE_HEAD = re.compile(r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}$")


def sweep(text: str) -> Iterator[Finding]:
    """Find tokens of Discord (three parts), Telegram (number, colon, text) and Airtable."""
    for tail in _AIRTABLE_TAIL.finditer(text):
        head = _AIRTABLE_HEAD.search(text, max(0, tail.start() - 18), tail.start())
        if head is not None:
            yield Finding("airtable-token", head.start(), tail.end())
    for tail in _DISCORD_TAIL.finditer(text):
        head = _DISCORD_HEAD.search(text, max(0, tail.start() - 26), tail.start())
        if head is not None and is_random(head[0] + tail[0], least_chars=50):
            yield Finding("discord-token", head.start(), tail.end())
    for tail in _TELEGRAM_TAIL.finditer(text):
        head = _TELEGRAM_HEAD.search(text, max(0, tail.start() - 12), tail.start())
        if head is not None and is_random(tail[0], least_chars=30):
            yield Finding("telegram-token", head.start(), tail.end())
