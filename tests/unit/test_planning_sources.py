"""Where a source's root is looked for."""

from pathlib import Path

from memclaw_etl.service.planning import source_of
from memclaw_etl.settings import SourceSettings


def a_source(root: str) -> SourceSettings:
    return SourceSettings.model_validate({"kind": "buffer", "root": root})


def test_a_relative_root_of_the_settings_is_meant_from_the_home(tmp_path: Path) -> None:
    assert source_of(a_source("trails"), base=tmp_path).root == tmp_path / "trails"


def test_an_absolute_root_stands(tmp_path: Path) -> None:
    assert source_of(a_source(f"{tmp_path}/x"), base=Path("/elsewhere")).root == tmp_path / "x"


def test_a_root_of_the_command_line_is_meant_from_here() -> None:
    assert source_of(a_source("trails")).root == Path("trails")
