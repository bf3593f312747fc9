"""The options of `recall`: what is asked, which memories may answer, and in which form."""

from pathlib import Path
from typing import Annotated, Literal

import typer

HELP = """Find memories by meaning and by words, best first, each with where it comes from.

Words like "last week" or "in March 2026" are a filter, unless you give a time yourself. Where too
few memories lie in it, the best others follow, marked.

What you may not read, or what does not exist, is an error and never an empty answer.

recall "what did we decide about the queue last week?"

recall "retry policy" --type decision --since 30d --until 2026-03-01

recall "which database?" --valid-at 2025-12-31      # what held then

recall "how do we deploy?" --format markdown --chars 6000      # for a prompt

recall "open points" --as shop-agent      # nothing but what it was granted
"""
TIMES = "2026-03-01, an ISO time (UTC unless it says otherwise), or 7d, 12h, 4w ago"

QueryArgument = Annotated[str | None, typer.Argument(help="The question, in plain words.")]
QueriesOption = Annotated[
    Path | None,
    typer.Option(
        "--queries",
        metavar="FILE",
        help='Many questions: a file of {"query_id", "question", "conversation"?} per line;'
        ' prints {"query_id", "ranked", "chars"} per line. Takes no filters but -k.',
    ),
]
CountOption = Annotated[
    int, typer.Option("-k", metavar="N", min=1, max=1000, help="How many memories, at most 1000.")
]
TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="T",
        help="Only decision, episode, fact, outcome, preference, task, or another memory type.",
    ),
]
NodeOption = Annotated[
    str | None, typer.Option("--node", metavar="N", help="Only what this node gave evidence for.")
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace", metavar="NS", help="Only of this project. Without it: all that you may read."
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="T", help=f"Valid at or after: {TIMES}.")
]
UntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="T", help="Begun before that moment; --since's forms."),
]
ValidAtOption = Annotated[
    str | None,
    typer.Option(
        "--valid-at",
        metavar="T",
        help="What held at that moment, even if something else took its place since.",
    ),
]
StatusOption = Annotated[
    Literal["active", "superseded", "deleted", "expired", "any"],
    typer.Option(
        "--status",
        metavar="S",
        help="active: what holds. superseded: what was replaced. deleted: what a person took away."
        " expired: what retention took away. any: all of it.",
    ),
]
CharsOption = Annotated[
    int | None,
    typer.Option(
        "--chars",
        metavar="N",
        min=1,
        help="Most characters of all answers together; as markdown: of the whole document.",
    ),
]
NoTimeWordsOption = Annotated[
    bool,
    typer.Option(
        "--no-time-words",
        help='Do not read "last week" or "in March" in the question as a filter.',
    ),
]
FormatOption = Annotated[
    Literal["text", "json", "markdown"],
    typer.Option(
        "--format",
        metavar="F",
        help="text: for people. json: as --json. markdown: one document with citations, for a"
        " prompt.",
    ),
]
