"""What an idle tick costs. Run: python -m tests.bench.bench_plan [TRAILS]."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from tests.bench.invented import write_trails
from tests.trail_lines import dumped, prompt

ROUNDS = 5
Row = tuple[str, float, str]

_counters: list[list[str]] = []


def _note_open(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _counters and str(arguments[0]).endswith(".jsonl"):
        for opened in _counters:
            opened.append(str(arguments[0]))


sys.addaudithook(_note_open)


@contextmanager
def trails_opened() -> Iterator[list[str]]:
    """The trails that this process opens meanwhile, as the interpreter itself reports them."""
    opened: list[str] = []
    _counters.append(opened)
    try:
        yield opened
    finally:
        _counters.remove(opened)


def look(bench: Bench) -> tuple[float, int]:
    """Seconds of one look over all sources, and how many trails were opened in it."""
    with trails_opened() as opened:
        began = time.perf_counter()
        planning.look(bench, flush=False)
        return time.perf_counter() - began, len(opened)


def measured(bench: Bench, before: Callable[[int], None]) -> tuple[float, float]:
    """Medians of seconds and of trails opened."""
    rounds = []
    for number in range(ROUNDS):
        before(number)
        rounds.append(look(bench))
    return statistics.median(s for s, _ in rounds), statistics.median(n for _, n in rounds)


def main(trails: int = 10_000) -> list[Row]:
    """Measure, print and return (name, value, unit)."""
    with tempfile.TemporaryDirectory() as name:
        root = write_trails(Path(name) / "projects", trails)
        source = SourceSettings(kind="claude_code", root=root, include=("*",))
        bench = open_home(load_settings(Path(name) / "home", sources=(source,)))
        began = time.perf_counter()
        planning.look(bench, flush=True)
        first_s = time.perf_counter() - began
        idle_s, idle_opened = measured(bench, lambda number: None)
        paths = sorted(root.rglob("*.jsonl"))
        grown_s, grown_opened = measured(bench, lambda number: append(paths[number], number))
        bench.ledger.engine.dispose()
    rows = [
        (f"first look, {trails} new trails", first_s, "s"),
        (f"plan, {trails} unchanged trails", idle_s, "s"),
        ("trails opened, none changed", idle_opened, "n"),
        (f"plan, 1 of {trails} trails grown", grown_s, "s"),
        ("trails opened, 1 grown", grown_opened, "n"),
    ]
    for title, value, unit in rows:
        print(f"{title:<40}{value:>10.3f} {unit}")
    return rows


def append(path: Path, number: int) -> None:
    """One more line at the end of a trail."""
    with path.open("ab") as file:
        file.write(dumped(prompt(f"And what about ferry {number}?", 900_000 + number)) + b"\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
