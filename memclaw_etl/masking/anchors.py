"""One pass over a text that finds the anchors of all rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import ahocorasick_rs

from memclaw_etl.masking.rule import Look, Rule

_BLOCK_BYTES = 64 * 1024


class AnchorIndex:
    """The anchors of many rules in one automaton (Aho-Corasick, a DFA over bytes).

    Texts come as bytes of one byte per code point (see `folded`), so positions are code points.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        looks: defaultdict[str, list[Look]] = defaultdict(list)
        for rule in rules:
            for anchor in rule.anchors:
                looks[anchor].append(rule.look)
        self._looks = [tuple(found) for found in looks.values()]
        self._longest_bytes = max(map(len, looks), default=1)
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            [anchor.encode("ascii") for anchor in looks],
            matchkind=ahocorasick_rs.MatchKind.Standard,
            implementation=ahocorasick_rs.Implementation.DFA,
        )

    def hits(self, folded_text: bytes | bytearray) -> Iterator[tuple[int, int, Sequence[Look]]]:
        """Yield (start, end, looks) of every anchor, overlapping ones too.

        They come block by block, each by end: a list of all hits in a large text would leave the
        processor's caches.
        """
        looks = self._looks
        for at in range(0, len(folded_text), _BLOCK_BYTES):
            block = folded_text[at : at + _BLOCK_BYTES + self._longest_bytes - 1]
            for number, start, end in self._automaton.find_matches_as_indexes(
                block, overlapping=True
            ):
                if start < _BLOCK_BYTES:
                    yield at + start, at + end, looks[number]


def folded(text: str) -> bytes:
    """Lower-case ASCII with one byte for every code point; all others become `?`."""
    return text.encode("ascii", "replace").lower()
