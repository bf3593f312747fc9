"""Everything that is stored is masked again: no secret stays, nothing is done twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from memclaw_etl.lake.ledger import Stage, StageFile, leases, results, unfinished, windows
from memclaw_etl.lake.ledger.leases import Holder
from memclaw_etl.masking import MASKER_VERSION, PersonalData
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.service import people
from memclaw_etl.service.home import open_home
from memclaw_etl.service.remask import due_windows, remask
from memclaw_etl.settings import load_settings
from memclaw_etl.stages import bench as bench_module
from memclaw_etl.stages import interview, mask, merge
from memclaw_etl.stages import remask as stage
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.remember import remember
from tests import homes
from tests.cli import call
from tests.trail_lines import SESSION, joined, prompt, reply

TOKEN = "ghp_" + "a8Kq2Zt7Lm4Xw9Rv1Bn6Hc3Yd5Gf0Js8Pe2U"
PASSWORD = "Quartz" + "9!Lamp27"
WEAK_PASSWORD = "winter" + "24garden"
HIDDEN = "the launch date is the ninth"
EMAIL = "ada.byron@analytical.test"
SECRETS = (TOKEN, PASSWORD, WEAK_PASSWORD, HIDDEN)

TALK = [
    prompt(f"Please push the ferry timetable fix, the token is {TOKEN} as always.", 1),
    reply(f"I pushed the timetable fix with {TOKEN}; the flood alert is sent once now.", 2),
    prompt(f"DB_PASSWORD={PASSWORD}\nUse it for the staging database.", 3),
    reply(f"We decided to keep staging on port 5433. I used {PASSWORD} to log in.", 4),
    prompt(f"<private>{HIDDEN}</private> Write the release note without a date.", 5),
    reply("Done: the release note names no date.", 6),
    prompt(f"the admin password is {WEAK_PASSWORD}; {EMAIL} has it, too", 7),
    reply(f"I decided to sign in with {WEAK_PASSWORD} and to rotate it next week.", 8),
]


@pytest.fixture(scope="module", params=["verbatim", "heuristic"])
def weak_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that a masker filled which finds nothing; its trail stands beside it."""
    home = tmp_path_factory.mktemp("weak") / "home"
    trail = trail_of(home)
    trail.parent.mkdir()
    trail.write_bytes(joined(TALK))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_module, "open_masker", lambda cache_dir: homes.WeakMasker())
        ran = call(
            "run",
            "--home",
            home,
            "--source",
            f"claude_code={trail}",
            "--flush",
            "--interviewer",
            request.param,
        )
    assert ran.code == 0
    opened(home).stored_responses("default").put("ab" * 20, answer())
    return home


@pytest.fixture
def home(weak_home: Path, tmp_path: Path) -> Path:
    return shutil.copytree(weak_home, tmp_path / "home")


def trail_of(home: Path) -> Path:
    return home.parent / "trails" / f"{SESSION}.jsonl"


def answer() -> bytes:
    inner = orjson.dumps({"summary": f"used {TOKEN}", "password": PASSWORD}).decode()
    return orjson.dumps({"choices": [{"message": {"content": inner}}]})


def opened(home: Path, **settings: object) -> Bench:
    return open_home(load_settings(home, **settings))


def current(bench: Bench, stage: Stage) -> StageFile:
    with bench.ledger.read() as tx:
        [file] = results.all_files(tx, stage)
    return file


def test_the_weak_run_left_something_to_do(home):
    assert set(homes.holding(home, SECRETS)) >= {TOKEN, PASSWORD, WEAK_PASSWORD}
    audited = call("audit", "--home", home, "--json")
    assert {one["check"] for one in audited.json["findings"]} == {"no_leak"}
    assert homes.WEAK_VERSION in audited.json["notes"][0]


def test_no_byte_of_the_home_holds_a_secret_afterwards(home):
    done = call("remask", "--home", home, "--json")
    assert done.code == 0
    assert done.json["windows"] == 1
    assert done.json["answers_changed"] == 1
    assert done.json["files_removed"] >= 2
    assert homes.holding(home, SECRETS) == {}
    audited = call("audit", "--home", home, "--json")
    assert (audited.code, audited.json) == (0, {"findings": []})


def test_what_said_something_private_is_gone_and_the_rest_stays(home):
    before = len(all_memories(opened(home).index))
    done = call("remask", "--home", home, "--json").json
    memories = all_memories(opened(home).index)
    assert done["statements_dropped"] >= 0
    assert 0 < len(memories) <= before
    assert {memory.masker_version for memory in memories} == {MASKER_VERSION}
    assert any("[MASKED:" in memory.content for memory in memories)
    answers = opened(home).stored_responses("default").get("ab" * 20)
    assert orjson.loads(answers)["choices"][0]["message"]["content"].count("[MASKED:") == 2


def test_a_deleted_memory_stays_deleted_in_its_new_words(home):
    bench = opened(home)
    [told] = [
        one
        for one in all_memories(bench.index)
        if f"pushed the timetable fix with {TOKEN}" in one.content
    ]
    people.delete(bench, told.memory_id, tenant_id="default", reason="wrong", actor="me")
    assert call("remask", "--home", home).code == 0
    said = {one.content: one.status for one in all_memories(opened(home).index)}
    assert {status for text, status in said.items() if "pushed the timetable fix" in text} == {
        "deleted"
    }


def test_a_second_time_changes_nothing(home):
    call("remask", "--home", home)
    files = {
        path: path.read_bytes() for path in homes.files(home / "lake") if path.suffix != ".lance"
    }
    again = call("remask", "--home", home, "--json").json
    assert (again["windows"], again["files_changed"], again["memories_changed"]) == (0, 0, 0)
    assert (again["answers_changed"], again["files_removed"]) == (0, 0)
    assert files == {path: path.read_bytes() for path in files}


def test_a_later_run_masks_nothing_again_and_interviews_what_lost_something(home):
    remask(opened(home))
    bench = opened(home)
    with bench.ledger.read() as tx:
        [window] = windows.all_windows(tx)
    assert mask.mask_window(bench, window).unchanged
    asked = bench.interviewer(str(window.interviewer))
    [said] = interview.interview_windows(bench, [window], asked, run_id="again").done
    assert not said.unchanged  # a message of it is private now: whoever asks gets a new report
    [said] = interview.interview_windows(bench, [window], asked, run_id="again").done
    assert said.unchanged


def test_a_later_run_does_no_stage_again_where_nothing_private_came_to_light(home, monkeypatch):
    monkeypatch.setattr(stage, "_is_private", lambda kinds: False)
    remask(opened(home))
    bench = opened(home)
    with bench.ledger.read() as tx:
        [window] = windows.all_windows(tx)
    asked = bench.interviewer(str(window.interviewer))
    [said] = interview.interview_windows(bench, [window], asked, run_id="again").done
    done = [mask.mask_window(bench, window), said, merge.merge_window(bench, window, asked)]
    report = remember(bench, [window], run_id="again", batch_id=None)
    assert [one.unchanged for one in [*done, *report.done]] == [True] * 4


def test_without_the_trail(home, weak_home):
    away = trail_of(weak_home).rename(weak_home.parent / "away")
    try:
        assert call("remask", "--home", home).code == 0
        assert homes.holding(home, SECRETS) == {}
    finally:
        away.rename(trail_of(weak_home))


def test_a_window_that_a_run_works_on_is_left_for_the_next_time(home):
    bench = opened(home)
    with bench.ledger.write() as tx:
        [window] = windows.all_windows(tx)
        lease = leases.window_lease(window.window_id)
        leases.acquire(
            tx, [lease], holder=Holder.here("another"), now=bench.ledger.now(), lease_s=60
        )
    done = call("remask", "--home", home, "--json")
    assert (done.code, done.json["windows_busy"]) == (75, 1)
    with bench.ledger.write() as tx:
        assert unfinished.is_begun(tx, unfinished.REMASK)
        leases.release(tx, [lease], run_id="another")
    assert call("remask", "--home", home).code == 0
    assert homes.holding(home, SECRETS) == {}
    with bench.ledger.read() as tx:
        assert not unfinished.is_begun(tx, unfinished.REMASK)


def test_personal_data_follows_its_policy(home):
    assert homes.holding(home, [EMAIL])
    remask(opened(home))
    assert homes.holding(home, [EMAIL])
    (home / "memclaw.toml").write_text(
        '[[tenants]]\ntenant_id = "default"\npersonal_data = "mask"\n'
    )
    assert call("audit", "--home", home).code == 1
    assert len(due_windows(opened(home))) == 1
    call("remask", "--home", home)
    assert homes.holding(home, [EMAIL]) == {}
    assert call("audit", "--home", home).code == 0
    assert current(opened(home), Stage.MASKED_CHUNKS).counts["personal_data"] == PersonalData.MASK
    (home / "memclaw.toml").unlink()
    assert due_windows(opened(home)) == []


POINTS = ["_file", "set_current", "remember", "_remask_answers", "remove", "rewrite", "wipe"]


@pytest.mark.parametrize("weak_home", ["heuristic"], indirect=True)
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_and_run_again(home, point):
    died = subprocess.run(
        [sys.executable, "-m", "tests.integration.remask_killed", home, point],
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert died.returncode == -9
    assert call("remask", "--home", home).code == 0
    assert homes.holding(home, SECRETS) == {}
    assert call("audit", "--home", home, "--json").json == {"findings": []}
