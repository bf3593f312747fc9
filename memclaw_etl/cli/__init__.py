"""The command line: a thin adapter over the service layer.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 findings or failed windows,
2 usage or settings, 75 try again later, 130 interrupted (nothing is lost by that).

Commands import what they need when they are called, so that `--help` and `mask` start at once.
"""

import inspect
import os
import sys
from collections.abc import Sequence

import typer
from rich.markup import escape

from memclaw_etl.cli import (
    backfilling,
    deciding,
    embedding,
    forgetting,
    looking,
    pipes,
    recalling,
    running,
)
from memclaw_etl.cli.show import errors, flowing
from memclaw_etl.errors import MemclawError

INTERRUPTED = 130

app = typer.Typer(
    name="memclaw-etl",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Turns AI agents' trails into typed memories that people and agents can recall.\n\n"
    "Start with [bold]memclaw-etl demo[/bold]; then list your own trails in memclaw.toml or give"
    " them to [bold]memclaw-etl run --source KIND=PATH[/bold].",
)
for module in (running, backfilling, looking, recalling, pipes, deciding, forgetting, embedding):
    module.add_to(app)
for command in app.registered_commands:  # Typer would end lines where the source does
    command.help = flowing(command.help or inspect.getdoc(command.callback) or "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error that we know is one line and an exit code."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has what it wanted, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=list(arguments) if arguments is not None else None, prog_name="memclaw-etl")
    except MemclawError as error:
        errors.print(f"[bold red]error:[/bold red] {escape(str(error))}")
        return error.exit_code
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # Typer says 1, which means findings here
            raise end.__context__ from None
        if end.code == INTERRUPTED:
            errors.print("interrupted: nothing is lost, run the same command again to go on")
        return end.code if isinstance(end.code, int) else 1
    return 0
