"""Figures of the masker: start-up, throughput, linearity, and the yardstick's table.

Run: `python -m tests.bench.bench_masking`. The yardstick is read from `../shared/masking` when it
is there; the throughput then comes from real trails, else from invented text.
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

from memclaw_etl.masking import PersonalData, open_masker, strip_private, strip_private_blocks
from tests.bench.hostile import HOSTILE, hostile_text, tangled

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
Row = tuple[str, float, str]


def main() -> list[Row]:
    """Measure and print rows of (name, value, unit)."""
    rows = [*start_up(), *throughput(), *linearity()]
    if (SHARED / "masking").is_dir():
        rows += [*yardstick("LABELS.jsonl"), *private(), *personal()]
    for name, value, unit in rows:
        print(f"{name:<44} {value:>10.3f} {unit}")
    return rows


def start_up() -> list[Row]:
    """Time of a first masking in a fresh process beyond that of an empty one."""
    code = "from memclaw_etl.masking import open_masker; open_masker().session().mask('token=1')"
    empty_s = min(_process_s("pass") for _ in range(5))
    return [
        (
            "start-up, import to first mask",
            1000 * (min(_process_s(code) for _ in range(5)) - empty_s),
            "ms",
        )
    ]


def _process_s(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def throughput() -> list[Row]:
    """Megabytes of UTF-8 a second on one core (CPU time, best of three), beside others."""
    texts = list(_messages())
    size_mb = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    long_text = "\n".join(texts)[:4_000_000]
    long_mb = len(long_text.encode("utf-8", "replace")) / 1e6
    rows = [
        ("throughput, messages of trails", size_mb / _cpu_s(lambda: _mask_all(texts)), "MB/s"),
        ("throughput, one long text", long_mb / _cpu_s(lambda: _mask_all([long_text])), "MB/s"),
        (
            "throughput, personal data masked, too",
            size_mb / _cpu_s(lambda: _mask_all(texts, PersonalData.MASK)),
            "MB/s",
        ),
    ]
    others = [(name, _cpu_s(partial(_each, scan, texts))) for name, scan in _others()]
    return rows + [(f"throughput, {name}", size_mb / took_s, "MB/s") for name, took_s in others]


def _others() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Other maskers, where they are installed: `pip install --group dev --group bench`."""
    try:
        from caura_client.interviewer.scrub import scrub

        yield "caura-client scrub", scrub
    except ImportError:
        print("caura-client is not installed: left out", file=sys.stderr)
    try:
        from kingfisher_sdk import Scanner

        scanner = Scanner()
        yield "kingfisher alone", scanner.scan
    except ImportError:
        print("kingfisher-secret-scanner is not installed: left out", file=sys.stderr)


def _each(scan: Callable[[str], object], texts: list[str]) -> None:
    for text in texts:
        scan(text)


def _messages() -> Iterator[str]:
    files = sorted((SHARED / "trails").rglob("*.jsonl")) if (SHARED / "trails").is_dir() else []
    for file in files:
        for line in file.read_bytes().splitlines():
            try:
                yield from _strings(json.loads(line))
            except ValueError:
                continue
    if not files:
        yield (
            "def token_count(text: str) -> int:\n    return len(text.split())  # api key docs\n"
            * 50_000
        )


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) > 200:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _mask_all(texts: list[str], policy: PersonalData = PersonalData.OFF) -> None:
    session = open_masker().session(personal_data=policy)
    for text in texts:
        session.mask(text)


def _cpu_s(work: Callable[[], None], *, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return max(min(times), 1e-9)


SMALL_CHARS, MIDDLE_CHARS, LARGE_CHARS = 10_000, 200_000, 10_000_000
QUICK_S = 0.1
"""Texts that take longer for MIDDLE_CHARS are measured with a tenth of LARGE_CHARS."""


def linearity() -> list[Row]:
    """Hostile texts: growth when doubled (2 is linear), and time per byte of a large one.

    A small text is masked again and again, until as much was masked as in the middle one, so that
    neither a warm cache nor a single slow moment decides.
    """
    growth, per_byte, speed = {}, {}, {}
    for name, piece in [*HOSTILE.items(), *((f"tangled {n}", tangled(n)) for n in range(3))]:
        small = [hostile_text(piece, SMALL_CHARS)] * (MIDDLE_CHARS // SMALL_CHARS)
        middle = hostile_text(piece, MIDDLE_CHARS)
        small_s = _hostile_s(small) / MIDDLE_CHARS
        middle_s = _hostile_s([middle])
        growth[name] = _hostile_s([hostile_text(piece, 2 * MIDDLE_CHARS)]) / middle_s
        large_chars = LARGE_CHARS if middle_s < QUICK_S else LARGE_CHARS // 10
        large_s = _hostile_s([hostile_text(piece, large_chars)], repeats=2) / large_chars
        per_byte[name] = large_s / small_s
        speed[name] = 1 / large_s / 1e6
    slowest = min(speed, key=lambda name: speed[name])
    steepest = max(per_byte, key=lambda name: per_byte[name])
    return [
        ("hostile texts, growth when doubled, worst", max(growth.values()), "x"),
        ("hostile texts, growth when doubled, median", statistics.median(growth.values()), "x"),
        (f"hostile texts, 1-10 MB by 10 kB, worst ({steepest})", per_byte[steepest], "x"),
        ("hostile texts, 1-10 MB by 10 kB, median", statistics.median(per_byte.values()), "x"),
        (f"hostile texts, slowest ({slowest})", speed[slowest], "MB/s"),
    ]


def _hostile_s(texts: list[str], *, repeats: int = 3) -> float:
    """Seconds for all of them, each in a session of its own; best of `repeats`."""

    def mask_apart() -> None:
        for text in texts:
            _mask_all([text], PersonalData.MASK)

    return _cpu_s(mask_apart, repeats=repeats)


def yardstick(labels: str) -> list[Row]:
    """The scorer's figures, in percent."""
    scorer = _scorer()
    rows = scorer.load(SHARED / "masking" / labels)
    masked = [
        {"id": row["id"], "text": open_masker().session().mask(row["text"]).text} for row in rows
    ]
    result = scorer.score(rows, masked)
    scorer.show(result, 10)
    names = (
        "recall_texts",
        "recall_spans",
        "recall_family_macro",
        "false_positive_rate",
        "over_masking",
    )
    by_source = [
        (f"recall(texts) {name}", row["recall_texts"], "%")
        for name, row in result["source"].items()
    ]
    return [*((name, result[name], "%") for name in names), *by_source]


def personal() -> list[Row]:
    """Personal data under the policy `mask`: found, and look-alikes changed, in percent."""
    scorer = _scorer()
    rows = scorer.load(SHARED / "masking" / "PII.jsonl")
    session = open_masker().session
    masked = [
        {"id": row["id"], "text": session(personal_data=PersonalData.MASK).mask(row["text"]).text}
        for row in rows
    ]
    result = scorer.score(rows, masked)
    return [
        ("personal data masked", result["recall_texts"], "%"),
        ("personal look-alikes changed", result["false_positive_rate"], "%"),
    ]


def private() -> list[Row]:
    """Share of `<private>` texts that come out exactly as expected."""
    squeeze = lambda text: " ".join(text.split())  # noqa: E731
    rows = _scorer().load(SHARED / "masking" / "PRIVATE.jsonl")
    exact = 0
    for row in rows:
        if "blocks" in row:
            got = [squeeze(block) for block in strip_private_blocks(row["blocks"])]
            exact += got == [squeeze(block) for block in row["expected_blocks"]]
        else:
            exact += squeeze(strip_private(row["text"]).text) in map(squeeze, row["expected"])
    return [("private texts exact", 100.0 * exact / len(rows), "%")]


def _scorer() -> ModuleType:
    path = SHARED / "masking" / "score_masking.py"
    spec = importlib.util.spec_from_file_location("score_masking", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
