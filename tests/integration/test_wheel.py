"""What ships: the wheel's files, and that it works from an empty folder beside a foreign `assets`."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import orjson
import pytest

from memclaw_etl.cli.running import code_location
from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench

pytest.importorskip("build", reason="the development dependency `build` is not installed")
pytest.importorskip("hatchling", reason="the development dependency `hatchling` is not installed")

ROOT = Path(__file__).parents[2]
FOREIGN = "raise ImportError('a foreign assets package was imported')\n"


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment() | environment,
        check=False,
        capture_output=True,
        timeout=240,
    )


def clean_environment() -> dict[str, str]:
    mine = ("PYTHON", "MEMCLAW_", "DAGSTER_")
    return {name: value for name, value in os.environ.items() if not name.startswith(mine)}


def is_leftover(path: Path) -> bool:
    """Caches that tools leave in a working tree."""
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """Every file of the packages that ship."""
    return {
        str(path.relative_to(ROOT))
        for package in ("memclaw_etl", "assets", "sensors")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not is_leftover(path.relative_to(ROOT))
    }


@pytest.fixture(scope="module")
def wheel(sources: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    del sources  # only looked at before, so that a file that is written meanwhile does not count
    folder = tmp_path_factory.mktemp("wheel")
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder),
        str(ROOT), cwd=folder,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr.decode()
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel is installed into; what it depends on is taken from this Python."""
    folder = tmp_path_factory.mktemp("site")
    installed = run(
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile",
        "--disable-pip-version-check", "--target", str(folder), str(wheel), cwd=folder,
    )  # fmt: skip
    assert installed.returncode == 0, installed.stderr.decode()
    return folder


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A working folder with other packages of our names in it, as many Dagster projects have."""
    for name in ("assets", "sensors"):
        package = tmp_path / "project" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(FOREIGN)
    return tmp_path / "project"


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_three_packages_ship_whole(wheel: Path, sources: set[str]) -> None:
    shipped, wanted = set(names_in(wheel)), sources
    assert sorted(wanted - shipped) == []
    assert "memclaw_etl/py.typed" in shipped
    assert "memclaw_etl/memories/data/minilm_vocab.txt" in shipped
    assert "memclaw_etl/examples/buffer/interview-buffer.jsonl" in shipped


def test_nothing_else_ships(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names_in(wheel)}
    (info,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {"memclaw_etl", "assets", "sensors", info}
    assert f"{info}/licenses/LICENSE" in names_in(wheel)
    assert not [name for name in names_in(wheel) if is_leftover(Path(name)) or "/tests/" in name]


def test_metadata_names_script_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (info,) = (n.split("/")[0] for n in archive.namelist() if n.endswith("dist-info/METADATA"))
        metadata = archive.read(f"{info}/METADATA").decode()
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    assert "Name: memclaw-etl" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "memclaw-etl = memclaw_etl.cli:main" in scripts


def test_help_from_an_empty_folder(site: Path, tmp_path: Path) -> None:
    done = run(str(site / "bin" / "memclaw-etl"), "--help", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr.decode()
    assert b"memclaw-etl demo" in done.stdout


def test_demo_works_beside_a_foreign_assets_package(
    site: Path, foreign: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    done = run(
        str(site / "bin" / "memclaw-etl"), "demo", "--home", str(home), "--json",
        cwd=foreign, PYTHONPATH=str(site),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    answer = orjson.loads(done.stdout)
    assert answer["run"]["windows_committed"] == 4
    assert answer["run"]["windows_failed"] == 0
    assert str(site) in status_of(site, home, foreign)[0]["path"]


def status_of(site: Path, home: Path, cwd: Path) -> list[dict[str, str]]:
    done = run(
        str(site / "bin" / "memclaw-etl"), "status", "--home", str(home), "--json",
        cwd=cwd, PYTHONPATH=str(site),
    )  # fmt: skip
    rows: list[dict[str, str]] = orjson.loads(done.stdout)
    return rows


@pytest.mark.parametrize("way", ["workspace", "ui"])
def test_dagster_loads_ours_beside_a_foreign_assets_package(
    way: str, site: Path, foreign: Path, tmp_path: Path
) -> None:
    """As `dagster dev` with our workspace.yaml and as `memclaw-etl ui` load the definitions."""
    (tmp_path / "home").mkdir()
    (foreign / "workspace.yaml").write_bytes((ROOT / "workspace.yaml").read_bytes())
    bench = Bench(load_settings(tmp_path / "home"))
    bench.settings.dagster_home.mkdir()
    options = ["-w", "workspace.yaml"] if way == "workspace" else code_location(bench)
    done = run(
        str(Path(sys.executable).parent / "dagster"), "definitions", "validate", *options,
        cwd=foreign, PYTHONPATH=str(site), MEMCLAW_HOME=str(tmp_path / "home"),
        DAGSTER_HOME=str(bench.settings.dagster_home),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
