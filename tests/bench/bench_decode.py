"""How fast trails are decoded and found, and in how much memory.

Run: `python -m tests.bench.bench_decode` (`--quick` leaves the trail of 1 GB out).
"""

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from memclaw_etl.trails.claude_code import look_thoroughly
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.discovery import Source, discover
from memclaw_etl.trails.events import DecoderState, TrailKind
from memclaw_etl.trails.lines import read_lines
from memclaw_etl.trails.session import assemble
from tests.trail_lines import START, claude, joined, prompt, reply, tool_result

SHARED = Path(__file__).parents[2].parent / "shared" / "trails" / "claude-code"
TRAIL_BYTES = 100_000_000
BIG_TRAIL_BYTES = 1_000_000_000
ROUNDS = 5
Row = tuple[str, float, str]


def invented_trail() -> bytes:
    """A trail whose bytes are shared out as in the public ones: two thirds are tool results."""
    call = [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "x" * 600}}]
    turn = [
        prompt("Please move the ferry's timetable into its own module.", 1),
        *(claude("assistant", [{"type": "thinking", "thinking": "y" * 2000}], 2),) * 3,
        *(claude("assistant", call, 3), tool_result("row, row\n" * 350, 4)) * 6,
        reply("The timetable has its own module now. " * 9, 5),
    ]
    return joined(turn * 150)


def write_trail(path: Path, size_bytes: int) -> None:
    """A trail of this size from real ones, told again and again; every uuid stands once.

    The copies of a uuid would be replays, and cost nothing to keep.
    """
    paths = sorted(SHARED.glob("*.jsonl"))
    data = b"".join(one.read_bytes().rstrip(b"\n") + b"\n" for one in paths) or invented_trail()
    written = number = 0
    with path.open("wb") as file:
        while written < size_bytes:
            marked = data.replace(b'uuid":"', b'uuid":"%05d' % number)
            marked = marked.replace(b'parentUuid":"', b'parentUuid":"%05d' % number)
            written += file.write(marked)
            number += 1


def seconds(*calls: Callable[[], object]) -> list[float]:
    """Processor time of each, the best of several rounds: not what the machine does beside.

    They take turns, so that what slows the machine for a while slows all of them.
    """
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            start = time.process_time()
            call()
            best[number] = min(best[number], time.process_time() - start)
    return best


def decode_file(path: Path) -> int:
    """The number of events."""
    with path.open("rb") as file:
        assembled, _ = decode_bytes(
            TrailKind.CLAUDE_CODE, file, start=START, byte_end=None, state=DecoderState(),
            file_session="bench",
        )  # fmt: skip
    return len(assembled.events)


def decode_thoroughly(path: Path) -> int:
    with path.open("rb") as file:
        outcomes = map(look_thoroughly, read_lines(file, START))
        return len(assemble(outcomes, DecoderState(), file_session="bench").events)


def split_lines(path: Path) -> None:
    with path.open("rb") as file:
        for _ in read_lines(file, START):
            pass


def parse_alone(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                continue


def yardstick() -> Callable[[Path], int] | None:
    """The public client's parser (caura-client 1.1.1), where it is installed; it scrubs nothing."""
    try:
        parser = importlib.import_module("caura_client.interviewer.parser")
    except ImportError:
        return None
    parser.scrub = str

    def scan(path: Path) -> int:
        found = parser.scan_events(path, start_line=0, project="p", max_event_chars=4000)
        return len(found.events)

    return scan


def decode_rows(folder: Path) -> list[Row]:
    """Ours and the public client's parser over the same trail, in the same run."""
    trail = folder / "trail.jsonl"
    write_trail(trail, TRAIL_BYTES)
    megabytes = trail.stat().st_size / 1e6
    rows: list[Row] = [("trail", megabytes, "MB")]
    calls: dict[str, Callable[[Path], int]] = {
        "ours": decode_file,
        "ours, thorough path only": decode_thoroughly,
    }
    if client := yardstick():
        calls["caura-client"] = client
    each = seconds(*(partial(call, trail) for call in calls.values()))
    taken = dict(zip(calls, each, strict=True))
    for name, call in calls.items():
        rows.append((f"{name}: bytes", megabytes / taken[name], "MB/s"))
        rows.append((f"{name}: events", call(trail) / taken[name], "events/s"))
    if client:
        rows.append(("ours is faster by (bytes)", taken["caura-client"] / taken["ours"], "x"))
        ours, theirs = (
            row[1] for row in rows if row[0] in ("ours: events", "caura-client: events")
        )
        rows.append(("ours is faster by (events)", ours / theirs, "x"))
    split, parsed = seconds(partial(split_lines, trail), partial(parse_alone, trail))
    rows.append(("read_lines alone", megabytes / split, "MB/s"))
    rows.append(("orjson alone", megabytes / parsed, "MB/s"))
    return rows


MEASURE = """
import json, sys
from pathlib import Path
from tests.bench.bench_decode import decode_file
# not ru_maxrss: it starts at the peak of the process that forked this one
peak = lambda: 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
before = peak()
events = decode_file(Path(sys.argv[1]))
print(json.dumps({"events": events, "above_start": peak() - before}))
"""


def memory_rows(folder: Path) -> list[Row]:
    """The peak of a process of its own over a trail of 1 GB, all of it as one window."""
    trail = folder / "big.jsonl"
    write_trail(trail, BIG_TRAIL_BYTES)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(trail)], check=True, capture_output=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    found = json.loads(ran.stdout)
    return [
        ("big trail", trail.stat().st_size / 1e6, "MB"),
        ("big trail: events", found["events"], "events"),
        ("big trail: peak above start", found["above_start"] / 1e6, "MB"),
    ]


def discovery_row(folder: Path, files: int = 10_000) -> Row:
    """Listing only; the idle tick with a ledger is in `bench_planning`."""
    root = folder / "projects"
    for number in range(files):
        project = root / f"-srv-{number % 100}"
        if number < 100:
            project.mkdir(parents=True)
        (project / f"s{number}.jsonl").touch()
    source = Source(TrailKind.CLAUDE_CODE, root, ("*",))
    (taken,) = seconds(lambda: discover(source, machine12="bench"))
    return (f"discover {files} trails", taken, "s")


def main(*, quick: bool = False) -> list[Row]:
    """Measure, print and return (name, value, unit)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*decode_rows(folder), discovery_row(folder)]
        if not quick:
            rows += memory_rows(folder)
    for title, value, unit in rows:
        print(f"{title:<32}{value:>12.2f} {unit}")
    return rows


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
