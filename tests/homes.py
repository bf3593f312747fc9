"""Looking into every byte of a home, whatever stores it there."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import ahocorasick_rs
import lancedb
import orjson
import polars as pl

from memclaw_etl.masking import Masker, MaskSession, open_masker
from memclaw_etl.masking.findings import Masked

WEAK_VERSION = "0-weak"


class WeakMasker(Masker):
    """A masker whose rules find nothing, not even what is private."""

    def __init__(self) -> None:
        super().__init__((), version=WEAK_VERSION)

    def session(self, **given):
        return _BlindSession(self, **{"known": None, "personal_data": "off"} | given)


class _BlindSession(MaskSession):
    def mask(self, text):
        return Masked(text)

    def mask_known(self, text):
        return Masked(text)


def masker(*, weak: bool) -> Masker:
    return WeakMasker() if weak else open_masker()


def files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file())


def contents(path: Path) -> Iterator[bytes]:
    """A file's bytes, and what they hold when they are a database or a table."""
    yield path.read_bytes()
    if path.suffix in {".sqlite", ".db"}:
        yield from _rows_of(path)
    if path.suffix == ".parquet":
        yield repr(pl.read_parquet(path).to_dicts()).encode()


def _rows_of(path: Path) -> Iterator[bytes]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = connection.execute("select name from sqlite_master where type = 'table'")
        for (table,) in tables.fetchall():
            for row in connection.execute(f'select * from "{table}"'):
                yield from map(_stored, row)
    finally:
        connection.close()


def _stored(value: object) -> bytes:
    """A database value as bytes; Dagster compresses its snapshots."""
    if not isinstance(value, bytes):
        return str(value).encode()
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


def index_versions(home: Path) -> Iterator[bytes]:
    """The rows of every version of the memory index that can still be read."""
    uri = str(home / "lake" / "index")
    database = lancedb.connect(uri)
    for name in database.list_tables().tables:
        table = database.open_table(name)
        for version in table.list_versions():
            table.checkout(version["version"])
            yield repr(table.search().to_arrow().to_pylist()).encode()


def forms(secret: str) -> list[bytes]:
    """A text as it may stand in a file: plain, escaped, or as a search index folds it."""
    shapes = {secret, secret.casefold(), repr(secret)[1:-1], orjson.dumps(secret)[1:-1].decode()}
    return [shape.encode() for shape in shapes]


def holding(home: Path, secrets: Iterable[str]) -> dict[str, set[str]]:
    """Which secret stands in which file (or in a version of the index)."""
    shapes = [(shape, secret) for secret in secrets for shape in forms(secret)]
    automaton = ahocorasick_rs.BytesAhoCorasick([shape for shape, _ in shapes])
    found: dict[str, set[str]] = {}
    for place, content in _places(home):
        for number, _, _ in automaton.find_matches_as_indexes(content, overlapping=True):
            found.setdefault(shapes[number][1], set()).add(place)
    return found


def _places(home: Path) -> Iterator[tuple[str, bytes]]:
    for path in files(home):
        for content in contents(path):
            yield str(path.relative_to(home)), content
    for content in index_versions(home):
        yield "index version", content
