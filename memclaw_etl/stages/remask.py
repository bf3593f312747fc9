"""Masking one window's stored texts again, with today's rules: no trail is read, no model asked."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from sqlalchemy import Connection

from memclaw_etl.errors import LeaseLostError
from memclaw_etl.interview.report import title_of
from memclaw_etl.lake.frames import ITEMS, MASKED_CHUNKS, MINI_REPORTS
from memclaw_etl.lake.ledger import (
    Stage,
    StageFile,
    Window,
    leases,
    pins,
    results,
    windows,
)
from memclaw_etl.masking import KnownSecrets, PersonalData, is_distinct
from memclaw_etl.memories.items import Item, group_key, item_id_for
from memclaw_etl.stages import mask, merge
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.files import write
from memclaw_etl.stages.governing import choose_items, keep_items
from memclaw_etl.stages.input_hashes import Files, with_hashes
from memclaw_etl.stages.surroundings import with_surroundings
from memclaw_etl.stages.texts import TEXT_COLUMNS

_Ref = tuple[int, int]
_SCHEMAS = {
    Stage.MASKED_CHUNKS: MASKED_CHUNKS,
    Stage.MINI_REPORTS: MINI_REPORTS,
    Stage.MERGED_REPORT: ITEMS,
}
"""In the order in which they are masked."""
_RESULT = re.compile(r"^\[(?:success|failure|partial)\] ")


@dataclass(slots=True)
class Remasked:
    """What masking again did. Numbers, never text."""

    kinds: Counter[str] = field(default_factory=Counter)
    files_changed: int = 0
    rows_dropped: int = 0
    """Statements that rest on what is private now, or of which nothing was left."""

    def add(self, other: "Remasked") -> None:
        """Add another window's numbers."""
        self.kinds += other.kinds
        self.files_changed += other.files_changed
        self.rows_dropped += other.rows_dropped


def files_of(tx: Connection, window: Window) -> dict[Stage, StageFile]:
    """The window's current files that hold text."""
    found = {stage: results.current(tx, [window.window_id], stage) for stage in _SCHEMAS}
    return {stage: files[window.window_id] for stage, files in found.items() if files}


def due_files(bench: Bench, tx: Connection) -> list[tuple[Window, StageFile]]:
    """Every stored file that is due, with its window, in trail order."""
    files: dict[str, list[StageFile]] = {}
    for stage in _SCHEMAS:
        for file in results.all_files(tx, stage):
            files.setdefault(file.window_id, []).append(file)
    return [
        (window, file)
        for window in windows.all_windows(tx)
        for file in files.get(window.window_id, ())
        if is_due(bench, window, file)
    ]


def is_due(bench: Bench, window: Window, file: StageFile) -> bool:
    """Whether a file was masked by other rules, or before personal data had to be masked."""
    is_lax = bench.personal_data(window.tenant_id) is PersonalData.MASK
    return file.counts.get("masker_version") != bench.masker.version or (
        is_lax and file.counts.get("personal_data") != PersonalData.MASK
    )


def remask_window(bench: Bench, window: Window, *, run_id: str) -> Remasked:
    """Mask a window's files again and point the ledger at the new ones, in one transaction.

    The caller holds the window's lease. What changed is in new immutable files; the old ones stay
    until nothing names them. Input hashes that were right before are right afterwards, so that no
    stage is done again because of this; only where something private came to light is the window's
    interview to be done again by whoever asks for it.

    Raises:
        LeaseLostError: the lease is no longer this run's; nothing was changed.
    """
    with bench.ledger.read() as tx:
        before = files_of(tx, window)
        owned = sorted(pins.owned_events(tx, window.window_id))
    work = _Work(bench, window, before)
    hashed = with_hashes(bench, window, owned, before, work.files())
    if work.lost_something and Stage.MINI_REPORTS in hashed:
        reports = hashed[Stage.MINI_REPORTS]
        old_hash = before[Stage.MINI_REPORTS].input_hash  # of chunks that are no more
        hashed[Stage.MINI_REPORTS] = replace(reports, input_hash=old_hash)
    with bench.ledger.write() as tx:
        lease = leases.window_lease(window.window_id)
        if not leases.held(tx, [lease], run_id=run_id):
            raise LeaseLostError(f"window {window.partition_key} went to a run", resource="lease")
        for file in hashed.values():
            results.set_current(tx, file)
        if work.items is not None:
            keep_items(tx, window, choose_items(bench, window, work.items), renamed=work.renamed)
        leases.release(tx, [lease], run_id=run_id)
    return work.done


def _policy(bench: Bench, window: Window, before: Files) -> PersonalData:
    """What holds of the texts afterwards: masked personal data cannot come back without trail."""
    was_masked = any(
        file.counts.get("personal_data") == PersonalData.MASK for file in before.values()
    )
    return PersonalData.MASK if was_masked else bench.personal_data(window.tenant_id)


class _Work:
    """One window's files on their way through the masker."""

    def __init__(self, bench: Bench, window: Window, before: Files) -> None:
        self._bench = bench
        self._window = window
        self._before = before
        self._policy = _policy(bench, window, before)
        self._session = bench.masker.session(
            personal_data=self._policy, known=KnownSecrets(is_told=is_distinct)
        )
        self._private: set[_Ref] = set()
        self._events: pl.DataFrame | None = None
        self.done = Remasked()
        self.items: list[Item] | None = None
        """The new live items; None when there is no such file."""
        self.renamed: dict[str, str] = {}
        """Old -> new ids of the items that say something else now."""

    @property
    def lost_something(self) -> bool:
        """Whether an event held something private."""
        return bool(self._private)

    def files(self) -> dict[Stage, StageFile]:
        """The files after masking, durable; those whose rows stay as they are keep their path."""
        frames = {stage: self._bench.files.read(file.path) for stage, file in self._before.items()}
        self._events = frames.get(Stage.MASKED_CHUNKS)
        for stage, frame in frames.items():
            for column in TEXT_COLUMNS[stage]:
                self._session.continue_after(frame[column].drop_nulls())
        return {stage: self._file(stage, frame) for stage, frame in frames.items()}

    def _file(self, stage: Stage, frame: pl.DataFrame) -> StageFile:
        """One file after masking. Chunks come first: what they give away goes from all."""
        before = self._before[stage]
        found = Counter[str]()
        masked = self._frame(stage, frame, found)
        self.done.kinds += found
        counts = {
            **before.counts,
            "masker_version": self._bench.masker.version,
            "personal_data": str(self._policy),
            **_added(before.counts, found),
        }
        if masked.equals(frame):
            return replace(before, counts=counts)
        self.done.files_changed += 1
        return write(
            self._bench, self._window, stage, masked, _SCHEMAS[stage],
            input_hash=before.input_hash, counts=counts,
        )  # fmt: skip

    def _frame(self, stage: Stage, frame: pl.DataFrame, found: Counter[str]) -> pl.DataFrame:
        if stage is Stage.MERGED_REPORT:
            self.items = self._items(merge.items_in(frame), found)
            if self._events is not None:
                self.items = with_surroundings(self.items, self._events)
            return merge.frame_of(self.items, self._window)
        columns = TEXT_COLUMNS[stage]
        rows = [self._masked(row, columns, found) for row in frame.iter_rows(named=True)]
        if stage is Stage.MASKED_CHUNKS:
            rows = [self._finished_event(row, found) for row in rows]
            self._events = pl.DataFrame(rows, schema=_SCHEMAS[stage], orient="row")
            return self._events
        rows = [row for row in rows if not self._is_lost(row["summary"], row["evidence"])]
        return pl.DataFrame(rows, schema=_SCHEMAS[stage], orient="row")

    def _masked(
        self, row: dict[str, Any], columns: Iterable[str], found: Counter[str]
    ) -> dict[str, Any]:
        """Mask a row's texts; notes events that held something private."""
        for name in columns:
            if row[name] is not None:
                masked = self._session.mask(row[name])
                kinds = [finding.kind for finding in masked.findings]
                found.update(kinds)
                row[name] = masked.text
                if "seq" in row and _is_private(kinds):
                    self._private.add((row["seq"], row["part"]))
        return row

    def _finished_event(self, row: dict[str, Any], found: Counter[str]) -> dict[str, Any]:
        """Take out what later events gave away, and cap again: a mark may be the longer text."""
        for name in TEXT_COLUMNS[Stage.MASKED_CHUNKS]:
            if row[name] is not None:
                masked = self._session.mask_known(row[name])
                found.update(finding.kind for finding in masked.findings)
                row[name] = masked.text
        row["content"] = mask.cut(row["content"].strip(), self._bench.settings.limits.message_chars)
        row["kind"] = row["kind"] or row["role"]
        return row

    def _items(self, items: Sequence[Item], found: Counter[str]) -> list[Item]:
        """Mask items; their ids follow their contents, as when a run makes them."""
        kept: dict[tuple[str, str], Item] = {}
        for item in items:
            masked = self._item(item, found)
            refs = [{"seq": seq, "part": part} for seq, part in item.evidence]
            if not self._is_lost(masked.content, refs):
                kept[masked.item_id, group_key(masked)] = masked
                self.renamed[item.item_id] = masked.item_id
        return list(kept.values())

    def _item(self, item: Item, found: Counter[str]) -> Item:
        title = item.title
        if title.endswith("…"):  # it may end in half a secret: made anew from what is masked
            title = title_of(_RESULT.sub("", self._session.mask(item.content).text))
        said = {"content": item.content, "title": title, "session_id": item.session_id}
        texts = self._masked(said, TEXT_COLUMNS[Stage.MERGED_REPORT], found)
        content = str(texts["content"]).strip()
        return replace(
            item,
            content=content,
            title=texts["title"],
            session_id=texts["session_id"],
            item_id=item_id_for(
                tenant_id=item.tenant_id, attempt_id=item.attempt_id, content=content
            ),
            masker_version=self._bench.masker.version,
        )

    def _is_lost(self, text: str, evidence: Iterable[Mapping[str, int]]) -> bool:
        """Whether a statement rests on what is private, or nothing of it is left."""
        refs = {(ref["seq"], ref["part"]) for ref in evidence}
        is_lost = not text.strip() or bool(refs & self._private)
        self.done.rows_dropped += is_lost
        return is_lost


def _is_private(kinds: Sequence[str]) -> bool:
    return "private" in kinds


def _added(counts: Mapping[str, Any], found: Counter[str]) -> dict[str, Any]:
    """Counts of masked spans after these, too."""
    kinds = Counter(counts.get("masked_kinds", {})) + found
    added: dict[str, Any] = {"masked_kinds": dict(sorted(kinds.items()))}
    if "masked_spans" in counts:
        added["masked_spans"] = int(counts["masked_spans"]) + found.total()
    return added
