"""`recall` and `memories`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from memclaw_etl.cli.options import DEFAULT, HomeOption, JsonOption, TenantOption, open_bench
from memclaw_etl.cli.show import (
    one_line,
    out,
    print_facts,
    print_json,
    print_json_line,
    print_text,
)
from memclaw_etl.errors import UsageError

if TYPE_CHECKING:
    from memclaw_etl.service.recalling import Answer, Question
    from memclaw_etl.stages.bench import Bench

_AGO = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel="Recall")(recall)
    app.command(rich_help_panel="Recall")(memories)


def recall(  # noqa: PLR0917 - Typer reads options from positional parameters
    query: Annotated[str | None, typer.Argument(help="The question, in plain words.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            help='Many questions: a file of {"query_id", "question", "conversation"?} per line;'
            ' prints {"query_id", "ranked", "chars"} per line.',
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many memories.")] = 10,
    memory_type: Annotated[
        str | None,
        typer.Option("--type", help="Only decision, episode, fact, outcome, preference or task."),
    ] = None,
    node: Annotated[str | None, typer.Option("--node", help="Only from this node.")] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Only of this project.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Valid at or after: 2026-03-01, an ISO time, 7d, 12h or 4w."),
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option("--valid-at", help="What held then, even if it was replaced since."),
    ] = None,
    status: Annotated[
        Literal["active", "superseded", "any"],
        typer.Option("--status", help="Memories that hold, that were replaced, or all."),
    ] = "active",
    chars: Annotated[
        int | None, typer.Option("--chars", min=1, help="Most characters in all answers together.")
    ] = None,
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories by meaning and by words, best first, each with where it comes from."""
    from memclaw_etl.interview.report import MEMORY_TYPE

    if memory_type is not None and memory_type not in MEMORY_TYPE.values():
        raise UsageError(
            f"--type {memory_type!r}: expected one of {', '.join(sorted(MEMORY_TYPE.values()))}"
        )
    if (query is None) == (queries is None):
        raise UsageError("give either a question or --queries FILE")
    from memclaw_etl.service.recalling import ask

    bench = open_bench(home)
    if queries is not None:
        _recall_file(bench, queries, k=k, tenant=tenant)
        return
    hits = ask(
        bench, query or "", k=k, memory_type=memory_type, node=node, namespace=namespace,
        since=parse_since(since, now=datetime.now(UTC)), tenant=tenant, status=status, chars=chars,
        valid_at=parse_since(valid_at, now=datetime.now(UTC)),
    )  # fmt: skip
    if as_json:
        print_json(hits)
    else:
        print_hits(hits)


def memories(
    as_lines: Annotated[
        bool, typer.Option("--json-lines", help="One JSON object per memory and line.")
    ] = False,
    tenant: TenantOption = DEFAULT,
    home: HomeOption = None,
) -> None:
    """List every memory, oldest first."""
    from memclaw_etl.service.recalling import list_memories

    for memory in list_memories(open_bench(home), tenant=tenant):
        if as_lines:
            print_json_line(memory)
        else:
            when = memory["ts_valid_start"]
            day = f"{when:%Y-%m-%d}" if when is not None else "no date"
            head = f"[dim]{memory['memory_id']}[/dim] {day} [bold]{memory['memory_type']}[/bold]"
            out.print(f"{head} {escape(one_line(memory['content']))}", soft_wrap=True)


def parse_since(text: str | None, *, now: datetime) -> datetime | None:
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
            f"--since {text!r}: expected a date, an ISO time, or 7d, 12h, 4w"
        ) from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _score(score: float, parts: Mapping[str, float]) -> str:
    """A score and its parts; the cost of a long text only where there is one."""
    length = f" - length {-parts['length']:.2f}" if round(parts["length"], 2) else ""
    return (
        f"score {score:.2f} = words {parts['bm25']:.2f} + meaning {parts['vector']:.2f}"
        f" + nearby {parts['support']:.2f}{length}"
    )


def print_hits(hits: "Sequence[Answer]") -> None:
    """Recalled memories for a person."""
    if not hits:
        out.print("no memory in scope answers that")
    for number, hit in enumerate(hits, start=1):
        day = f"{hit['ts_valid_start']:%Y-%m-%d}" if hit["ts_valid_start"] else "no date"
        parts = hit["explanation"]
        where = ",".join(str(line) for line in hit["lines"][:6])
        out.print(f"[bold]{number}. {hit['memory_type']}[/bold]  [dim]{day}[/dim]")
        print_text(hit["content"], indent=3)
        print_facts(
            f"{hit['file']}:{where}",
            hit["memory_id"],
            _score(hit["score"], parts),
            *_replaced(hit),
            indent=3,
        )


def _replaced(hit: "Answer") -> list[str]:
    """What took its place, if anything did."""
    by = hit["superseded_by"]
    return [] if by is None else [f"replaced by {by} ({hit['superseded_why']})"]


def _recall_file(bench: "Bench", file: Path, *, k: int, tenant: str) -> None:
    from memclaw_etl.service.recalling import answer_all

    for row in answer_all(bench, list(_questions(file)), k=k, tenant=tenant):
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
