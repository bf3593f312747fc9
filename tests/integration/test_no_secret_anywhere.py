"""What the examples plant is in no file of the home, however it is stored there."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from memclaw_etl.examples import example_sources
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from tests.cli import call
from tests.homes import contents

PLANTED = (
    r"DB_PASSWORD=(\S+)",
    r"Bearer ([\w.-]+)",
    r'smtp_password = "([^"]+)"',
    r"(?s)<private>(.+?)</private>",
)


def planted() -> set[str]:
    """Every credential and private text of the shipped trails."""
    found: set[str] = set()
    for _, root, _ in example_sources():
        for path in root.rglob("*.jsonl"):
            for text in strings(path):
                found.update(hit for rule in PLANTED for hit in re.findall(rule, text))
    return found


def strings(path: Path) -> Iterator[str]:
    for line in path.read_bytes().splitlines():
        try:
            yield from strings_of(orjson.loads(line))
        except orjson.JSONDecodeError:
            yield line.decode()


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_of(inner)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after the demo, a failed run and some looking around."""
    home = tmp_path_factory.mktemp("secrets") / "home"
    assert call("demo", "--home", home).code == 0
    call("sql", "select cast(content as integer) from items", "--home", home)
    call("audit", "--home", home)
    call("rebuild", "--home", home)
    return home


def forms(secret: str) -> list[bytes]:
    """A text as it may stand in a file: plain, escaped, or as a search index folds it."""
    return [secret.encode(), orjson.dumps(secret)[1:-1], secret.casefold().encode()]


def test_there_is_something_to_look_for() -> None:
    assert len(planted()) == 6


@pytest.mark.parametrize("secret", sorted(planted()))
def test_no_file_of_the_home_holds_it(home: Path, secret: str) -> None:
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {".sqlite", ".db", ".parquet", ".lance"} <= {path.suffix for path in files}
    looked_for = forms(secret)
    holding = {
        str(path.relative_to(home))
        for path in files
        for content in contents(path)
        if any(form in content for form in looked_for)
    }
    assert not holding


def test_no_row_of_the_index_holds_one(home: Path) -> None:
    rows = repr(open_home(load_settings(home)).memory_rows().to_pylist()).casefold()
    assert "[masked:" in rows
    assert not [secret for secret in planted() if secret.casefold() in rows]


@pytest.mark.parametrize(
    "command",
    [
        ("demo",),
        ("demo", "--json"),
        ("status", "--json"),
        ("memories", "--json-lines"),
        ("memories",),
        ("recall", "password and on-call number", "-k", "50"),
        ("recall", "smtp_password", "-k", "50", "--json"),
        ("sql", "select * from chunks"),
        ("sql", "select * from mini_reports", "--json"),
        ("sql", "select * from items", "--json"),
        ("audit", "--json"),
    ],
    ids=" ".join,
)
def test_no_output_holds_one(home: Path, command: tuple[str, ...]) -> None:
    done = call(*command, "--home", home)
    assert done.code == 0
    printed = (done.stdout + done.stderr).decode()
    assert not [secret for secret in planted() if secret in printed]


def test_no_lineage_holds_one(home: Path) -> None:
    for memory in call("memories", "--home", home, "--json-lines").rows:
        printed = call("lineage", memory["memory_id"], "--home", home).stdout.decode()
        assert not [secret for secret in planted() if secret in printed]
