"""How fast trails are decoded and found. Run: python -m tests.bench.bench_decode."""

import importlib
import statistics
import tempfile
import time
from collections.abc import Callable
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
ROUNDS = 9
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


def concatenated(paths: list[Path]) -> bytes:
    return b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in paths)


def seconds(call: Callable[[], object]) -> float:
    """The median of several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        rounds.append(time.perf_counter() - start)
    return statistics.median(rounds)


def decode_file(path: Path) -> None:
    with path.open("rb") as file:
        decode_bytes(
            TrailKind.CLAUDE_CODE,
            file,
            start=START,
            byte_end=None,
            state=DecoderState(),
            file_session="bench",
        )


def decode_thoroughly(path: Path) -> None:
    with path.open("rb") as file:
        outcomes = [look_thoroughly(line) for line in read_lines(file, START)]
    assemble(outcomes, DecoderState(), file_session="bench")


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


def yardstick() -> Callable[[Path], object] | None:
    """The public client's parser (caura-client 1.1.1), where it is installed."""
    try:
        parser = importlib.import_module("caura_client.interviewer.parser")
    except ImportError:
        return None
    return lambda path: parser.scan_events(path, start_line=0, project="p", max_event_chars=4000)


def decode_rows(folder: Path) -> list[Row]:
    paths = sorted(SHARED.glob("*.jsonl"))
    data = concatenated(paths) if paths else invented_trail()
    trail = folder / "trail.jsonl"
    trail.write_bytes(data)
    calls: dict[str, Callable[[Path], object]] = {
        "decode: look + assemble": decode_file,
        "decode: thorough path only": decode_thoroughly,
        "read_lines alone": split_lines,
        "orjson alone": parse_alone,
    }
    if client := yardstick():
        calls["caura-client parser"] = client
    megabytes = len(data) / 1e6
    rows = [
        (name, megabytes / seconds(lambda call=call: call(trail)), "MB/s")  # type: ignore[misc]
        for name, call in calls.items()
    ]
    return [("trail" if paths else "trail (invented)", megabytes, "MB"), *rows]


def discovery_row(folder: Path, files: int = 10_000) -> Row:
    root = folder / "projects"
    for number in range(files):
        project = root / f"-srv-{number % 100}"
        if number < 100:
            project.mkdir(parents=True)
        (project / f"s{number}.jsonl").touch()
    source = Source(TrailKind.CLAUDE_CODE, root, ("*",))
    taken = seconds(lambda: discover(source, machine12="bench"))
    return (f"discover {files} trails", taken, "s")


def main() -> list[Row]:
    """Measure, print and return (name, value, unit)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*decode_rows(folder), discovery_row(folder)]
    for title, value, unit in rows:
        print(f"{title:<32}{value:>10.2f} {unit}")
    return rows


if __name__ == "__main__":
    main()
