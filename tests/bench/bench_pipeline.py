"""End to end over many small trails, and what Dagster adds. Run: … bench_pipeline [TRAILS]."""

import os
import sys
import tempfile
import time
import uuid
from pathlib import Path

from memclaw_etl.definitions import run_in_process
from memclaw_etl.lake.ledger import Stage
from memclaw_etl.service import planning
from memclaw_etl.service.checks import after_stage
from memclaw_etl.service.home import open_home
from memclaw_etl.service.planning import Batch, Watch
from memclaw_etl.settings import SourceSettings, load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.run import RunRequest, take, work
from tests.bench.invented import write_trails

Row = tuple[str, float, str]


def with_dagster(bench: Bench) -> float:
    """Seconds of the main job, as `memclaw-etl run --flush` does it."""
    began = time.perf_counter()
    summary = run_in_process(
        bench, sources=None, interviewer="heuristic", flush=True, watch=Watch()
    )
    seconds = time.perf_counter() - began
    if summary.windows_failed or summary.windows_committed != summary.windows_planned:
        raise RuntimeError(f"the run did not finish its windows: {summary}")
    return seconds


def without_dagster(bench: Bench) -> float:
    """Seconds of the same planning, stages and checks, called one after the other."""
    began = time.perf_counter()
    planning.look(bench, flush=True)
    while due := planning.owed(bench, limit=bench.settings.limits.batch_windows):
        run_id = str(uuid.uuid4())
        batch = planning.ask(bench, due, asked_by="bench", interviewer="heuristic", run_id=run_id)
        run_stages(bench, batch, run_id=run_id)
        planning.end_run(bench, run_id)
    return time.perf_counter() - began


def run_stages(bench: Bench, batch: Batch, *, run_id: str) -> None:
    request = RunRequest(
        run_id=run_id, batch_id=batch.batch_id, partition_keys=batch.partition_keys, by_person=False
    )
    for stage in Stage:
        report = work(bench, stage, request, take(bench, request))
        findings = after_stage(bench, stage, [done.window for done in report.done])
        if report.failed or findings or len(report.done) != len(batch.partition_keys):
            raise RuntimeError(f"{stage} failed in the bench")


def open_bench(folder: Path, root: Path) -> Bench:
    source = SourceSettings(kind="claude_code", root=root, include=("*",))
    os.environ["MEMCLAW_HOME"] = str(folder)  # what the Dagster resource opens
    bench = open_home(load_settings(folder, sources=(source,)))
    bench.embedder.embed(["warm"])
    bench.masker.session().mask("warm")
    return bench


def main(trails: int = 1_000) -> list[Row]:
    """Measure, print and return (name, value, unit)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_dagster(open_bench(folder / "warm-home", write_trails(folder / "warm", 2)))
        root = write_trails(folder / "projects", trails)
        bare_s = without_dagster(open_bench(folder / "bare-home", root))
        whole_s = with_dagster(open_bench(folder / "dagster-home", root))
    rows = [
        (f"end to end, {trails} small trails", whole_s, "s"),
        ("end to end, windows a second", trails / whole_s, "1/s"),
        ("stages alone, windows a second", trails / bare_s, "1/s"),
        ("Dagster's share of a window", (whole_s - bare_s) / trails, "s"),
    ]
    for title, value, unit in rows:
        print(f"{title:<40}{value:>10.3f} {unit}")
    return rows


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
