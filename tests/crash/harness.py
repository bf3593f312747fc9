"""A home and its trails, real processes that work on them, and what must hold afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memclaw_etl.lake.ledger import Stage, Window, WindowState, nodes, results, windows
from memclaw_etl.lake.ledger import leases as lease_table
from memclaw_etl.lake.ledger.schema import leases
from memclaw_etl.service.audit import audit
from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.trails.events import TrailKind
from tests.trail_lines import decode, dumped, prompt, reply

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("driver.py")
SHARED = ROOT.parent / "shared"
CLI = [sys.executable, "-c", "from memclaw_etl.cli import main; main()"]
MACHINE = "0123456789ab"
ALL = bool(os.environ.get("MEMCLAW_TEST_ALL"))
"""Every combination, not only the bounded part that runs always. Read before tests clear it."""

slow = pytest.mark.skipif(not ALL, reason="runs with MEMCLAW_TEST_ALL=1 (make test-all)")
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared trails are not here")

_TOPICS = ("the ferry timetable", "the tide gauge", "the harbour map", "the mooring ledger")


def turn(number: int, *, session: str, blank: int = 0) -> list[dict[str, Any]]:
    """One prompt and its answer, unlike all others; `blank` lines of noise between them."""
    topic = _TOPICS[number % len(_TOPICS)]
    said = {"sessionId": session}
    asked = prompt(f"Please change {topic}, step {number} of {session}.", 2 * number, **said)
    answer = f"We decided to store {topic} in table {number} of {session}, since it is small."
    answered = reply(answer, 2 * number + 1, **said)
    for record, role in ((asked, "u"), (answered, "a")):
        record["uuid"] = f"{session}-{number}-{role}"
        minute, second = divmod(number, 60)
        record["timestamp"] = f"2026-02-03T{9 + minute // 60:02d}:{minute % 60:02d}:{second:02d}Z"
    noise = [{"type": "progress", "sessionId": session, "n": n} for n in range(blank)]
    return [asked, *noise, answered]


def turns(first: int, count: int, *, session: str, blank: int = 1) -> bytes:
    """Lines of `count` turns (2 events each)."""
    records = [
        record
        for number in range(first, first + count)
        for record in turn(number, session=session, blank=blank)
    ]
    return b"".join(dumped(record) + b"\n" for record in records)


@dataclass
class Lab:
    """One home, one folder of Claude Code trails, and an environment of its own."""

    root: Path
    limits: dict[str, object] = field(default_factory=dict)
    interviewer: str = "verbatim"
    machine: str = MACHINE

    def __post_init__(self) -> None:
        self.trails.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def trails(self) -> Path:
        return self.root / "trails"

    def trail(self, session: str) -> Path:
        return self.trails / f"{session}.jsonl"

    def append(self, session: str, data: bytes) -> None:
        with self.trail(session).open("ab") as file:
            file.write(data)

    @property
    def environment(self) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith(("MEMCLAW_", "DAGSTER_"))}
        limits = {f"MEMCLAW_LIMITS__{k.upper()}": str(v) for k, v in self.limits.items()}
        path = os.pathsep.join([str(ROOT), own.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return own | limits | {
            "MEMCLAW_MACHINE_ID": self.machine, "MEMCLAW_HOME": str(self.home), "PYTHONPATH": path,
            "MEMCLAW_INTERVIEWER": self.interviewer, "PYTHONWARNINGS": "default",
        }  # fmt: skip

    def cli(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run the command line to its end and check its exit code."""
        return self._finish([*CLI, *arguments], code)

    def run(self, *more: str, code: int | None = 0, plan: dict[str, Any] | None = None) -> Any:
        """`run --flush --json` over the trails; its summary."""
        return json.loads(self._finish(self._run_command(plan, *more), code).stdout)

    def crash(self, point: str, *, nth: int = 1) -> None:
        """`run` that is killed at a point of the driver."""
        command = self._run_command({"kill": point, "nth": nth})
        self._finish(command, -signal.SIGKILL)

    def start(self, *more: str, plan: dict[str, Any] | None = None) -> "subprocess.Popen[str]":
        """Start `run --flush --json` and do not wait."""
        return subprocess.Popen(
            self._run_command(plan, *more), env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _run_command(self, plan: dict[str, Any] | None, *more: str) -> list[str]:
        start = CLI if plan is None else [sys.executable, str(DRIVER), json.dumps(plan)]
        source = () if (self.home / "memclaw.toml").exists() else self.source
        return [*start, "run", *source, "--flush", "--json", *more]

    @property
    def source(self) -> tuple[str, str]:
        return ("--source", f"claude_code={self.trails}")

    def _finish(self, command: list[str], code: int | None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=240, check=False
        )
        if code is not None:
            assert done.returncode == code, f"exit {done.returncode}: {done.stderr[-4000:]}"
        return done

    def watch_trails(self, **settings: object) -> None:
        """Write a memclaw.toml that lists the trails as a source."""
        self.home.mkdir(parents=True, exist_ok=True)
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        lines += ["[[sources]]", 'kind = "claude_code"', f"root = {json.dumps(str(self.trails))}"]
        (self.home / "memclaw.toml").write_text("\n".join(lines) + "\n")

    def bench(self) -> Bench:
        """The stores of the home, for looking only."""
        return Bench(load_settings(self.home))

    def look(self) -> "Seen":
        return Seen.of(self.bench())

    def sql(self, statement: str) -> Any:
        return json.loads(self.cli("sql", statement, "--json").stdout)

    def status(self) -> dict[str, dict[str, Any]]:
        rows = json.loads(self.cli("status", "--json").stdout)
        return {Path(row["path"]).stem: row for row in rows}


@dataclass
class Seen:
    """What the stores hold, as values that can be compared between homes."""

    windows: list[Window]
    leases: list[str]
    items: dict[str, set[str]]
    """partition key -> item ids"""
    events: dict[str, Counter[tuple[int, int, int]]]
    """node id -> (epoch, seq, part) of the stored events of committed windows"""
    memories: list[dict[str, Any]]
    frontiers: dict[str, tuple[int, int | None]]
    """node id -> (epoch, watermark)"""

    @classmethod
    def of(cls, bench: Bench) -> "Seen":
        with bench.ledger.read() as tx:
            known = nodes.all_nodes(tx)
            rows = [
                window
                for node in known
                for epoch in range(node.epoch + 1)
                for window in windows.of_node(tx, node.tenant_id, node.node_id, epoch)
            ]
            ids = [window.window_id for window in rows]
            masked = results.current(tx, ids, Stage.MASKED_CHUNKS)
            merged = results.current(tx, ids, Stage.MERGED_REPORT)
            held = [row.name for row in tx.execute(leases.select()).all()]
        events: dict[str, Counter[tuple[int, int, int]]] = {n.node_id: Counter() for n in known}
        items: dict[str, set[str]] = {}
        for window in rows:
            if window.state is not WindowState.COMMITTED:
                continue
            frame = bench.files.read(masked[window.window_id].path).filter(~pl.col("context"))
            events[window.node_id].update(
                (window.epoch, seq, part) for seq, part in frame.select("seq", "part").iter_rows()
            )
            own = bench.files.read(merged[window.window_id].path)
            items[window.partition_key] = set(own["item_id"])
        from memclaw_etl.service.status import status

        frontiers = {one.node_id: (one.epoch, one.last_seq) for one in status(bench)}
        return cls(rows, held, items, events, bench.memory_rows().to_pylist(), frontiers)

    @property
    def keys(self) -> list[str]:
        return sorted(window.partition_key for window in self.windows)

    @property
    def states(self) -> Counter[str]:
        return Counter(str(window.state) for window in self.windows)

    @property
    def memory_ids(self) -> list[str]:
        return sorted(row["memory_id"] for row in self.memories)


def events_of(path: Path, *, kind: TrailKind = TrailKind.CLAUDE_CODE) -> list[tuple[int, int]]:
    """(seq, part) of every event of a trail, by decoding it as a whole."""
    assembled, _ = decode(path.read_bytes(), kind, file_session=path.stem)
    return [(event.seq, event.part) for event in assembled.events]


def assert_whole(lab: Lab, *sessions: str) -> Seen:
    """No gap, no duplicate, nothing left to do: the promise, for trails of one epoch.

    With the verbatim interviewer every event has a memory of its own, so that is checked, too.
    """
    bench = lab.bench()
    drop_dead(bench)
    assert audit(bench) == []
    seen = Seen.of(bench)
    assert set(seen.states) <= {"committed", "noise"}, seen.states
    # a daemon's run holds its own lease until its process is gone; nothing else may be held
    assert [name for name in seen.leases if not name.startswith("run:")] == []
    for session in sessions or [path.stem for path in lab.trails.glob("*.jsonl")]:
        node_id = f"cc:{lab.machine}:{session}"
        expected = events_of(lab.trail(session))
        assert seen.events[node_id] == Counter({(0, *ref): 1 for ref in expected}), session
        assert_tiled([window for window in seen.windows if window.node_id == node_id])
        lines = lab.trail(session).read_bytes().count(b"\n")
        assert seen.frontiers[node_id][1] is not None
        assert seen.frontiers[node_id][1] >= lines - 1
        if lab.interviewer == "verbatim":
            told = Counter(
                (ref["seq"], ref["part"])
                for row in seen.memories
                for ref in row["evidence"]
                if ref["node_id"] == node_id
            )
            assert told == Counter(expected), session
    assert len(set(seen.memory_ids)) == len(seen.memories)
    assert len({row["group_key"] for row in seen.memories}) == len(seen.memories)
    return seen


def assert_tiled(ordered: Sequence[Window]) -> None:
    """Windows of one epoch follow each other byte by byte, from the first on."""
    byte = 0
    for window in sorted(ordered, key=lambda one: one.byte_from):
        assert window.byte_from - byte in (0, 1), window.partition_key  # 1: a newline that closes
        byte = window.byte_to


def drop_dead(bench: Bench) -> None:
    """What every planner does first: leases of processes that are gone count for nothing."""
    with bench.ledger.write() as tx:
        lease_table.drop_dead(tx, now=bench.ledger.now())


def wait_until(
    what: str, holds: Callable[[], bool], *, seconds: float, every: float = 0.5
) -> float:
    """Wait for something; how long it took. Fails when it takes longer than `seconds`."""
    started = time.monotonic()
    while not holds():
        waited = time.monotonic() - started
        assert waited < seconds, f"after {waited:.0f} s still not: {what}"
        time.sleep(every)
    return time.monotonic() - started


def dagster_command(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


@contextmanager
def running(command: list[str], lab: Lab, *, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is ended with all that it started, when the block is left."""
    environment = lab.environment | {"DAGSTER_HOME": str(lab.home / "dagster")}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment, stdout=file, stderr=subprocess.STDOUT, cwd=lab.root,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            end_group(process)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process group that we started: politely, then for certain."""
    for sign, seconds in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def daemon(lab: Lab) -> Any:
    """The Dagster daemon with a code server of its own, on this home."""
    command = [dagster_command("dagster-daemon"), "run", "-m", "memclaw_etl.definitions"]
    return running(command, lab, log=lab.root / "daemon.log")


def dagster_runs(lab: Lab) -> Counter[str]:
    """How many runs of the home stand in which state."""
    import dagster as dg

    with dg.DagsterInstance.from_config(str(lab.home / "dagster")) as instance:
        return Counter(str(run.status.value) for run in instance.get_runs())
