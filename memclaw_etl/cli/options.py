"""Options that several commands share, and opening the home that they name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memclaw_etl.errors import UsageError
from memclaw_etl.trails.events import TrailKind

if TYPE_CHECKING:
    from memclaw_etl.service.grants import Grant
    from memclaw_etl.settings import SourceSettings
    from memclaw_etl.stages.bench import Bench

DEFAULT = "default"
"""The tenant of whoever names none."""
KINDS = tuple(str(kind) for kind in TrailKind)

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", envvar="MEMCLAW_HOME", help="Where everything is kept (default ~/.memclaw)."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document to stdout, nothing else.")
]
TenantOption = Annotated[str, typer.Option("--tenant", help="Whose memories.")]
ReadTenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        help=f"Whose memories. Without it the tenant {DEFAULT!r}, or the reader's own.",
    ),
]
ReaderOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="READER",
        envvar="MEMCLAW_READER",
        help="Read as this reader: nothing but what the grants in memclaw.toml give it.",
    ),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="KIND=PATH",
        help=f"Trails to read; KIND: {', '.join(KINDS)}; PATH: a file, a flat folder or"
        " the agent's own folder. Repeat it. Default: the sources of memclaw.toml.",
    ),
]
KindArgument = Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}.")]
PathArgument = Annotated[
    Path, typer.Argument(help="A file, a flat folder or the agent's own folder.")
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="GLOB",
        help="Project folders to read where PATH holds many projects. Without it none of them is"
        " opened.",
    ),
]


def open_bench(home: Path | None, **overrides: Any) -> "Bench":  # noqa: ANN401 - the model validates
    """Open a home, and name it to every process that is started from here."""
    from memclaw_etl.service.home import open_home
    from memclaw_etl.settings import load_settings

    settings = load_settings(home, **overrides)
    os.environ["MEMCLAW_HOME"] = str(settings.home)
    return open_home(settings)


def open_granted(
    home: Path | None, *, reader: str | None, tenant: str | None
) -> "tuple[Bench, Grant]":
    """Open a home for reading, by whoever reads.

    Raises:
        UsageError: there is no such reader.
        NotGrantedError: there is no such tenant, or the reader was not granted it.
    """
    from memclaw_etl.service.grants import grant_for

    bench = open_bench(home)
    return bench, grant_for(bench, reader=reader, tenant_id=tenant)


def parse_sources(
    given: list[str] | None, include: list[str] | None
) -> "list[SourceSettings] | None":
    """Sources from `KIND=PATH` options; None when there are none.

    Raises:
        UsageError: an option is not KIND=PATH, or names an unknown kind.
    """
    if not given:
        if include:
            raise UsageError("--include belongs to --source KIND=PATH")
        return None
    return [_source(one, tuple(include or ())) for one in given]


def _source(text: str, include: tuple[str, ...]) -> "SourceSettings":
    kind, equals, path = text.partition("=")
    if not equals or kind not in KINDS or not path:
        raise UsageError(
            f"--source {text!r}: expected KIND=PATH with KIND one of {', '.join(KINDS)}"
        )
    return source(kind, Path(path), include)


def source(kind: str, path: Path, include: tuple[str, ...]) -> "SourceSettings":
    """One source by kind and path.

    Raises:
        UsageError: there is no such kind.
    """
    from pydantic import ValidationError

    from memclaw_etl.settings import SourceSettings

    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
    try:
        return SourceSettings.model_validate({"kind": kind, "root": path, "include": include})
    except ValidationError:
        raise UsageError(f"kind {kind!r} is known, but not as a source yet") from None


def me() -> str:
    """Who decides, for the audit trail of decisions."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or "command line"
