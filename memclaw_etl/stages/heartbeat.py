"""Keeping the leases of a run alive while it works."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.exc import SQLAlchemyError

from memclaw_etl.errors import SurroundingsError
from memclaw_etl.lake.ledger import Holder, leases
from memclaw_etl.stages.bench import Bench


@contextmanager
def heartbeat(bench: Bench, holder: Holder) -> Iterator[None]:
    """Renew the run's leases until the block ends. A beat that fails is followed by the next."""
    stop = threading.Event()
    lease_s = bench.settings.limits.lease_s

    def beat() -> None:
        while not stop.wait(lease_s / 4):
            with suppress(SurroundingsError, SQLAlchemyError), bench.ledger.write() as tx:
                leases.renew(tx, holder=holder, now=bench.ledger.now(), lease_s=lease_s)

    thread = threading.Thread(target=beat, name="memclaw-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
