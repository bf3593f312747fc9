import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memclaw_etl.errors import SettingsError
from memclaw_etl.trails.machine import MACHINE_VARIABLE, machine12


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MACHINE_VARIABLE, raising=False)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MACHINE_VARIABLE, "build-3")
    assert machine12(None) == "build-3"
    monkeypatch.setenv(MACHINE_VARIABLE, "no plain:name")
    assert machine12(None) == sha("no plain:name")


def test_the_system_id_is_hashed(tmp_path: Path) -> None:
    system = tmp_path / "machine-id"
    system.write_text("0123456789abcdef0123456789abcdef\n")
    assert machine12(None, machine_id_file=system) == sha("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize("content", [None, "", "00000000000000000000000000000000\n"])
def test_else_a_random_id_that_stays(tmp_path: Path, content: str | None) -> None:
    system = tmp_path / "machine-id"
    if content is not None:
        system.write_text(content)
    home = tmp_path / "home" / "machine"
    first = machine12(home, machine_id_file=system)
    assert re.fullmatch("[0-9a-f]{12}", first)
    assert machine12(home, machine_id_file=system) == first
    assert [path.name for path in home.parent.iterdir()] == ["machine"]
    with pytest.raises(SettingsError, match=MACHINE_VARIABLE):
        machine12(None, machine_id_file=system)


def test_racing_processes_agree(tmp_path: Path) -> None:
    absent, home = tmp_path / "none", tmp_path / "machine"
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: machine12(home, machine_id_file=absent), range(32)))
    assert len(ids) == 1


def test_an_empty_home_file_is_an_error(tmp_path: Path) -> None:
    home = tmp_path / "machine"
    home.write_text("")
    with pytest.raises(SettingsError, match="empty"):
        machine12(home, machine_id_file=tmp_path / "none")
