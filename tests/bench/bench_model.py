"""How busy the interviewer `openai` keeps its endpoint: 320 chunks, 1 s latency, 32 at once.

Run: python -m tests.bench.bench_model. The server is a process of its own; ten rounds of a second
are what no client can beat.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memclaw_etl.interview.model_interviewer import ModelInterviewer
from memclaw_etl.interview.model_purse import Purse
from memclaw_etl.interview.protocols import Asked
from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.settings import ModelSettings
from tests.asking import MODEL, chunk

Row = tuple[str, float, str]
CHUNKS, LATENCY_S, CONCURRENCY = 320, 1.0, 32
EVENTS_A_CHUNK, CHARS_AN_EVENT = 12, 400


@contextmanager
def served(latency_s: float) -> Iterator[str]:
    """A server in another process; its URL."""
    command = [sys.executable, "-m", "tests.openai_server", str(latency_s)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def windows(cache: FileResponseCache, *, count: int) -> list[Asked]:
    """Windows of two chunks."""
    made = []
    for number in range(count // 2):
        own = tuple(
            chunk(*(_text(number, part, one) for one in range(EVENTS_A_CHUNK)), index=part)
            for part in (0, 1)
        )
        made.append(Asked(key=str(number), chunks=own, cache=cache))
    return made


def _text(window: int, part: int, number: int) -> str:
    start = f"Plan {window}.{part}.{number} was chosen for the ferry, since it costs less. "
    return (start * (CHARS_AN_EVENT // len(start) + 1))[:CHARS_AN_EVENT]


def measure(*, chunks: int = CHUNKS, latency_s: float = LATENCY_S) -> tuple[float, float]:
    """Seconds for the first time, and for the second, when every answer is in the cache."""
    import openai  # noqa: F401 - its import is paid once a process, not once a batch

    with served(latency_s) as url, tempfile.TemporaryDirectory() as folder:
        chosen = ModelSettings(name=MODEL, base_url=url, concurrency=CONCURRENCY)
        cache = FileResponseCache(Path(folder))
        times = []
        for _ in range(2):
            asker = ModelInterviewer(chosen, purse=Purse(chosen))
            started = time.perf_counter()
            told = list(asker.interview_all(windows(cache, count=chunks), careful=False))
            times.append(time.perf_counter() - started)
            assert all(one.error is None and len(one.reports) == 2 for one in told)
            assert len(told) == chunks // 2
    return times[0], times[1]


def main() -> list[Row]:
    """The figures."""
    first, again = measure()
    ideal = CHUNKS / CONCURRENCY * LATENCY_S
    return [
        ("320 chunks, 1 s latency, 32 at once", round(first, 2), "s"),
        ("endpoint kept busy", round(100 * ideal / first, 1), "%"),
        ("320 chunks, answers in the cache", round(again, 2), "s"),
    ]


if __name__ == "__main__":
    for name, value, unit in main():
        print(f"{name:<40} {value:>8} {unit}")
