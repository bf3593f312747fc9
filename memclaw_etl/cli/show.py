"""Writing to a terminal or a pipe."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

out = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """A value as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
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


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout; numbers to the right."""
    table = Table(title=title or None, title_justify="left", header_style="bold")
    filled = [list(row) for row in rows]
    for number, column in enumerate(columns):
        numeric = all(isinstance(row[number], int | float) for row in filled)
        table.add_column(column, justify="right" if filled and numeric else "left", overflow="fold")
    for row in filled:
        table.add_row(*("" if value is None else str(value) for value in row))
    out.print(table)
