"""Several real processes on one ledger: nothing twice, nothing lost, no deadlock."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import func, select

from memclaw_etl.errors import SurroundingsError
from memclaw_etl.lake.ledger import Ledger, batches, commit, open_ledger, windows
from memclaw_etl.lake.ledger.schema import event_owners
from memclaw_etl.lake.ledger.schema import windows as window_table
from tests.conftest import Clock
from tests.ledger_rows import add_node, last_seq, pin_many
from tests.postgres import Server

ROOT = Path(__file__).parents[2]
NODES = ["a", "b", "c"]


def start(what: str, url: str, seed: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.integration.ledger_worker", what, url, str(seed), *more]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err[-2000:]
    return out.split()


def test_processes_that_pin_the_same_nodes_leave_no_overlap_and_no_gap(
    ledger: Ledger, ledger_url: str
) -> None:
    added = [add_node(ledger, node_id) for node_id in NODES]
    for process in [start("pin", ledger_url, seed, *NODES) for seed in range(2)]:
        finish(process)
    for node in added:
        with ledger.read() as tx:
            ordered = windows.of_node(tx, "default", node.node_id, 0)
            owners = tx.execute(select(func.count()).select_from(event_owners)).scalar_one()
            claimed = tx.execute(select(func.sum(window_table.c.events))).scalar_one()
        assert ordered[0].cursor_from == 0
        for before, after in pairwise(ordered):
            assert after.cursor_from == before.cursor_to + 1
            assert after.byte_from == before.byte_to
        assert owners == claimed


def test_processes_that_commit_the_same_windows_do_each_once(
    ledger: Ledger, ledger_url: str
) -> None:
    added = [add_node(ledger, node_id) for node_id in NODES]
    pinned = [one for node in added for one in pin_many(ledger, 15, node)]
    done = [
        window_id
        for process in [start("work", ledger_url, seed) for seed in range(2)]
        for window_id in finish(process)
    ]
    assert Counter(done) == Counter(one.window_id for one in pinned)
    for node in added:
        assert last_seq(ledger, node) == 149
        with ledger.read() as tx:
            held = commit.frontier_of(windows.of_node(tx, "default", node.node_id, 0)).held
        assert held == 0


def test_killed_processes_leave_everything_to_the_next(ledger: Ledger, ledger_url: str) -> None:
    node = add_node(ledger)
    pin_many(ledger, 40, node)
    for seed in range(2):
        process = start("work", ledger_url, seed)
        assert process.stdout is not None
        assert process.stdout.readline(), "it was killed before its first commit"
        time.sleep(0.02 * seed)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    finish(start("work", ledger_url, 9))
    assert last_seq(ledger, node) == 399


def test_what_two_planners_find_owed_at_once_is_asked_for_by_one(ledger: Ledger) -> None:
    due = pin_many(ledger, 3, add_node(ledger))
    began = threading.Event()

    def second() -> bool:
        began.set()
        with ledger.write() as tx:
            return batches.are_owed(tx, due, now=ledger.now())

    with ThreadPoolExecutor(1) as pool:
        with ledger.write() as tx:
            assert batches.are_owed(tx, due, now=ledger.now())
            asked = pool.submit(second)
            began.wait()
            time.sleep(0.3)  # long enough for a check that does not wait
            batches.ask(
                tx, due, asked_by="first", interviewer="verbatim", now=ledger.now(), deadline_s=60
            )
        assert asked.result(timeout=60) is False


def test_a_lost_connection_is_the_fault_of_the_surroundings(postgres: Server, clock: Clock) -> None:
    ledger = open_ledger(postgres.emptied_database(), clock=clock)
    for transaction in (ledger.write, ledger.read):
        with (
            pytest.raises(SurroundingsError, match="cannot be used now") as caught,
            transaction() as tx,
        ):
            tx.exec_driver_sql("select pg_terminate_backend(pg_backend_pid())")
        assert caught.value.exit_code == 75
    assert add_node(ledger).epoch == 0
    ledger.engine.dispose()
