"""A secret that was told once is a secret wherever it stands again in the same stretch of texts."""

from collections.abc import Callable, Iterator

import ahocorasick_rs

from memclaw_etl.masking.findings import Finding
from memclaw_etl.masking.values import is_random, is_wordy

_LEAST_CHARS = 8
_LEAST_DISTINCT_CHARS = 6
_MOST_CHARS = 512
_MOST_SECRETS = 1_000


class KnownSecrets:
    """Remembers ASCII secrets and finds them again, whole, without their context."""

    def __init__(self, *, is_told: Callable[[str], bool] | None = None) -> None:
        """Begin with none.

        Args:
            is_told: Says which secrets are known by themselves; default: those too random to be
                a word.
        """
        self._is_told = is_told or _is_strong
        self._kinds: dict[str, str] = {}
        self._automaton: ahocorasick_rs.BytesAhoCorasick | None = None

    def learn(self, text: str, found: list[Finding]) -> None:
        """Remember what was found, if it is known by itself; at most 1,000 secrets."""
        for finding in found:
            secret = text[finding.start : finding.end]
            if (
                len(self._kinds) < _MOST_SECRETS
                and secret not in self._kinds
                and self._is_told(secret)
            ):
                self._kinds[secret] = finding.kind
                self._automaton = None

    def repeats(self, text: str) -> Iterator[Finding]:
        """Find remembered secrets; they must not continue a longer word."""
        if not self._kinds:
            return
        if self._automaton is None:
            self._automaton = ahocorasick_rs.BytesAhoCorasick(
                [secret.encode("ascii") for secret in self._kinds],
                matchkind=ahocorasick_rs.MatchKind.LeftmostLongest,
            )
        kinds = list(self._kinds.values())
        plain = text.encode("ascii", "replace")
        for number, start, end in self._automaton.find_matches_as_indexes(plain):
            if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                yield Finding(kinds[number], start, end)


def is_distinct(secret: str) -> bool:
    """More than a word or a name: for texts that repeat what others say, in fewer words."""
    is_some = _LEAST_DISTINCT_CHARS <= len(secret) <= _MOST_CHARS and secret.isascii()
    return is_some and not secret.isalpha() and not is_wordy(secret) and " " not in secret


def _is_strong(secret: str) -> bool:
    return (
        _LEAST_CHARS <= len(secret) <= _MOST_CHARS
        and secret.isascii()
        and is_random(secret, least_chars=_LEAST_CHARS)
    )
