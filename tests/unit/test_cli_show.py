"""How the command line shows things to people: on terminals of any width, and in pipes."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

from memclaw_etl.cli import app, show
from memclaw_etl.cli.recalling import parse_since
from memclaw_etl.cli.show import flowing
from memclaw_etl.errors import UsageError

NODE = "cc:0123456789ab:3f6c1f7e-52a1-4d0b-9c34-71d0a5e2b101"


@pytest.fixture(params=[80, 120])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    console = Console(file=io.StringIO(), width=request.param, highlight=False)
    monkeypatch.setattr(show, "out", console)
    return console


def printed(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_help_has_no_line_ends_of_the_source() -> None:
    for command in app.registered_commands:
        assert command.help, command
        assert "\n" not in command.help.replace("\n\n", ""), command.callback
    assert flowing("one\ntwo\n\nthree\nfour\n") == "one two\n\nthree four"


def test_a_table_never_overruns_a_terminal(terminal: Console) -> None:
    names = ["node", "last_seq", "head_seq", "committed", "items", "masked", "problem"]
    show.print_table("", names, [[NODE, 135, 135, 1, 5, 2, None], [NODE, 7, 9, 1, 5, 2, "empty"]])
    lines = printed(terminal)
    assert len(lines) == 4
    assert all(len(line) <= terminal.width for line in lines)
    assert lines[2].startswith("cc:012345")
    assert "b101" in lines[2]


def test_what_does_not_fit_becomes_records_with_nothing_lost(terminal: Console) -> None:
    row = [f"value {number} of {NODE}" for number in range(12)]
    show.print_table("", [f"column_{number}" for number in range(12)], [row])
    lines = printed(terminal)
    assert all(len(line) <= terminal.width for line in lines)
    text = " ".join("".join(lines).split())
    assert all(f"column_{number}" in text for number in range(12))
    assert text.count("71d0a5e2b101") == 12


def test_a_pipe_gets_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=show.PIPE_COLUMNS)
    monkeypatch.setattr(show, "out", console)
    long = "long " * 1_000
    show.print_table("", ["a", "b"], [[long, NODE]])
    show.print_text(long.strip())
    lines = printed(console)
    assert len(lines) == 4
    assert long.strip() in lines[2]
    assert lines[3] == long.strip()


def test_markup_and_control_characters_in_values_do_nothing(terminal: Console) -> None:
    show.print_table("", ["a"], [["[red]x[/y] \x1b[2J\x07 z\nw"]])
    show.print_text("\x1b]0;title\x07 kept\nnext")
    text = "\n".join(printed(terminal))
    assert "[red]x[/y]" in text
    assert "z w" in text
    assert "kept\nnext" in "\n".join(line.strip() for line in printed(terminal)).replace(
        "]0;title ", ""
    )
    assert not {"\x1b", "\x07"} & set(text)


def test_facts_are_not_broken(terminal: Console) -> None:
    facts = (f"{NODE}.jsonl:18,30", "mem_" + "a" * 40, "score 5.84 = words 3.12 + meaning 2.72")
    show.print_facts(*facts, indent=3)
    lines = printed(terminal)
    assert all(len(line) <= terminal.width for line in lines)
    assert all(any(fact in line for line in lines) for fact in facts)


def test_numbers_stand_to_the_right(terminal: Console) -> None:
    show.print_table("", ["n", "t"], [[1, "a"], [10_000, None], [None, "b"]])
    assert printed(terminal)[2].startswith("    1")
    assert printed(terminal)[3].startswith("10000")


@pytest.mark.parametrize(
    ("cell", "width", "shown"),
    [
        ("short", 5, "short"),
        ("some words here", 8, "some wo…"),
        ("abcdefghijkl", 7, "abc…jkl"),
        ("abcdefghijkl", 6, "ab…jkl"),
    ],
)
def test_prose_loses_its_end_and_an_id_its_middle(cell: str, width: int, shown: str) -> None:
    assert show._cut(cell, width) == shown
    assert len(shown) <= width


def test_json_forms() -> None:
    @dataclass
    class Point:
        x: int

    at = datetime(2026, 5, 4, tzinfo=UTC)
    assert show.plain(Point(1)) == {"x": 1}
    assert show.plain(at) == "2026-05-04T00:00:00+00:00"
    assert show.plain(Path("a/b")) == "a/b"
    assert show.plain({2, 1}) == [1, 2]
    assert show.plain(b"x\0") == "7800"
    assert show.plain(at.date()) == "2026-05-04"
    assert show.plain(timedelta(hours=1)) == "1:00:00"
    assert show.plain(Decimal("1.50")) == "1.50"
    with pytest.raises(TypeError, match="complex"):
        show.plain(1j)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("36h", datetime(2026, 5, 3, tzinfo=UTC)),
        ("7d", datetime(2026, 4, 27, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 4, 20, 12, tzinfo=UTC)),
    ],
)
def test_since(text: str, expected: datetime) -> None:
    assert parse_since(text, now=datetime(2026, 5, 4, 12, tzinfo=UTC)) == expected


@pytest.mark.parametrize("text", ["", "7", "d7", "yesterday", "2026-13-01", "99999999999999w"])
def test_since_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        parse_since(text, now=datetime(2026, 5, 4, tzinfo=UTC))
