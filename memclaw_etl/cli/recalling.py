"""`recall` and `memories`."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from memclaw_etl.cli.answers import print_recalled, print_time
from memclaw_etl.cli.embedding import warn_of_other_model
from memclaw_etl.cli.options import (
    HomeOption,
    JsonOption,
    ReaderOption,
    ReadTenantOption,
    open_granted,
)
from memclaw_etl.cli.recall_options import (
    HELP,
    CharsOption,
    CountOption,
    FormatOption,
    NamespaceOption,
    NodeOption,
    NoTimeWordsOption,
    QueriesOption,
    QueryArgument,
    SinceOption,
    StatusOption,
    TypeOption,
    UntilOption,
    ValidAtOption,
)
from memclaw_etl.cli.show import one_line, out, print_json, print_json_line, print_plain
from memclaw_etl.errors import UsageError

if TYPE_CHECKING:
    from memclaw_etl.service.grants import Grant
    from memclaw_etl.service.recalling import Asked, Question
    from memclaw_etl.stages.bench import Bench

_AGO = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Recall", help=HELP)(recall)
    app.command(rich_help_panel="Recall")(memories)


def recall(  # noqa: PLR0917 - Typer reads options from positional parameters
    query: QueryArgument = None,
    queries: QueriesOption = None,
    k: CountOption = 10,
    memory_type: TypeOption = None,
    node: NodeOption = None,
    namespace: NamespaceOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    valid_at: ValidAtOption = None,
    status: StatusOption = "active",
    chars: CharsOption = None,
    no_time_words: NoTimeWordsOption = False,
    form: FormatOption = "text",
    reader: ReaderOption = None,
    tenant: ReadTenantOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories by meaning and by words; `recall_options.HELP` is what a user is told."""
    filters = (memory_type, node, namespace, since, until, valid_at, chars, status != "active")
    _check(query, queries, has_filters=any(filters), forms=as_json + (form == "markdown"))
    bench, grant = open_granted(home, reader=reader, tenant=tenant)
    warn_of_other_model(bench)
    if queries is not None:
        return _recall_file(bench, grant, queries, k=k)
    from memclaw_etl.service.recalling import Asked

    asked = Asked(
        text=query or "", k=k, memory_type=memory_type, node=node, namespace=namespace,
        since=_time("--since", since), until=_time("--until", until), chars=chars, status=status,
        valid_at=_time("--valid-at", valid_at), zone=None if no_time_words else _here(),
    )  # fmt: skip
    return _answer(bench, grant, asked, form="json" if as_json else form)


def _check(query: str | None, queries: Path | None, *, has_filters: bool, forms: int) -> None:
    """Refuse what contradicts itself, and filters that a file of questions does not take."""
    if forms > 1:
        raise UsageError("--json and --format markdown: give one of them")
    if (query is None) == (queries is None):
        raise UsageError("give either a question or --queries FILE")
    if queries is not None and has_filters:
        raise UsageError("--queries takes no filters but -k: they would be the same for all of it")


def _answer(bench: "Bench", grant: "Grant", asked: "Asked", *, form: str) -> None:
    from memclaw_etl.service.recalling import ask, ask_for_markdown

    if form == "markdown":
        print_plain(ask_for_markdown(bench, grant, asked))
        return
    recalled = ask(bench, grant, asked)
    if form == "json":
        print_time(recalled)
        print_json(recalled.answers)
    else:
        print_recalled(recalled)


def memories(
    as_lines: Annotated[
        bool, typer.Option("--json-lines", help="One JSON object per memory and line.")
    ] = False,
    namespace: NamespaceOption = None,
    status: StatusOption = "any",
    reader: ReaderOption = None,
    tenant: ReadTenantOption = None,
    home: HomeOption = None,
) -> None:
    """List every memory that you may read, oldest first."""
    from memclaw_etl.service.recalling import list_memories

    bench, grant = open_granted(home, reader=reader, tenant=tenant)
    for memory in list_memories(bench, grant, namespace=namespace, status=status):
        if as_lines:
            print_json_line(memory)
        else:
            when = memory["ts_valid_start"]
            day = f"{when:%Y-%m-%d}" if when is not None else "no date"
            head = f"[dim]{memory['memory_id']}[/dim] {day} [bold]{memory['memory_type']}[/bold]"
            state = "" if memory["status"] == "active" else f" ({memory['status']})"
            out.print(f"{head}{state} {escape(one_line(memory['content']))}", soft_wrap=True)


def parse_since(text: str | None, *, now: datetime, option: str = "--since") -> datetime | None:
    """A point in time from a date, an ISO time (UTC where no zone is given) or `7d`, `12h`, `4w`.

    Raises:
        UsageError: the text is none of these.
    """
    if text is None:
        return None
    try:
        if (ago := _AGO.fullmatch(text)) is not None:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {text[:40]!r}: expected a date, an ISO time, or 7d, 12h, 4w"
        ) from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _time(option: str, text: str | None) -> datetime | None:
    return parse_since(text, now=datetime.now(UTC), option=option)


def _here() -> tzinfo | None:
    """The zone of this machine, as its clock is set today."""
    return datetime.now().astimezone().tzinfo


def _recall_file(bench: "Bench", grant: "Grant", file: Path, *, k: int) -> None:
    from memclaw_etl.service.recalling import answer_all

    for row in answer_all(bench, grant, list(_questions(file)), k=k):
        print_json_line(row)


def _questions(file: Path) -> "Iterator[Question]":
    from memclaw_etl.service.recalling import Question

    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield Question(row["query_id"], row["question"], row.get("conversation"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{file} line {number}: expected an object with query_id and question"
            ) from None
