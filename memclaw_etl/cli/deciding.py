"""`skip`, `retry` and `rebuild`."""

from typing import Annotated

import typer

from memclaw_etl.cli.options import HomeOption, me, open_bench
from memclaw_etl.cli.show import errors, out

WindowArgument = Annotated[
    str,
    typer.Argument(metavar="WINDOW", help="A window's partition key, as the UI and `sql` show it."),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Decide")(skip)
    app.command(rich_help_panel="Decide")(retry)
    app.command(rich_help_panel="Decide")(rebuild)


def skip(
    window: WindowArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")],
    home: HomeOption = None,
) -> None:
    """Give a window up for good: a recorded hole that the watermark may cross.

    A later success (a run from the UI) closes the hole again.
    """
    from memclaw_etl.service import people

    done = people.skip(open_bench(home), window, reason=reason, actor=me())
    out.print(f"{done.partition_key} is skipped", markup=False, soft_wrap=True)


def retry(window: WindowArgument, home: HomeOption = None) -> None:
    """Ask for a quarantined, paused or waiting window again, with fresh attempts."""
    from memclaw_etl.service import people

    done = people.retry(open_bench(home), window, actor=me())
    out.print(f"{done.partition_key} is owed; the next run takes it", markup=False, soft_wrap=True)


def rebuild(home: HomeOption = None) -> None:
    """Make the memory index anew from ledger and stage files; safe to interrupt and repeat."""
    from memclaw_etl.service.rebuild import rebuild as rebuild_index

    bench = open_bench(home)

    def show(done: int, total: int) -> None:
        errors.print(f"{done} of {total} groups")

    count = rebuild_index(bench, on_groups=show)
    out.print(f"the index holds {count} memories")
