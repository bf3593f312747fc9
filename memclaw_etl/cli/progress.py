"""A progress bar on a terminal, fed from the ledger; nothing in a pipe."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memclaw_etl.cli.show import errors
from memclaw_etl.lake.ledger import Stage, batches, results
from memclaw_etl.service.planning import Batch, Watch

if TYPE_CHECKING:
    from memclaw_etl.stages.bench import Bench

_STAGES = (Stage.MASKED_CHUNKS, Stage.MINI_REPORTS, Stage.MERGED_REPORT, Stage.MEMORIES)
_POLL_S = 0.5


@contextmanager
def watching(bench: "Bench", *, quiet: bool) -> Iterator[Watch]:
    """Show what a run does while it does it."""
    if quiet or not errors.is_terminal:
        yield Watch()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=errors, transient=True) as progress:
        bar = _Bar(bench, progress)
        try:
            yield Watch(on_trail=bar.on_trail, on_batch=bar.on_batch)
        finally:
            bar.stop()


class _Bar:
    """Trails while planning, stages of windows while working."""

    def __init__(self, bench: "Bench", progress: Progress) -> None:
        self._bench = bench
        self._progress = progress
        self._trails = progress.add_task("trails", total=None, visible=False)
        self._work = progress.add_task("windows x stages", total=None, visible=False)
        self._batches: list[str] = []
        self._total = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def on_trail(self, done: int, total: int) -> None:
        """A trail was looked at."""
        self._progress.update(self._trails, completed=done, total=total, visible=True)

    def on_batch(self, batch: Batch) -> None:
        """A batch starts."""
        self._batches.append(batch.batch_id)
        self._total += len(batch.partition_keys) * len(_STAGES)

    def stop(self) -> None:
        """No more updates."""
        self._stop.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._stop.wait(_POLL_S):
            if self._batches:
                done = self._done()
                self._progress.update(self._work, completed=done, total=self._total, visible=True)

    def _done(self) -> int:
        with self._bench.ledger.read() as tx:
            ids = [one for batch in self._batches for one in batches.window_ids_of(tx, batch)]
            return sum(len(results.current(tx, ids, stage)) for stage in _STAGES)
