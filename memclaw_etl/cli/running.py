"""`demo`, `run` and `ui`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from memclaw_etl.cli.answers import print_hits
from memclaw_etl.cli.embedding import refuse_other_index
from memclaw_etl.cli.looking import print_nodes
from memclaw_etl.cli.options import (
    DEFAULT,
    HomeOption,
    IncludeOption,
    JsonOption,
    SourceOption,
    open_bench,
    parse_sources,
    source,
)
from memclaw_etl.cli.show import errors, out, print_json
from memclaw_etl.errors import UsageError

if TYPE_CHECKING:
    from memclaw_etl.service.summary import RunSummary
    from memclaw_etl.settings import SourceSettings
    from memclaw_etl.stages.bench import Bench

SHOWN_NODES = 40
"""How many nodes a run lists; `status` lists all."""

DEMO_QUESTION = "how do we stop the same flood alert from being sent twice?"

InterviewerOption = Annotated[
    str | None,
    typer.Option(
        "--interviewer",
        metavar="NAME",
        help="heuristic (rules, no network), openai (a model), verbatim (every event as it is).",
    ),
]
FlushOption = Annotated[
    bool,
    typer.Option(
        "--flush", help="Take what is left of every trail now, without waiting until it is idle."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Run")(demo)
    app.command(rich_help_panel="Run")(run)
    app.command(rich_help_panel="Run")(ui)


def demo(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Run the main job on the shipped, invented trails, with embedded defaults.

    The home is .memclaw-demo in this folder unless you name one.
    """
    from memclaw_etl.examples import example_sources
    from memclaw_etl.service.grants import Grant
    from memclaw_etl.service.recalling import Asked, ask

    bench = open_bench(home or Path(".memclaw-demo"))
    refuse_other_index(bench)
    sources = [source(kind, root, include) for kind, root, include in example_sources()]
    summary = run_job(bench, sources, interviewer=None, flush=True, quiet=as_json)
    grant = Grant(tenant_id=DEFAULT)
    hits = ask(bench, grant, Asked(text=DEMO_QUESTION, k=3, zone=None)).answers
    if as_json:
        print_json({"run": summary, "question": DEMO_QUESTION, "hits": hits})
    else:
        print_summary(bench, summary)
        out.print(f'\n[bold]recall[/bold] "{DEMO_QUESTION}"')
        print_hits(hits)
        out.print(_next_steps(bench), soft_wrap=True)
    raise typer.Exit(exit_code(summary))


def run(
    home: HomeOption = None,
    sources: SourceOption = None,
    include: IncludeOption = None,
    interviewer: InterviewerOption = None,
    flush: FlushOption = False,
    as_json: JsonOption = False,
) -> None:
    """Do everything that is owed, then pin what is new in the trails and do that.

    Safe to repeat and to interrupt, and beside a running daemon.

    Exit code 1 when a window failed: it is still owed, and the next run tries again.
    """
    chosen = parse_sources(sources, include)
    bench = open_bench(home)
    if chosen is None and not bench.settings.sources:
        raise UsageError(
            "no sources: give --source KIND=PATH, or list them in"
            f" {bench.settings.home}/memclaw.toml"
            ' as [[sources]] with kind = "claude_code", root = "~/.claude/projects" and'
            ' include = ["*-my-project"]'
        )
    refuse_other_index(bench)
    if interviewer is not None:
        bench.interviewer(interviewer)
    summary = run_job(bench, chosen, interviewer=interviewer, flush=flush, quiet=as_json)
    if as_json:
        print_json(summary)
    else:
        print_summary(bench, summary)
    raise typer.Exit(exit_code(summary))


def ui(
    home: HomeOption = None,
    port: Annotated[int, typer.Option(help="Port on loopback.")] = 3000,
) -> None:
    """Open the Dagster UI on this home, with its daemon: the sensor starts to work, too."""
    bench = open_bench(home)
    dagster = shutil.which("dagster", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
    if dagster is None:
        raise UsageError("the `dagster` command is not installed beside this Python")
    environment = os.environ | {"DAGSTER_HOME": str(bench.settings.dagster_home)}
    errors.print(
        f"Dagster UI on http://127.0.0.1:{port} (home {bench.settings.home}); Ctrl-C ends it"
    )
    command = [dagster, "dev", *code_location(bench), "-h", "127.0.0.1", "-p", str(port)]
    raise typer.Exit(subprocess.call(command, env=environment))  # noqa: S603 - our own command


def code_location(bench: "Bench") -> list[str]:
    """Dagster's options for our definitions.

    The working directory is one of ours: modules are resolved against it before anything else, and
    the folder that the user stands in may well hold another `assets` package.
    """
    return ["-m", "memclaw_etl.definitions", "-d", str(bench.settings.dagster_home)]


def run_job(
    bench: "Bench",
    sources: "list[SourceSettings] | None",
    *,
    interviewer: str | None,
    flush: bool,
    quiet: bool,
) -> "RunSummary":
    """Run the main job in this process, on the same Dagster instance as the UI."""
    from memclaw_etl.cli.progress import watching
    from memclaw_etl.definitions import run_in_process

    with watching(bench, quiet=quiet) as watch:
        return run_in_process(
            bench, sources=sources, interviewer=interviewer, flush=flush, watch=watch
        )


def exit_code(summary: "RunSummary") -> int:
    """0, or 1 when a window failed."""
    return 1 if summary.windows_failed else 0


def print_summary(bench: "Bench", summary: "RunSummary") -> None:
    """What a run did, and where every node stands."""
    from memclaw_etl.service.status import status

    nodes = status(bench)
    print_nodes(nodes[:SHOWN_NODES])
    if len(nodes) > SHOWN_NODES:
        out.print(f"and {len(nodes) - SHOWN_NODES} more nodes: memclaw-etl status")
    out.print(
        f"{summary.windows_planned} windows planned, {summary.windows_committed} committed,"
        f" {summary.windows_failed} failed, {summary.windows_held} held;"
        f" {summary.events} events of {summary.noise_lines + summary.events} lines,"
        f" {summary.masked_spans} spans masked, {summary.quarantined_lines} pieces quarantined"
    )
    out.print(
        f"{summary.memories_added} memories added, {summary.memories_updated} updated,"
        f" {summary.memories_noop} as they were; {summary.seconds:.1f} s"
    )
    for problem in summary.problems:
        errors.print(f"[yellow]{problem['code']}[/yellow] {escape(problem['message'])}")
    if summary.next_try_at is not None:
        errors.print(
            f"windows wait until {summary.next_try_at:%H:%M:%S} UTC: run again then, or let the"
            " daemon do it; `memclaw-etl retry WINDOW` takes one at once"
        )


def _next_steps(bench: "Bench") -> str:
    home = bench.settings.home
    return (
        f"\nlook closer:  memclaw-etl lineage MEMORY_ID --home {home}"
        f"\nopen the UI:  memclaw-etl ui --home {home}   (or: make ui)"
        "\nyour trails:  memclaw-etl run --source claude_code=~/.claude/projects \\"
        "\n                --include '*-my-project' --flush"
    )
