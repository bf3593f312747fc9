"""One pass over a text that finds the anchors of all rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import ahocorasick_rs

from memclaw_etl.masking.rule import Look, Rule


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
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            [anchor.encode("ascii") for anchor in looks],
            matchkind=ahocorasick_rs.MatchKind.Standard,
            implementation=ahocorasick_rs.Implementation.DFA,
        )

    def hits(self, folded_text: bytes) -> Iterator[tuple[int, int, Sequence[Look]]]:
        """Yield (start, end, looks) of every anchor, overlapping ones too."""
        looks = self._looks
        for number, start, end in self._automaton.find_matches_as_indexes(
            folded_text, overlapping=True
        ):
            yield start, end, looks[number]


def folded(text: str) -> bytes:
    """Lower-case ASCII with one byte for every code point; all others become `?`."""
    return text.encode("ascii", "replace").lower()
