"""What people decide about windows."""

from memclaw_etl.errors import UnknownWindowError, UsageError
from memclaw_etl.lake.ledger import Window, WindowState, batches, decisions, leases, windows
from memclaw_etl.stages.bench import Bench
from memclaw_etl.windows import keys


def find_window(bench: Bench, partition_key: str) -> Window:
    """A window by its partition key.

    Raises:
        UnknownWindowError: the text is no key, or the ledger has no such window.
    """
    keys.decode(partition_key)
    with bench.ledger.read() as tx:
        found = windows.by_keys(tx, [partition_key])
    if not found:
        raise UnknownWindowError(
            f"the ledger has no window {partition_key}; `memclaw-etl status` lists the nodes,"
            " `memclaw-etl sql` with the table `windows` lists the windows"
        )
    return found[0]


def skip(bench: Bench, partition_key: str, *, reason: str, actor: str) -> Window:
    """Record a permanent hole that the watermark may cross.

    Raises:
        UsageError: no reason was given, the window is done already, or a run works on it.
    """
    if not reason.strip():
        raise UsageError("say why with --reason: a skipped window is a permanent hole")
    window = find_window(bench, partition_key)
    with bench.ledger.write() as tx:
        decisions.skip(tx, window, reason=reason, actor=actor, now=bench.ledger.now())
    return find_window(bench, partition_key)


def retry(bench: Bench, partition_key: str, *, actor: str) -> Window:
    """Ask for a window again, with fresh attempts; the next tick or `run` takes it.

    Raises:
        UsageError: the window is in a state that needs no retry.
    """
    window = find_window(bench, partition_key)
    with bench.ledger.write() as tx:
        decisions.retry(tx, window, actor=actor, now=bench.ledger.now())
    return find_window(bench, partition_key)


def pause_batch(bench: Bench, batch_id: str, *, actor: str) -> list[str]:
    """A person cancelled a batch's run: its unfinished windows pause until they are asked for."""
    with bench.ledger.write() as tx:
        now = bench.ledger.now()
        leases.drop_dead(tx, now=now)
        ids = [
            one
            for one in batches.window_ids_of(tx, batch_id)
            if not leases.is_held(tx, leases.window_lease(one))
        ]
        paused = windows.set_state(
            tx, ids, WindowState.PAUSED, only_from=[WindowState.PINNED], reason="run cancelled"
        )
        for window in windows.by_ids(tx, paused):
            decisions.record(
                tx, window, action="pause", reason="run cancelled", actor=actor, now=now
            )
    return paused
