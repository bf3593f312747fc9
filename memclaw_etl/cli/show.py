"""Writing to a terminal or a pipe: a terminal is never overrun, a pipe never cut or wrapped."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PIPE_COLUMNS = 100_000
"""As wide as a line in a pipe may become; nothing is wrapped or cut there."""
NARROWEST = 12
"""A column that would have to be cut below this makes the table a list of records."""
_GAP = 2
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def _console(stream: TextIO, *, stderr: bool = False) -> Console:
    width = None if stream.isatty() else PIPE_COLUMNS
    return Console(stderr=stderr, highlight=False, width=width)


out = _console(sys.stdout)
errors = _console(sys.stderr, stderr=True)


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """A value as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path | Decimal | timedelta):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, default=plain, ensure_ascii=False, indent=2) + "\n")


def print_json_line(value: object) -> None:
    """One JSON value on one line of stdout."""
    sys.stdout.write(json.dumps(value, default=plain, ensure_ascii=False) + "\n")


def print_plain(text: str) -> None:
    """A document as it is on stdout, without what moves the cursor or colours a terminal."""
    sys.stdout.write("\n".join(map(one_line, text.split("\n"))))


def flowing(text: str) -> str:
    """Paragraphs without line ends of their own: they fit a terminal of any width."""
    return "\n\n".join(" ".join(part.split("\n")) for part in text.strip().split("\n\n"))


def one_line(text: str) -> str:
    """Text that cannot move the cursor or colour a terminal: control characters are spaces."""
    return _CONTROLS.sub(" ", text)


def print_text(text: str, *, indent: int = 0, style: str = "") -> None:
    """Text as it is, on lines of its own, wrapped at words on a terminal."""
    lines = Text("\n".join(map(one_line, text.split("\n"))), style=style)
    out.print(Padding(lines, (0, 0, 0, indent), expand=False))


def print_facts(*facts: str, indent: int = 0) -> None:
    """Short facts side by side, none of them broken, on as few lines as fit."""
    for line in _filled(facts, out.width - indent):
        out.print(" " * indent + line, style="dim", markup=False, soft_wrap=True)


def _filled(facts: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for fact in facts:
        joined = f"{line}{' ' * _GAP}{fact}" if line else fact
        if line and len(joined) > width:
            yield line
            line = fact
        else:
            line = joined
    yield line


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout; numbers to the right. On a terminal the widest cells are cut to fit.

    What would be cut beyond recognition is printed as `print_records` does.
    """
    filled = [list(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in filled]
    natural = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    widths = _fitting(natural, out.width)
    if any(got < min(NARROWEST, wanted) for got, wanted in zip(widths, natural, strict=True)):
        print_records(columns, filled)
        return
    table = Table(
        title=title or None, title_justify="left", title_style="bold", header_style="bold",
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for number, column in enumerate(columns):
        numeric = all(isinstance(row[number], int | float | None) for row in filled)
        table.add_column(
            Text(_cut(column, widths[number])),
            justify="right" if filled and numeric else "left",
            no_wrap=True,
        )
    for row in cells:
        table.add_row(*(Text(_cut(cell, widths[at])) for at, cell in enumerate(row)))
    out.print(table)


def print_records(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows as blocks of one line per value, which wraps under its name; nothing is cut."""
    for row in rows:
        grid = Table.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in zip(columns, row, strict=True):
            grid.add_row(Text(name), Text(_cell(value)))
        out.print(grid)
        out.print()


def _cell(value: object) -> str:
    return "" if value is None else one_line(str(value))


def _fitting(widths: Sequence[int], available: int) -> list[int]:
    """Widths that fit beside each other: the widest give way first (pure)."""
    fitted = list(widths)
    room = available - _GAP * (len(fitted) - 1)
    while sum(fitted) > room and max(fitted, default=0) > 1:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _cut(cell: str, width: int) -> str:
    """A cell of at most that width: prose loses its end, an id its middle (both ends tell)."""
    if len(cell) <= width:
        return cell
    if " " in cell:
        return f"{cell[: width - 1]}…"
    tail = width // 2
    return f"{cell[: width - 1 - tail]}…{cell[-tail:]}"
