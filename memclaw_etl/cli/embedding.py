"""`reembed`, and saying so while the index is of another model or another version."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from memclaw_etl.cli.options import HomeOption, JsonOption, open_bench
from memclaw_etl.cli.show import errors, out, print_json

if TYPE_CHECKING:
    from memclaw_etl.service.reembed import Reembedding
    from memclaw_etl.stages.bench import Bench


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Decide")(reembed)


def reembed(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how much there is to do, and its cost.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give all memories vectors of the embedding model that memclaw.toml names now.

    Recall goes on with the old model until the new vectors are there, all at once. Safe to
    interrupt and repeat: what is embedded is kept, and paid for once.
    """
    from memclaw_etl.service import reembed as service

    bench = open_bench(home)
    if dry_run:
        report = service.plan(bench)
    else:
        with _text_bar() as on_texts:
            report = service.reembed(bench, on_texts=on_texts)
    if as_json:
        print_json(report)
    else:
        _print(report)


def warn_of_other_index(bench: "Bench") -> None:
    """One line on stderr, if no memory can be written to the index as it is."""
    from memclaw_etl.stages.embedding import why_not_writable

    _warn(why_not_writable(bench))


def warn_of_other_model(bench: "Bench") -> None:
    """One line on stderr, if the settings name another model than the one of the index."""
    from memclaw_etl.stages.embedding import other_model_made_it

    _warn(other_model_made_it(bench))


def _warn(notice: str | None) -> None:
    if notice is not None:
        errors.print(notice, style="yellow", markup=False, soft_wrap=True)


def refuse_other_index(bench: "Bench") -> None:
    """Stop before any work, if no memory could be written.

    Raises:
        HomeMismatchError: the settings name another model than the one of the index, or another
            version of this program made it.
    """
    from memclaw_etl.errors import HomeMismatchError
    from memclaw_etl.stages.embedding import why_not_writable

    notice = why_not_writable(bench)
    if notice is not None:
        raise HomeMismatchError(f"home {bench.settings.home}: {notice}")


@contextmanager
def _text_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar over texts on a terminal; nothing in a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    if not errors.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task("texts", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _print(report: "Reembedding") -> None:
    new = f"{report.new_model} ({report.new_dimension} numbers)"
    if report.old_model is None:
        text = f"there is no index yet; it will be made with {new}"
    elif not report.is_new:
        text = f"the {report.memories} memories have vectors of {new} already"
    else:
        old = f"{report.old_model} ({report.old_dimension})"
        verb = "have new vectors" if report.is_done else "would get new vectors"
        cost = "" if report.cost_estimate is None else f", cost about {report.cost_estimate:.4f}"
        text = (
            f"{report.memories} memories {verb}: {old} -> {new}\n"
            f"{report.texts} different texts, {report.chars} characters;"
            f" {report.texts_missing} of them to embed, {report.chars_missing} characters,"
            f" about {report.tokens_estimate} tokens{cost}"
        )
    out.print(text, markup=False, soft_wrap=True)
