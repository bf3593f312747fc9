"""The main job on a PostgreSQL ledger, and hosts that share it: never a gap, never a duplicate."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from sqlalchemy import Engine

from memclaw_etl.lake.ledger import WindowState, database, leases, nodes, windows
from tests.cli import call
from tests.crash.harness import assert_whole, slow, turns, wait_until
from tests.postgres import Server
from tests.shared_ledger import Host

LIMITS = {"window_events": 4, "batch_windows": 3}

NewHost = Callable[..., Host]


@pytest.fixture
def ledger_url(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty ledger; what this process opened is closed after the test, as its end would."""
    opened: list[Engine] = []

    def create_engine(*arguments: object, **more: object) -> Engine:
        opened.append(sqlalchemy.create_engine(*arguments, **more))  # type: ignore[call-overload]
        return opened[-1]

    monkeypatch.setattr(database, "create_engine", create_engine)
    yield postgres.emptied_database()
    for engine in opened:
        engine.dispose()


@pytest.fixture
def new_host(ledger_url: str, tmp_path: Path) -> NewHost:
    def make(name: str, **more: object) -> Host:
        return Host(tmp_path, LIMITS, name=name, ledger_url=ledger_url, **more)  # type: ignore[arg-type]

    return make


def finish(*running: "subprocess.Popen[str]") -> None:
    """Wait for runs; each must end well, whatever the others did meanwhile."""
    ended = [(process.communicate(timeout=240)[1], process.returncode) for process in running]
    assert [code for _, code in ended] == [0] * len(running), [err[-3000:] for err, _ in ended]


def test_every_command_works_on_the_shipped_examples(
    ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "sqlite"
    assert call("demo", "--home", here).code == 0
    expected = call("memories", "--json-lines", "--home", here).rows

    monkeypatch.setenv("MEMCLAW_LEDGER_URL", ledger_url)
    home = ("--home", tmp_path / "postgres")
    ran = call("demo", "--json", *home)
    assert ran.code == 0, ran.said
    first = ran.json["run"]
    assert first["windows_committed"] == first["windows_planned"] > 0
    assert call("demo", "--json", *home).json["run"]["windows_planned"] == 0
    assert not (tmp_path / "postgres" / "ledger.sqlite").exists()

    told = call("memories", "--json-lines", *home).rows
    names = ("memory_id", "memory_type", "content", "node_id", "lines", "ts_valid_start")
    assert [[row[name] for name in names] for row in told] == [
        [row[name] for name in names] for row in expected
    ]
    assert call("audit", "--json", *home).code == 0
    counted = call("sql", "select count(*) as n from memories", "--json", *home).json
    assert counted == [{"n": len(told)}]
    joined = "select count(*) as n from windows join nodes using (tenant_id, node_id)"
    assert call("sql", joined, "--json", *home).json[0]["n"] >= first["windows_committed"]
    assert all(row["lag"] == 0 for row in call("status", "--json", *home).json)

    chosen = told[0]
    found = call("recall", chosen["content"], "-k", "3", "--json", *home)
    assert chosen["memory_id"] in str(found.json)
    traced = call("lineage", chosen["memory_id"], "--json", *home)
    assert traced.code == 0
    forgotten = call("forget", chosen["memory_id"], "--erase", "--reason", "asked", *home)
    assert forgotten.code == 0, forgotten.said
    for change in (("remask", "--json"), ("rebuild",), ("demo", "--json")):
        changed = call(*change, *home)
        assert changed.code == 0, changed.said
        left = call("memories", "--json-lines", *home).rows
        assert chosen["memory_id"] not in {row["memory_id"] for row in left}
        assert len(left) == len(told) - 1
        assert call("audit", "--json", *home).code == 0


@pytest.mark.crash
@pytest.mark.parametrize("point", [pytest.param("after_lease", marks=slow), "in_commit"])
def test_a_trail_that_grows_between_a_kill_and_the_next_run(new_host: NewHost, point: str) -> None:
    host = new_host("host-a")
    host.append("ferry", turns(0, 5, session="ferry"))
    host.crash(point)
    host.append("ferry", turns(20, 3, session="ferry"))
    host.run()
    seen = assert_whole(host, "ferry")
    assert host.run()["windows_planned"] == 0
    assert host.look().memory_ids == seen.memory_ids


def test_hosts_over_the_same_trails_share_the_work(new_host: NewHost) -> None:
    hosts = [new_host("host-a"), new_host("host-b")]
    sessions = [f"ferry-{number}" for number in range(6)]
    for number, session in enumerate(sessions):
        hosts[0].append(session, turns(20 * number, 5, session=session))
    running = [host.start() for host in hosts]
    wait_until("windows are pinned", lambda: bool(hosts[0].look().windows), seconds=60)
    for number, session in enumerate(sessions):
        hosts[0].append(session, turns(500 + 20 * number, 3, session=session))
    finish(*running)
    finish(*[host.start() for host in hosts])
    seen = assert_whole(hosts[0])
    assert hosts[1].run()["windows_planned"] == 0
    assert hosts[1].look().memory_ids == seen.memory_ids


def test_what_a_killed_host_holds_waits_for_its_leases(new_host: NewHost) -> None:
    """No other host can see that its process is gone: they wait, and lose nothing by it."""
    dead, other = new_host("host-a"), new_host("host-b")
    dead.append("ferry", turns(0, 6, session="ferry"))
    dead.crash("before_commit")
    dead.append("ferry", turns(20, 2, session="ferry"))
    other.run()
    held = [one for one in other.look().windows if one.state is WindowState.PINNED]
    assert len(held) == LIMITS["batch_windows"]
    ledger = other.bench().ledger
    with ledger.write() as tx:
        assert {row.host for row in tx.execute(leases.leases.select())} == {"host-a"}
        tx.execute(leases.leases.update().values(expires_at=ledger.now()))
    other.run()
    assert_whole(other, "ferry")


def test_a_run_whose_connections_are_cut_loses_nothing(new_host: NewHost, ledger_url: str) -> None:
    host = new_host("host-a")
    host.limits = LIMITS | {"retry_delay_s": 0.1}
    for number in range(4):
        host.append(f"ferry-{number}", turns(20 * number, 4, session=f"ferry-{number}"))
    process = host.start(plan={"slow_s": 0.3})
    wait_until("windows are pinned", lambda: len(host.look().windows) >= 8, seconds=120)
    cut = 0
    while process.poll() is None and cut < 6:
        cut += cut_connections(ledger_url)
        time.sleep(0.4)
    _, err = process.communicate(timeout=240)
    assert cut
    assert process.returncode in {0, 1, 75}, err[-3000:]
    assert "Traceback" not in err
    host.run()
    assert_whole(host)


def cut_connections(ledger_url: str) -> int:
    """What a restart of the server does to everybody's connections; how many there were."""
    ask = (
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
    with psycopg.connect(ledger_url, autocommit=True) as connection:
        [count] = connection.execute(ask).fetchone() or (0,)
    return int(count)


def test_machines_leave_each_others_trails_alone(new_host: NewHost, tmp_path: Path) -> None:
    away, here = tmp_path / "not mounted", tmp_path / "one"
    one = new_host("host-a", machine="aaaaaaaaaaaa", trails_at=here)
    two = new_host("host-b", machine="bbbbbbbbbbbb", trails_at=tmp_path / "two")
    one.append("ferry-1", turns(0, 5, session="ferry-1"))
    two.append("ferry-2", turns(40, 5, session="ferry-2"))
    one.crash("after_pin")
    here.rename(away)
    done = two.run()
    assert (done["windows_failed"], done["problems"]) == (0, [])
    assert two.run()["windows_planned"] == 0
    assert_left_alone(two, "cc:aaaaaaaaaaaa:ferry-1")

    away.rename(here)
    two.append("ferry-2", turns(60, 3, session="ferry-2"))
    one.append("ferry-1", turns(80, 3, session="ferry-1"))
    finish(one.start(), two.start())
    assert_whole(one)
    assert_whole(two)


def assert_left_alone(host: Host, node_id: str) -> None:
    """Nobody tried the node's windows, and nobody says that its trail is gone."""
    bench = host.bench()
    with bench.ledger.read() as tx:
        node = nodes.get(tx, "default", node_id)
        mine = [one for one in windows.all_windows(tx) if one.node_id == node_id]
    assert node is not None
    assert node.problem_code is None
    assert {(one.state, one.attempts, one.failed_at) for one in mine} == {
        (WindowState.PINNED, 0, None)
    }


def test_the_same_path_on_two_machines_is_not_taken_for_one_trail(
    new_host: NewHost, tmp_path: Path
) -> None:
    one = new_host("host-a", machine="aaaaaaaaaaaa")
    two = new_host("host-b", machine="bbbbbbbbbbbb")
    one.append("ferry", turns(0, 3, session="ferry"))
    one.run()
    two.append("ferry", turns(20, 3, session="ferry"))
    refused = two.run(code=None)
    assert (refused["windows_planned"], refused["trail_problems"]) == (0, 1)
    said = refused["problems"][0]["message"]
    assert "cc:aaaaaaaaaaaa:ferry" in said
    assert "cc:bbbbbbbbbbbb:ferry" in said
    assert "MEMCLAW_MACHINE_ID" in said
    one.run()
    assert_whole(one)
