"""From a message to a masked message."""

import gc
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from memclaw_etl.masking.anchors import AnchorIndex, folded
from memclaw_etl.masking.catalogue import RULES
from memclaw_etl.masking.findings import Finding, Masked, united
from memclaw_etl.masking.foreign import look_foreign
from memclaw_etl.masking.personal import PersonalData, look_personal
from memclaw_etl.masking.private import private_spans, without
from memclaw_etl.masking.repeats import KnownSecrets
from memclaw_etl.masking.rule import Rule
from memclaw_etl.masking.sweeps import sweep
from memclaw_etl.masking.version import MASKER_VERSION

_MARK_HEAD = "[MASKED:"
_MARK = re.compile(r"\[MASKED:(?P<kind>[a-z\-]+):(?P<number>\d+)\]")
_MOST_PASSES = 4
_RESCAN_CHARS = 1_000
_LARGE_CHARS = 1_000_000
_DEEP_CHARS = 512
"""Anchors this deep inside a long finding are not looked at: it keeps hostile texts linear."""


class Masker:
    """Finds credentials. Holds no text; one per process is enough (`open_masker`)."""

    def __init__(self, rules: Iterable[Rule] = RULES, *, version: str = MASKER_VERSION) -> None:
        self._index = AnchorIndex(rules)
        self.version = version
        """Of the rules; stored beside everything that was masked."""

    def session(
        self,
        *,
        personal_data: PersonalData = PersonalData.OFF,
        known: KnownSecrets | None = None,
    ) -> "MaskSession":
        """Begin a stretch of texts in which equal secrets get equal marks."""
        return MaskSession(self, personal_data=personal_data, known=known or KnownSecrets())

    def findings(self, text: str, *, known: Sequence[Finding] = ()) -> list[Finding]:
        """Find credentials in a text.

        Args:
            text: What is masked.
            known: Findings that are certain already.

        Returns:
            Sorted, disjoint findings that touch none of our own marks. Taking them out leaves
            nothing that a second look would find.
        """
        found = self._look(text, known)
        for _ in range(_MOST_PASSES):
            more = self._look_again(text, found) if found else []
            if not more:
                break
            found = united([*found, *more])
        return found

    def _look(self, text: str, known: Sequence[Finding] = ()) -> list[Finding]:
        found = [*known, *sweep(text)]
        if not text.isascii():
            found.extend(look_foreign(text))
        has_marks = _MARK_HEAD in text
        deep_until = 0
        for start, end, looks in self._index.hits(
            _without_marks(text) if has_marks else folded(text)
        ):
            if start < deep_until:
                continue
            for look in looks:
                for finding in look(text, start, end):
                    found.append(finding)
                    if finding.end - start > _DEEP_CHARS:
                        deep_until = max(deep_until, finding.end - _DEEP_CHARS)
        return united(list(_beside_marks(found, text)) if has_marks else found)

    def _look_again(self, text: str, found: list[Finding]) -> list[Finding]:
        """Look around the marks that would stand for `found`; offsets are those of `text`."""
        more: list[Finding] = []
        for start, end in _neighbourhoods(found, len(text)):
            inside = [finding for finding in found if start <= finding.start and finding.end <= end]
            excerpt, shifts = _marked(text, start, end, inside)
            more.extend(_unshifted(finding, shifts) for finding in self._look(excerpt))
        return more


def _is_covered(finding: Finding, found: list[Finding]) -> bool:
    at = bisect_right(found, finding.start, key=lambda other: other.start) - 1
    return at >= 0 and finding.end <= found[at].end


def _without_marks(text: str) -> bytearray:
    """Fold a text with our own marks blanked out, so that no anchor stands in one.

    The marks are kept in no list, here and below: on a large text that costs more than finding
    them, and a byte of it would take longer than one of a small text.
    """
    blank = bytearray(folded(text))
    for mark in _MARK.finditer(text):
        start, end = mark.span()
        blank[start:end] = b"?" * (end - start)
    return blank


def _beside_marks(found: list[Finding], text: str) -> Iterator[Finding]:
    """Findings that touch no mark, by start."""
    marks = _MARK.finditer(text)
    mark = next(marks, None)
    for finding in sorted(found, key=lambda one: one.start):
        while mark is not None and mark.end() <= finding.start:
            mark = next(marks, None)
        if mark is None or mark.start() >= finding.end:
            yield finding


def _neighbourhoods(found: list[Finding], length: int) -> list[tuple[int, int]]:
    """Stretches around findings, joined where they meet."""
    joined: list[tuple[int, int]] = []
    for finding in found:
        start, end = max(0, finding.start - _RESCAN_CHARS), min(length, finding.end + _RESCAN_CHARS)
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _marked(
    text: str, start: int, end: int, found: list[Finding]
) -> tuple[str, list[tuple[int, int]]]:
    """Replace findings by marks; also (offset in the result, shift back to `text`) after each."""
    parts: list[str] = []
    shifts = [(0, start)]
    at, length = start, 0
    for finding in found:
        mark = f"{_MARK_HEAD}{finding.kind}:1]"
        parts += (text[at : finding.start], mark)
        length += finding.start - at + len(mark)
        at = finding.end
        shifts.append((length, at - length))
    parts.append(text[at:end])
    return "".join(parts), shifts


def _unshifted(finding: Finding, shifts: list[tuple[int, int]]) -> Finding:
    shift = shifts[bisect_right(shifts, finding.start, key=lambda item: item[0]) - 1][1]
    return Finding(finding.kind, finding.start + shift, finding.end + shift)


class MaskSession:
    """Masks texts one after the other and numbers the secrets it meets."""

    def __init__(self, masker: Masker, *, personal_data: PersonalData, known: KnownSecrets) -> None:
        self._masker = masker
        self._personal_data = personal_data
        self._known = known
        self._marks: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def continue_after(self, texts: Iterable[str]) -> None:
        """Number new secrets after the marks of texts that an earlier session masked."""
        for text in texts:
            for mark in _MARK.finditer(text) if _MARK_HEAD in text else ():
                kind, number = mark["kind"], int(mark["number"][:9])
                self._counts[kind] = max(self._counts.get(kind, 0), number)

    def mask(self, text: str) -> Masked:
        """Take private parts and credentials out of a whole message.

        Args:
            text: The whole message: a cut before masking can hide half a secret.

        Returns:
            The masked text. What lies outside the findings is unchanged; masking the result again
            changes nothing. Private parts leave nothing behind, credentials (and personal data
            under that policy) leave `[MASKED:<kind>:<number>]`.
        """
        with _collector_paused() if len(text) > _LARGE_CHARS else nullcontext():
            return self._mask(text)

    def _mask(self, text: str) -> Masked:
        removed, _ = private_spans(text)
        public = without(text, removed)
        personal = self._personal(public)
        is_masked = self._personal_data is PersonalData.MASK
        found = self._findings(public, known=personal if is_masked else [])
        flagged = [] if is_masked else [one for one in personal if not _overlaps(one, found)]
        if not removed and not found:
            return Masked(text, flagged=tuple(flagged))
        return Masked(
            self._replace(public, found),
            _as_input(removed, found),
            flagged=_as_input(removed, flagged, with_private=False),
        )

    def mask_known(self, text: str) -> Masked:
        """Take out what later texts of the session gave away as secrets.

        Args:
            text: What `mask` gave back for an earlier text, still whole.
        """
        again = list(self._known.repeats(text))
        if not again:
            return Masked(text)
        found = self._masker.findings(text, known=again)
        return Masked(self._replace(text, found), tuple(found))

    def _personal(self, text: str) -> list[Finding]:
        if self._personal_data is PersonalData.OFF:
            return []
        return united(list(look_personal(text)))

    def _findings(self, text: str, *, known: Sequence[Finding]) -> list[Finding]:
        """Find credentials, and those of earlier texts again wherever they stand."""
        found = self._masker.findings(text, known=[*known, *self._known.repeats(text)])
        self._known.learn(text, found)
        again = [repeat for repeat in self._known.repeats(text) if not _is_covered(repeat, found)]
        return self._masker.findings(text, known=[*found, *again]) if again else found

    def _replace(self, text: str, found: list[Finding]) -> str:
        parts: list[str] = []
        at = 0
        for finding in found:
            parts += (
                text[at : finding.start],
                self._mark(finding.kind, text[finding.start : finding.end]),
            )
            at = finding.end
        parts.append(text[at:])
        return "".join(parts)

    def _mark(self, kind: str, secret: str) -> str:
        mark = self._marks.get(secret)
        if mark is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            mark = self._marks[secret] = f"{_MARK_HEAD}{kind}:{self._counts[kind]}]"
        return mark


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector off: millions of findings hold no cycles.

    Python looks through all of them whenever their number has grown by a quarter (5 to 15 % of the
    time on the hostile texts of the bench).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _overlaps(finding: Finding, found: list[Finding]) -> bool:
    at = bisect_right(found, finding.start, key=lambda other: other.end)
    return at < len(found) and found[at].start < finding.end


def _as_input(
    removed: list[tuple[int, int]], found: list[Finding], *, with_private: bool = True
) -> tuple[Finding, ...]:
    """Offsets after removal back to offsets of the input."""
    if not removed:
        return tuple(found)
    starts: list[int] = []  # where, after removal, something was cut out
    gone = [0]  # characters removed before the n-th cut
    for start, end in removed:
        starts.append(start - gone[-1])
        gone.append(gone[-1] + end - start)
    moved = [
        Finding(
            finding.kind,
            finding.start + gone[bisect_right(starts, finding.start)],
            finding.end + gone[bisect_left(starts, finding.end)],
        )
        for finding in found
    ]
    private = [Finding("private", *span) for span in removed] if with_private else []
    return tuple(united([*moved, *private]))


@cache
def open_masker(cache_dir: Path | None = None) -> Masker:
    """Give the masker of this process.

    Args:
        cache_dir: Where compiled rules may be kept; today's rules need no such cache.
    """
    del cache_dir
    return Masker()
