"""Every figure in one table: `python -m tests.bench [--quick] [NAME...]`, or `make bench`.

Nothing is written outside a temporary folder. Figures are of this machine while it does whatever
else it does; where a yardstick of ../shared is not there, its part is left out and noted.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

sys.dont_write_bytecode = True  # the yardsticks in ../shared stay as they are

from memclaw_etl.cli.show import errors, out, print_table  # noqa: E402 - see above
from tests.bench import (  # noqa: E402
    bench_decode,
    bench_extraction,
    bench_latency,
    bench_masking,
    bench_model,
    bench_pipeline,
    bench_plan,
    bench_recall,
)

Row = tuple[str, float, str]
CLIENT = "caura-client: bytes"


@dataclass(frozen=True)
class Figure:
    """One line of the table; `against` is what the value is to be compared with."""

    part: str
    name: str
    value: float
    unit: str
    against: str = ""


AGAINST: Mapping[str, str] = {
    "ours: bytes": "goal >= 100",
    "ours is faster by (bytes)": "goal >= 2",
    "ours is faster by (events)": "goal >= 2",
    "discover 10000 trails": "well under 2 s",
    "plan, 10000 unchanged trails": "goal < 2 s",
    "trails opened, none changed": "goal 0; the client reads every file",
    "trails opened, 1 grown": "goal 1",
    "end to end, 1000 small trails": "goal < 600 s on 2 cores",
    "Dagster's share of a window": "goal <= 0.3; a run per window takes seconds",
    "throughput, messages of trails": "goal >= 40",
    "recall_texts": "goal >= 95; best public pair 60.3",
    "recall_spans": "best public pair 52.2",
    "false_positive_rate": "goal <= 0.3; best public pair 2.39",
    "over_masking": "goal <= 1",
    "private texts exact": "goal 100",
    "extraction.evidence_recall_concise": "goal >= 0.58; chunk control 0.540",
    "extraction.typed_recall_lenient": "goal >= 0.42; chunk control 0.149",
    "extraction.high_recall": "goal >= 0.68",
    "extraction.precision": "goal >= 0.85; chunk control 0.909",
    "extraction.noise_rate": "goal <= 0.08; chunk control 0.054",
    "extraction.copied_share": "goal <= 0.30; chunk control 0.453",
    "extraction.useful_share": "goal >= 0.60",
    "extraction.verbatim_dump_rate": "goal <= 0.01",
    "extraction.predictions_per_10k_chars": "goal <= 15",
    "320 chunks, 1 s latency, 32 at once": "goal < 11.5; 10 is what no client can beat",
    "endpoint kept busy": "goal >= 90",
    **{f"recall p50, {name}": "goal < 30 at 100,000 rows" for name in bench_latency.FILTERS},
    **{f"recall p95, {name}": "goal < 80 at 100,000 rows" for name in bench_latency.FILTERS},
    "verbatim, locomo recall@10": "goal >= 76; BM25 64.1, MiniLM 45.2",
    "verbatim, locomo ndcg@10": "goal >= 58; BM25 50.3, MiniLM 31.8",
    "verbatim, locomo characters of the first 10": "BM25 1,478",
    "verbatim, beam-100k recall@10": "goal >= 62; BM25 41.3, MiniLM 52.9",
    "verbatim, beam-100k ndcg@10": "goal >= 53; BM25 32.0, MiniLM 44.1",
    "verbatim, beam-100k characters of the first 10": "BM25 31,496, MiniLM 20,636",
}
"""By name; the sources are DESIGN section 10 and the issues."""


def decode(*, quick: bool) -> list[Row]:
    """Bytes to events."""
    return bench_decode.main(quick=quick)


def plan(*, quick: bool) -> list[Row]:
    """Looking at trails that have not changed."""
    return bench_plan.main(1_000 if quick else 10_000)


def pipeline(*, quick: bool) -> list[Row]:
    """Everything, over many small trails."""
    return bench_pipeline.main(100 if quick else 1_000)


def masking(*, quick: bool) -> list[Row]:
    """Credentials and private text."""
    del quick
    return bench_masking.main()


def extraction(*, quick: bool) -> list[Row]:
    """What the heuristic interviewer finds."""
    del quick
    return bench_extraction.main()


def model(*, quick: bool) -> list[Row]:
    """Whether a model's endpoint is kept busy."""
    del quick
    return bench_model.main()


def recall(*, quick: bool) -> list[Row]:
    """How long an answer takes."""
    return bench_latency.latency(10_000 if quick else bench_latency.ROWS)


def recall_million(*, quick: bool) -> list[Row]:
    """The same with a million rows. Many minutes, so only when it is asked for."""
    return [] if quick else bench_latency.latency(bench_latency.MANY_ROWS)


def quality(*, quick: bool) -> list[Row]:
    """How good an answer is. Minutes of embedding, so not in a quick round."""
    if quick or not bench_recall.SHARED.exists():
        return []
    return bench_recall.quality()


PARTS: Mapping[str, Callable[..., list[Row]]] = {
    "decode": decode,
    "plan": plan,
    "pipeline": pipeline,
    "masking": masking,
    "extraction": extraction,
    "model": model,
    "recall": recall,
    "recall-million": recall_million,
    "quality": quality,
}
ON_DEMAND = frozenset({"recall-million"})


def figures(part: str, *, quick: bool) -> list[Figure]:
    """Run one part; what its module prints by itself is not shown."""
    with contextlib.redirect_stdout(io.StringIO()):
        rows = PARTS[part](quick=quick)
    if not rows:
        errors.print(
            f"{part}: nothing measured (left out of a quick round, or ../shared is absent)"
        )
    if part == "decode" and CLIENT not in {name for name, _, _ in rows}:
        errors.print(f"{part}: caura-client is not installed, so there is nothing to compare with")
    return [Figure(part, name, value, unit, AGAINST.get(name, "")) for name, value, unit in rows]


def show(found: Sequence[Figure]) -> None:
    """The table."""
    print_table(
        "", ["part", "what", "value", "unit", "compared with"],
        ((one.part, one.name, f"{one.value:>12,.3f}", one.unit, one.against) for one in found),
    )  # fmt: skip


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer trails and rows: minutes")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}")
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.names) - PARTS.keys()):
        parser.error(f"there is no {', '.join(unknown)}; known: {', '.join(PARTS)}")
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMCLAW_HOME"] = tempfile.tempdir = folder
        for part in chosen.names or [part for part in PARTS if part not in ON_DEMAND]:
            began = time.perf_counter()
            errors.print(f"{part} ...")
            found += figures(part, quick=chosen.quick)
            errors.print(f"{part}: {time.perf_counter() - began:.0f} s")
    show(found)
    if not chosen.names and chosen.quick:
        out.print("a quick round; `python -m tests.bench` takes its time")


if __name__ == "__main__":
    main()
