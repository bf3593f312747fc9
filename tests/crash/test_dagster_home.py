"""Dagster's home is a view: it may go, and it may not belong to another ledger."""

import shutil
from pathlib import Path

import pytest

from tests.crash.harness import Lab, assert_whole, dagster_runs, turns

pytestmark = pytest.mark.crash


def test_run_goes_on_where_the_ledger_stands(tmp_path: Path) -> None:
    lab = Lab(tmp_path, limits={"window_events": 4})
    lab.append("ferry", turns(0, 5, session="ferry"))
    lab.crash("after_index")
    before = lab.look()
    shutil.rmtree(lab.home / "dagster")
    lab.append("ferry", turns(20, 3, session="ferry"))
    lab.run()
    seen = assert_whole(lab, "ferry")
    assert set(before.keys) < set(seen.keys)
    assert set(before.memory_ids) <= set(seen.memory_ids)
    assert set(dagster_runs(lab)) == {"SUCCESS"}


def test_another_ledgers_dagster_home_is_refused(tmp_path: Path) -> None:
    lab, other = Lab(tmp_path / "one"), Lab(tmp_path / "two")
    for one in (lab, other):
        one.append("ferry", turns(0, 2, session="ferry"))
        one.cli("status", "--json")
    shutil.rmtree(lab.home / "dagster")
    shutil.copytree(other.home / "dagster", lab.home / "dagster")
    refused = lab.cli("run", *lab.source, "--flush", "--json", code=2)
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
    said = " ".join(refused.stderr.split())
    assert f"the Dagster home {lab.home / 'dagster'} shows ledger" in said
    assert "delete the Dagster home" in said
    assert lab.look().windows == []
