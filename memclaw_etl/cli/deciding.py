"""`skip`, `retry`, `delete`, `undelete`, `rebuild` and `remask`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from memclaw_etl.cli.options import DEFAULT, HomeOption, JsonOption, TenantOption, me, open_bench
from memclaw_etl.cli.show import errors, out, print_json

if TYPE_CHECKING:
    from memclaw_etl.service.remask import RemaskReport

TRY_LATER = 75
WindowArgument = Annotated[
    str,
    typer.Argument(metavar="WINDOW", help="A window's partition key, as the UI and `sql` show it."),
]

MemoryArgument = Annotated[
    str, typer.Argument(metavar="MEMORY_ID", help="As `recall` and `memories` show it.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Decide")(skip)
    app.command(rich_help_panel="Decide")(retry)
    app.command(rich_help_panel="Decide")(delete)
    app.command(rich_help_panel="Decide")(undelete)
    app.command(rich_help_panel="Decide")(rebuild)
    app.command(rich_help_panel="Decide")(remask)


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


def delete(
    memory_id: MemoryArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")],
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
) -> None:
    """Take a memory away; `undelete` brings it back. `forget` is for good.

    It is not recalled any more (`recall --status deleted` shows it), in no later run or rebuild.
    """
    from memclaw_etl.service import people

    done = people.delete(open_bench(home), memory_id, tenant_id=tenant, reason=reason, actor=me())
    out.print(f"{done.memory_id} is {done.status}", markup=False, soft_wrap=True)


def undelete(
    memory_id: MemoryArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is recorded.")] = "",
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
) -> None:
    """Bring a deleted memory back, as it would be had it never been deleted."""
    from memclaw_etl.service import people

    done = people.undelete(open_bench(home), memory_id, tenant_id=tenant, reason=reason, actor=me())
    out.print(f"{done.memory_id} is {done.status}", markup=False, soft_wrap=True)


def rebuild(home: HomeOption = None) -> None:
    """Make the memory index anew from ledger and stage files; safe to interrupt and repeat."""
    from memclaw_etl.service.rebuild import rebuild as rebuild_index

    bench = open_bench(home)

    def show(done: int, total: int) -> None:
        errors.print(f"{done} of {total} groups")

    count = rebuild_index(bench, on_groups=show)
    out.print(f"the index holds {count} memories")


def remask(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Mask everything that is stored again, after the rules got better or a policy stricter.

    Stage files, items, memories, response cache and ledger; no trail is read and no model asked.
    Safe to interrupt and repeat. Exit code 75 when runs kept some windows: run it again.
    """
    from memclaw_etl.service.remask import remask as remask_home

    bench = open_bench(home)
    with _window_bar() as on_window:
        report = remask_home(bench, on_window=on_window)
    if as_json:
        print_json(report)
    else:
        _print_remasked(report)
    raise typer.Exit(TRY_LATER if report.windows_busy else 0)


@contextmanager
def _window_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar over windows on a terminal; nothing in a pipe."""
    from rich.progress import Progress

    if not errors.is_terminal:
        yield None
        return
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task("windows", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _print_remasked(report: "RemaskReport") -> None:
    kinds = ", ".join(f"{kind} {count}" for kind, count in report.spans_masked.items())
    out.print(
        f"{report.windows} windows masked again by rules {report.masker_version}:"
        f" {kinds or 'nothing new found'}\n"
        f"{report.files_changed} files, {report.memories_changed} memories,"
        f" {report.answers_changed} answers rewritten; {report.statements_dropped} statements"
        f" dropped, {report.files_removed} old files removed",
        soft_wrap=True,
    )
    if report.windows_busy:
        errors.print(f"{report.windows_busy} windows are being worked on: run it again")
