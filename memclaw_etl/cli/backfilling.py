"""`backfill`."""

from typing import TYPE_CHECKING, Annotated

import typer

from memclaw_etl.cli.embedding import refuse_other_index
from memclaw_etl.cli.options import HomeOption, JsonOption, open_bench
from memclaw_etl.cli.running import InterviewerOption
from memclaw_etl.cli.show import errors, out, print_json
from memclaw_etl.errors import UsageError

if TYPE_CHECKING:
    from sensors.backfill import Backfilled

ORDERS = ("oldest", "valuable")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Run")(backfill)


def backfill(
    home: HomeOption = None,
    interviewer: InterviewerOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many windows.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", min=1, metavar="TOKENS", help="At most so many tokens."),
    ] = None,
    order: Annotated[
        str,
        typer.Option("--order", help="oldest, or valuable: windows with most memories first."),
    ] = "oldest",
    batch_api: Annotated[
        bool,
        typer.Option(
            "--batch-api",
            help="Hand the prompts in at the model's Batch API and come back for the answers: run"
            " it again, or let the daemon poll.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Interview windows again whose report is by an older prompt, model or interviewer.

    A window keeps its memories until the new report is there. Safe to repeat and to interrupt.
    """
    if order not in ORDERS:
        raise UsageError(f"--order {order!r}: expected one of {', '.join(ORDERS)}")
    from memclaw_etl.cli.progress import watching
    from memclaw_etl.definitions import backfill_in_process, plan_backfill, plan_of

    bench = open_bench(home)
    refuse_other_index(bench)
    name = interviewer or bench.settings.interviewer
    bench.interviewer(name)
    if batch_api and name != "openai":
        raise UsageError("--batch-api needs --interviewer openai: rules have no batches")
    wanted = plan_of(
        bench, interviewer=name, order=order, limit=limit, tokens=budget, batch_api=batch_api
    )
    if dry_run:
        done = plan_backfill(bench, wanted)
    else:
        with watching(bench, quiet=as_json) as watch:
            done = backfill_in_process(bench, wanted, watch=watch)
    print_json(done) if as_json else _print(done, dry_run=dry_run)
    raise typer.Exit(1 if done.windows_failed else 0)


def _print(done: "Backfilled", *, dry_run: bool) -> None:
    out.print(
        f"{done.outdated} windows have an older report, {done.chosen} of them chosen,"
        f" about {done.estimated_tokens} tokens"
    )
    if dry_run:
        return
    out.print(
        f"{done.windows_done} windows have their new report, {done.windows_failed} failed and keep"
        f" the old one; {done.run.llm_calls} calls, {done.run.llm_tokens} tokens"
    )
    if done.handed_in or done.jobs_open:
        out.print(
            f"{done.handed_in} windows handed in; {done.jobs_open} batches are under way: run the"
            " same command later, or let the daemon poll"
        )
    for problem in done.run.problems:
        errors.print(f"[yellow]{problem['code']}[/yellow] {problem['message']}")
