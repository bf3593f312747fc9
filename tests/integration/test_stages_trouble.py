"""Stages that fail: whose fault it is, what is kept, and what happens next."""

import errno
from pathlib import Path

import pytest

from memclaw_etl.interview import heuristic
from memclaw_etl.lake import stage_files
from memclaw_etl.lake.ledger import Stage, Window, WindowState, commit, leases
from memclaw_etl.service import checks, people, planning
from memclaw_etl.stages import mask
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.run import RunRequest, take, work
from tests.ledger_rows import again, owed_keys, take_keys
from tests.staged import FAKE, Home, home, states

__all__ = ["home"]


def test_one_bad_window_fails_alone_and_the_others_keep_their_results(home: Home) -> None:
    for name in "abc":
        home.talk(name)
    due = home.pin()
    bad = next(one for one in due if one.node_id.endswith(":b"))
    path = home.trails / "b.jsonl"
    path.write_bytes(path.read_bytes().replace(b"topic", b"TOPIC"))
    report = home.run(due)
    assert [one.window.window_id for one in report.failed] == [bad.window_id]
    assert [one.code for one in report.failed] == ["TrailRewritten"]
    assert "TOPIC" not in report.failed[0].message
    assert again(home.ledger, bad).state is WindowState.REWRITTEN
    good = [one for one in due if one != bad]
    assert owed_keys(home.ledger) == [one.partition_key for one in good]
    home.run(planning.owed(home.bench, limit=9))
    assert all(done.unchanged for done in home.reports[Stage.MASKED_CHUNKS].done)
    assert states(home, good) == ["committed", "committed"]


def test_a_bug_in_a_stage_costs_an_attempt_and_shows_no_text(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.talk("a")
    home.talk("b")
    due = home.pin()

    def fall(self: object, chunks: object, *, cache: object) -> object:
        raise ValueError("cannot read: " + FAKE)

    with monkeypatch.context() as broken:
        broken.setattr(heuristic.HeuristicInterviewer, "interview", fall)
        for attempt in (1, 2, 3):
            report = home.run(due)
            assert len(report.failed) == 2
            assert FAKE not in report.failed[0].message
            assert "unexpected ValueError at test_stages_trouble.py:" in report.failed[0].message
            assert {again(home.ledger, one).attempts for one in due} == {attempt}
            home.clock.move(hours=1)
    assert set(states(home, due)) == {"quarantined"}
    assert home.pin() == []
    for one in due:
        people.retry(home.bench, one.partition_key, actor="ann")
    home.run(home.pin())
    assert set(states(home, due)) == {"committed"}


def test_a_full_disk_is_nobodys_fault(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.talk("a")
    home.talk("b")
    due = home.pin()

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(stage_files, "put", full)
        report = home.run(due)
    assert {one.code for one in report.failed} == {"Surroundings"}
    assert {again(home.ledger, one).attempts for one in due} == {0}
    assert home.pin() == []
    home.clock.move(seconds=30)
    (probe,) = home.pin()
    home.run([probe])
    assert states(home, due) == ["committed", "pinned"]
    home.run(home.pin())
    assert set(states(home, due)) == {"committed"}


def test_a_trail_that_cannot_be_read_waits_and_comes_back(home: Home) -> None:
    path = home.talk("a")
    due = home.pin()
    hidden = path.rename(path.with_suffix(".away"))
    for _ in range(5):
        assert [one.code for one in home.run(due).failed] == ["TrailUnreadable"]
        home.clock.move(hours=2)
    assert again(home.ledger, due[0]).attempts == 0
    hidden.rename(path)
    home.run(planning.owed(home.bench, limit=9))
    assert states(home, due) == ["committed"]


@pytest.mark.parametrize("stage", [Stage.MASKED_CHUNKS, Stage.MINI_REPORTS, Stage.MERGED_REPORT])
@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_damaged_stage_file_is_made_anew(home: Home, stage: Stage, damage: str) -> None:
    home.talk("a")
    due = home.pin()
    home.run(due)
    before = home.memories()
    file = home.file(due[0], stage)
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-9] if damage == "cut" else b"no parquet")
    taken = take_keys(home.ledger, due, "by-hand")
    request = RunRequest("by-hand", None, [due[0].partition_key], True)
    for one in Stage:
        report = work(home.bench, one, request, taken)
        assert report.failed == []
    assert home.file(due[0], stage) != file
    assert checks.after_stage(home.bench, Stage.MERGED_REPORT, due) == []
    assert home.memories() == before


def test_a_run_that_is_told_to_stop_gives_its_windows_back(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.talk("a")
    home.talk("b")
    due = home.pin()
    real = mask.mask_window

    def stop(bench: Bench, window: Window) -> object:
        if window == again(home.ledger, due[1]):
            raise KeyboardInterrupt
        return real(bench, window)

    with monkeypatch.context() as broken:
        broken.setattr(mask, "mask_window", stop)
        with pytest.raises(KeyboardInterrupt):
            home.run(due)
    assert owed_keys(home.ledger) == [one.partition_key for one in due]
    assert {again(home.ledger, one).attempts for one in due} == {0}
    home.run(due)
    assert home.reports[Stage.MASKED_CHUNKS].done[0].unchanged


def test_a_run_that_lost_a_lease_commits_nothing_and_blames_nobody(home: Home) -> None:
    home.talk("a")
    home.talk("b")
    due = home.pin()
    home.run(due, stages=tuple(Stage)[:-1])
    with home.ledger.write() as tx:
        lost = leases.window_lease(due[0].window_id)
        tx.execute(leases.leases.update().where(leases.leases.c.name == lost).values(holder="x"))
    request = RunRequest("run-1", None, [], False)
    report = work(home.bench, Stage.WATERMARK, request, due)
    assert [one.code for one in report.failed] == ["LeaseLost"]
    assert {again(home.ledger, one).attempts for one in due} == {0}
    assert set(states(home, due)) == {"pinned"}
    with home.ledger.read() as tx:
        assert commit.watermark(tx, "default", due[0].node_id, 0) is None


def test_an_interviewer_that_cannot_be_had_does_not_spin(home: Home) -> None:
    home.talk("a")
    due = home.pin()
    batch = planning.ask(home.bench, due, asked_by="test", interviewer="openai")
    request = RunRequest("r", batch.batch_id, batch.partition_keys, False)
    work(home.bench, Stage.MASKED_CHUNKS, request, take(home.bench, request))
    report = work(home.bench, Stage.MINI_REPORTS, request, take(home.bench, request))
    assert [one.code for one in report.failed] == ["Settings"]
    assert planning.owed(home.bench, limit=9) == []
    home.clock.move(minutes=5)
    home.run(planning.owed(home.bench, limit=9))
    assert states(home, due) == ["committed"]


@pytest.mark.parametrize("stage", list(Stage)[1:])
def test_a_stage_before_its_time_fails_without_an_attempt(home: Home, stage: Stage) -> None:
    home.talk("a")
    due = home.pin()
    report = home.run(due, stages=(stage,))
    assert [one.code for one in report.failed] == ["Usage"]
    assert "has no" in report.failed[0].message
    assert again(home.ledger, due[0]).attempts == 0
    assert states(home, due) == ["pinned"]
