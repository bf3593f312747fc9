"""Figures of the masker: start-up, throughput, linearity, and the yardstick's table.

Run: `python tests/bench/bench_masking.py`. The yardstick is read from `../shared/masking` when it
is there; the throughput then comes from real trails, else from invented text.
"""

import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

from memclaw_etl.masking import PersonalData, open_masker, strip_private, strip_private_blocks

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
    """Other maskers, where they are installed; `pip install kingfisher-secret-scanner` is large."""
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


HOSTILE = {
    "password=": "password=",
    "BEGIN": "-----BEGIN RSA PRIVATE KEY-----\n",
    "END": "-----END RSA PRIVATE KEY-----\n",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5",
    "a:b@": "https://a:b@",
    "quotes": '{\\"token\\":\\"',
    "private": "<private ",
    "table": "| password | token |\n",
    "secret:": "kind: secret\ndata:\n  a: b\n",
    "one word": "x",
    "at signs": "a.b@",
    "digits": "4242 4242 4242 424",
    "phones": "+44 7700 90012",
    "hex": "0123456789abcdef",
    "escapes": '\\\\\\"key\\\\\\": ',
    "bearer": "Authorization: Bearer ",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.",
    "marks": "[MASKED:token:1]",
    "nested": "<private><private>",
    "wide": "пароль: ключ ",
}


QUICK_S = 0.1
"""Texts that take longer for 200 kB are measured with 1 MB instead of 10."""


def linearity() -> list[Row]:
    """Hostile texts: growth when doubled (2 is linear), and time per byte of a large one."""
    growth, per_byte, slowest = [], [], []
    for piece in [*HOSTILE.values(), *(_tangled(number) for number in range(3))]:
        short = (piece * (200_000 // len(piece) + 1))[:200_000]
        small_s = _hostile_s(short[:10_000]) / 10_000
        short_s = _hostile_s(short, repeats=1)
        growth.append(_hostile_s(short + short, repeats=1) / max(short_s, 1e-4))
        large = short * (50 if short_s < QUICK_S else 5)
        large_s = _hostile_s(large, repeats=1) / len(large)
        per_byte.append(large_s / small_s)
        slowest.append(1 / large_s / 1e6)
    return [
        ("hostile texts, worst growth when doubled", max(growth), "x"),
        ("hostile texts, 1 to 10 MB against 10 kB per byte", max(per_byte), "x"),
        ("hostile texts, slowest", min(slowest), "MB/s"),
    ]


def _hostile_s(text: str, *, repeats: int = 3) -> float:
    return _cpu_s(lambda: _mask_all([text], PersonalData.MASK), repeats=repeats)


def _tangled(number: int) -> str:
    """Pieces of every kind, mixed at random."""
    return "".join(random.Random(number).choices(list(HOSTILE.values()), k=500))


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
