"""Recalled memories on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from memclaw_etl.cli.show import errors, out, print_facts, print_text

if TYPE_CHECKING:
    from memclaw_etl.service.recalling import Answer, Recalled

MANY_LINES = 6


def print_recalled(recalled: "Recalled") -> None:
    """Answers for a person, and what was made of the question's time words."""
    if recalled.time is not None:
        out.print(f"[bold]time:[/bold] {escape(str(recalled.time))}{_beyond(recalled.answers)}")
    print_hits(recalled.answers)


def print_time(recalled: "Recalled") -> None:
    """What was made of the question's time words, beside a document."""
    if recalled.time is not None:
        errors.print(f"time: {escape(str(recalled.time))}{_beyond(recalled.answers)}")


def print_hits(hits: "Sequence[Answer]") -> None:
    """Recalled memories for a person."""
    if not hits:
        out.print("no memory in scope answers that")
    for number, hit in enumerate(hits, start=1):
        day = f"{hit['ts_valid_start']:%Y-%m-%d}" if hit["ts_valid_start"] else "no date"
        where = ",".join(str(line) for line in hit["lines"][:MANY_LINES])
        out.print(f"[bold]{number}. {hit['memory_type']}[/bold]  [dim]{day}[/dim]")
        print_text(hit["content"], indent=3)
        print_facts(
            f"{hit['file']}:{where}",
            hit["memory_id"],
            _score(hit["score"], hit["explanation"]),
            *_notes(hit),
            indent=3,
        )


def _beyond(hits: "Sequence[Answer]") -> str:
    outside = sum(hit["in_time"] is False for hit in hits)
    if not outside:
        return "; --no-time-words asks without it"
    return f"; {outside} of {len(hits)} lie outside it: there is nothing else in it"


def _score(score: float, parts: Mapping[str, float]) -> str:
    """A score and its parts; the cost of a long text only where there is one."""
    length = f" - length {-parts['length']:.2f}" if round(parts["length"], 2) else ""
    return (
        f"score {score:.2f} = words {parts['bm25']:.2f} + meaning {parts['vector']:.2f}"
        f" + nearby {parts['support']:.2f} + session {parts['session']:.2f}{length}"
    )


def _notes(hit: "Answer") -> Iterator[str]:
    """What is special about it: said elsewhere, outside the time, replaced, taken away."""
    if hit["also"]:
        yield f"said in the same words {len(hit['also'])} times more"
    if hit["in_time"] is False:
        yield "outside that time"
    if hit["superseded_by"] is not None:
        yield f"replaced by {hit['superseded_by']} ({hit['superseded_why']})"
    if hit["status"] not in {"active", "superseded"}:
        yield str(hit["status"])
