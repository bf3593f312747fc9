"""Interviewing again: what is outdated, what replaces what, and the Batch API at every point."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memclaw_etl.errors import EndpointError
from memclaw_etl.interview import model_chunk, model_interviewer
from memclaw_etl.lake.ledger import Stage, Window, WindowState, ledger_frame
from memclaw_etl.lake.ledger import model_jobs as job_table
from memclaw_etl.lake.ledger.model_jobs import JobState
from memclaw_etl.service import model_jobs, planning
from memclaw_etl.service.audit import audit
from memclaw_etl.service.backfill import Outdated, choose, outdated, unfinished
from memclaw_etl.stages.run import RunRequest, take, work
from tests.conftest import START
from tests.ledger_rows import again
from tests.modelled import changed, counts, home, redo, server
from tests.openai_server import Call, ModelServer, Reply, honest
from tests.staged import Home, states

__all__ = ["home", "server"]


def keys(found: list[Outdated]) -> list[str]:
    return [one.window.partition_key for one in found]


def by_rules(home: Home, names: str = "abc") -> list[Window]:
    """Windows that the heuristic interviewer has reported on."""
    for name in names:
        home.talk(name)
    due = home.pin()
    home.runs += 1
    batch = planning.ask(home.bench, due, asked_by="test", interviewer="heuristic")
    assert batch is not None
    request = RunRequest(f"rules-{home.runs}", batch.batch_id, batch.partition_keys, False)
    for stage in Stage:
        work(home.bench, stage, request, take(home.bench, request))
    return [again(home.ledger, one) for one in due]


def test_a_newer_interviewer_replaces_items_as_a_whole(home: Home, server: ModelServer) -> None:
    done = by_rules(home)
    before = set(home.memories())
    assert keys(outdated(home.bench, "openai")) == [one.partition_key for one in done]
    redo(home, done)
    assert states(home, done) == ["committed"] * 3
    assert outdated(home.bench, "openai") == []
    after = set(home.memories())
    assert len(after) == 18
    assert {content for _, content in after} != {content for _, content in before}
    rows = home.bench.memory_rows().select(["interviewer"]).to_pylist()
    assert {row["interviewer"] for row in rows} == {"openai"}
    assert audit(home.bench) == []


def test_a_lesser_interviewer_replaces_nothing(home: Home) -> None:
    home.talk("a")
    home.run(home.pin())
    assert outdated(home.bench, "heuristic") == []
    assert outdated(home.bench, "verbatim") == []


@pytest.mark.parametrize("what", ["prompt", "model", "rules"])
def test_another_prompt_model_or_rule_makes_reports_old(
    home: Home, server: ModelServer, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    home.talk("a")
    due = home.pin()
    home.run(due)
    assert outdated(home.bench, "openai") == []
    if what == "prompt":
        monkeypatch.setattr(model_interviewer.ModelInterviewer, "version", "notes-newer")
        monkeypatch.setattr(model_chunk, "PROMPT_VERSION", "notes-newer")
    elif what == "model":
        home = changed(home, server, model={"name": "scripted-2"})
    else:
        home = changed(home, server, keystones=[{"rules": ["Figures in EUR."]}])
    assert len(outdated(home.bench, "openai")) == 1
    redo(home, [again(home.ledger, one) for one in due])
    assert outdated(home.bench, "openai") == []
    assert len(server.calls) == 2
    assert audit(home.bench) == []


def test_a_failed_new_interview_keeps_the_old_report_and_is_not_paid_for_ever(
    home: Home, server: ModelServer
) -> None:
    done = by_rules(home, "a")
    before = home.memories()
    server.script = lambda call: Reply("no JSON")
    for attempt in range(3):
        assert len(outdated(home.bench, "openai")) == 1, attempt
        redo(home, done)
        home.clock.move(hours=1)
    assert outdated(home.bench, "openai") == []
    assert home.memories() == before
    assert states(home, done) == ["committed"]
    assert audit(home.bench) == []
    assert len(outdated(changed(home, server, model={"name": "scripted-2"}).bench, "openai")) == 1


def test_a_run_that_was_killed_before_the_index_is_finished(
    home: Home, server: ModelServer
) -> None:
    done = by_rules(home, "ab")
    before = home.memories()
    redo(home, done, stages=tuple(Stage)[:3])  # and then the process is gone
    assert unfinished(home.bench) == []  # its lease is alive
    home.clock.move(minutes=30)
    assert home.memories() == before
    assert {check.check for check in audit(home.bench)} == {"index_matches_items"}
    found = unfinished(home.bench)
    assert {name for name, _ in found} == {"openai"}
    redo(home, [window for _, window in found])
    assert home.memories() != before
    assert audit(home.bench) == []
    assert unfinished(home.bench) == []
    assert len(server.calls) == 2


def test_choosing_keeps_to_number_and_tokens_in_the_order_that_was_asked_for(home: Home) -> None:
    done = by_rules(home)
    done = [
        replace(window, ts_first=START + timedelta(days=day)) for day, window in enumerate(done)
    ]
    found = [
        Outdated(window, tokens=tokens, items=items)
        for window, tokens, items in zip(done, (500, 100, 300), (1, 9, 5), strict=True)
    ]
    first, second, third = (one.partition_key for one in done)
    assert keys(choose(found, order="oldest")) == [first, second, third]
    assert keys(choose(found, order="valuable")) == [second, third, first]
    assert keys(choose(found, order="oldest", limit=2)) == [first, second]
    assert keys(choose(found, order="oldest", tokens=450)) == [second, third]
    assert keys(choose(found, order="valuable", limit=1, tokens=10_000)) == [second]
    assert choose([], order="oldest") == []


# --- Batch API


def hand_in(home: Home, done: list[Window]) -> None:
    model_jobs.submit(home.bench, done)


def test_a_batch_brings_the_answers_and_the_windows_run_without_a_call(
    home: Home, server: ModelServer
) -> None:
    home = changed(
        home, server,
        model={"price_per_million_prompt_tokens": 10.0, "price_per_million_completion_tokens": 10.0},
    )  # fmt: skip
    done = by_rules(home)
    server.finish_batches = False
    hand_in(home, done)
    [job] = ledger_frame(home.ledger, "model_jobs").iter_rows(named=True)
    assert (job["state"], job["requests"]) == ("submitted", 3)
    assert outdated(home.bench, "openai") == []  # a job is about them
    assert model_jobs.fetched(home.bench) == []
    [file] = server.files.values()
    assert len(file.splitlines()) == 3
    assert b"hunter2" not in file
    server.finish_batches = True
    [after] = model_jobs.advance(home.bench)
    assert (after.state, after.answered) == (JobState.FETCHED, 3)
    [(job_id, windows)] = model_jobs.fetched(home.bench)
    assert {one.window_id for one in windows} == {one.window_id for one in done}
    model_jobs.finish(home.bench, [job_id])
    redo(home, windows)
    assert server.calls == []
    assert outdated(home.bench, "openai") == []
    assert {counts(home, one)["llm_cache_hits"] for one in done} == {1}
    assert len(home.memories()) == 18
    [spent] = ledger_frame(home.ledger, "model_spending").iter_rows(named=True)
    tokens = spent["prompt_tokens"] + spent["completion_tokens"]
    assert spent["calls"] == 3
    assert spent["cost"] == pytest.approx(tokens * 10 / 1e6 / 2)
    assert audit(home.bench) == []


POINTS = [
    "before_upload",
    "after_upload",
    "before_submit",
    "after_submit",
    "in_fetch",
    "after_fetch",
]


class KilledError(BaseException):
    """The process is gone here."""


def kill_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    remote, errand = model_jobs.RemoteBatches, model_jobs._Errand

    def die(*args: Any, **kwargs: Any) -> Any:
        raise KilledError

    def then_die(original: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            original(*args, **kwargs)
            raise KilledError

        return wrapped

    where = {
        "before_upload": (remote, "upload", die),
        "after_upload": (remote, "upload", then_die(remote.upload)),
        "before_submit": (remote, "submit", die),
        "after_submit": (remote, "submit", then_die(remote.submit)),
        "in_fetch": (errand, "_keep", then_die(errand._keep)),
        "after_fetch": (errand, "_fetch", then_die(errand._fetch)),
    }
    monkeypatch.setattr(*where[point])


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_survives_a_kill_at_every_point(
    home: Home, server: ModelServer, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    done = by_rules(home, "ab")
    with monkeypatch.context() as patch:
        kill_at(patch, point)
        with pytest.raises(KilledError):
            hand_in(home, done)
    later = changed(home, server)
    for _ in range(3):
        model_jobs.advance(later.bench)
    assert len(server.batches) == 1
    assert set(server.answered.values()) == {1}
    [(job_id, windows)] = model_jobs.fetched(later.bench)
    model_jobs.finish(later.bench, [job_id])
    redo(later, windows)
    assert server.calls == []
    assert outdated(later.bench, "openai") == []
    [spent] = ledger_frame(later.ledger, "model_spending").iter_rows(named=True)
    assert spent["calls"] <= 2
    assert audit(later.bench) == []


def test_a_kill_before_the_windows_were_asked_for_loses_nothing(
    home: Home, server: ModelServer
) -> None:
    done = by_rules(home, "ab")
    hand_in(home, done)
    [(job_id, _)] = model_jobs.fetched(home.bench)
    model_jobs.finish(home.bench, [job_id])  # and then the process is gone
    found = [one.window for one in outdated(home.bench, "openai")]
    assert {one.window_id for one in found} == {one.window_id for one in done}
    assert all(model_jobs.is_answered(home.bench, one) for one in found)
    assert model_jobs.submit(home.bench, found) == []
    assert len(server.batches) == 1


def test_an_endpoint_that_is_down_keeps_the_job_open(home: Home, server: ModelServer) -> None:
    done = by_rules(home, "a")
    server.down = True
    with pytest.raises(EndpointError):
        hand_in(home, done)
    [job] = ledger_frame(home.ledger, "model_jobs").iter_rows(named=True)
    assert job["state"] == "prepared"
    assert "503" in job["error"]
    server.down = False
    [after] = model_jobs.advance(home.bench)
    assert after.state == JobState.FETCHED


def test_requests_that_fail_are_counted_and_the_others_used(
    home: Home, server: ModelServer
) -> None:
    def script(call: Call) -> Reply:
        return Reply(status=500) if "topic b " in call.user else honest(call)

    server.script = script
    done = by_rules(home)
    for _ in range(3):
        model_jobs.submit(home.bench, [one.window for one in outdated(home.bench, "openai")])
        for job_id, windows in model_jobs.fetched(home.bench):
            redo(home, windows)
            model_jobs.finish(home.bench, [job_id])
    assert [counts(home, one)["interviewer"] for one in done] == ["openai", "heuristic", "openai"]
    assert outdated(home.bench, "openai") == []
    states_of_jobs = [row["state"] for row in ledger_frame(home.ledger, "model_jobs").to_dicts()]
    assert sorted(states_of_jobs) == ["done", "failed", "failed"]


def test_a_job_of_another_model_is_left_alone(home: Home, server: ModelServer) -> None:
    server.finish_batches = False
    hand_in(home, by_rules(home, "a"))
    other = changed(home, server, model={"name": "scripted-2"})
    assert model_jobs.advance(other.bench) == []
    with other.ledger.read() as tx:
        assert len(job_table.open_jobs(tx)) == 1


def test_windows_that_somebody_works_on_are_not_asked_for(home: Home) -> None:
    done = by_rules(home, "ab")
    assert planning.ask_anew(home.bench, done[:1], interviewer="openai") is not None
    assert keys(outdated(home.bench, "openai")) == [done[1].partition_key]
    assert planning.ask_anew(home.bench, done, interviewer="openai") is None
    home.clock.move(hours=1)
    assert len(outdated(home.bench, "openai")) == 2
    assert {one.state for one in done} == {WindowState.COMMITTED}
