"""Stage files and cached answers: immutable, durable, and found damaged when they are."""

from pathlib import Path

import polars as pl
import pytest

from memclaw_etl.errors import InvariantError, SurroundingsError
from memclaw_etl.lake import stage_files
from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.lake.stage_files import StageFiles, put

SCHEMA = pl.Schema({"a": pl.Int64, "b": pl.String})
FRAME = pl.DataFrame({"a": [1, 2], "b": ["x", "\u2028 日本 \U0001f600"]}, schema=SCHEMA)
WINDOW = "f" * 40


def files_of(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_what_is_written_reads_back_and_is_never_overwritten(tmp_path: Path) -> None:
    files = StageFiles(tmp_path)
    first = files.write(FRAME, SCHEMA, stage="masked_chunks", window_id=WINDOW)
    second = files.write(FRAME, SCHEMA, stage="masked_chunks", window_id=WINDOW)
    assert first.path != second.path
    assert first.content_hash == second.content_hash
    assert (first.row_count, first.path.startswith(f"masked_chunks/ff/{WINDOW}-")) == (2, True)
    assert files.read(first.path).equals(FRAME)
    assert files_of(tmp_path) == sorted([first.path, second.path])


def test_an_empty_frame_is_a_file_too(tmp_path: Path) -> None:
    files = StageFiles(tmp_path)
    written = files.write(SCHEMA.to_frame(), SCHEMA, stage="s", window_id=WINDOW)
    assert written.row_count == 0
    assert files.read(written.path).schema == SCHEMA


def test_another_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvariantError, match="another schema"):
        StageFiles(tmp_path).write(
            FRAME.select("b", "a"), SCHEMA, stage="masked_chunks", window_id=WINDOW
        )
    assert files_of(tmp_path) == []


@pytest.mark.parametrize("damage", ["missing", "cut", "other", "folder"])
def test_damage_is_found(tmp_path: Path, damage: str) -> None:
    files = StageFiles(tmp_path)
    written = files.write(FRAME, SCHEMA, stage="s", window_id=WINDOW)
    path = Path(files.absolute(written.path))
    assert files.is_intact(written.path, written.content_hash)
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes(data[:-5] if damage == "cut" else b"x" * len(data))
    assert not files.is_intact(written.path, written.content_hash)
    with pytest.raises(InvariantError, match="missing or damaged"):
        files.read(written.path)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stage_files.os, "fsync", fail)
    with pytest.raises(SurroundingsError, match="No space left") as refused:
        StageFiles(tmp_path).write(FRAME, SCHEMA, stage="s", window_id=WINDOW)
    assert refused.value.resource == "disk"
    assert files_of(tmp_path) == []


def test_a_put_is_whole_or_not_there(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b" / "c", b"data")
    put(tmp_path / "a" / "b" / "c", b"other")
    assert (tmp_path / "a" / "b" / "c").read_bytes() == b"other"
    assert files_of(tmp_path) == ["a/b/c"]


def test_an_answer_that_is_there_stays(tmp_path: Path) -> None:
    cache = FileResponseCache(tmp_path)
    assert cache.get("ab12") is None
    cache.put("ab12", b"first")
    cache.put("ab12", b"second")
    assert cache.get("ab12") == b"first"


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "AB", "a/b", "g", "ab\n", "ab.."])
def test_a_key_that_is_no_digest_is_refused(tmp_path: Path, key: str) -> None:
    cache = FileResponseCache(tmp_path)
    with pytest.raises(ValueError, match="hex digest"):
        cache.get(key)
    with pytest.raises(ValueError, match="hex digest"):
        cache.put(key, b"x")
