"""The five stages over real trails and stores: done once, resumed, replayed."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select

from memclaw_etl.errors import UnknownWindowError
from memclaw_etl.lake import memory_index
from memclaw_etl.lake.ledger import Stage, leases
from memclaw_etl.lake.memory_table import unindexed_rows
from memclaw_etl.service import checks, people
from memclaw_etl.stages.remember import only_writer
from memclaw_etl.stages.run import RunRequest, give_back, take, work
from tests.crash.harness import wait_until
from tests.ledger_rows import again, ask, owed_keys, take_keys
from tests.staged import Home, home, states
from tests.trail_lines import claude, joined, prompt, tool_result

__all__ = ["home"]


def test_windows_become_memories_and_a_second_run_changes_nothing(home: Home) -> None:
    for name in "ab":
        home.talk(name)
    due = home.pin()
    report = home.run(due)
    assert report.totals == {"committed": 2}
    assert set(states(home, due)) == {"committed"}
    first = home.memories()
    assert first
    assert home.pin() == []
    again_taken = take_keys(home.ledger, due, "by-hand")
    request = RunRequest("by-hand", None, [one.partition_key for one in due], True)
    for stage in Stage:
        again_done = work(home.bench, stage, request, again_taken)
        assert all(done.unchanged for done in again_done.done), stage
        assert len(again_done.done) == 2
    assert home.memories() == first


def test_whoever_writes_memories_keeps_their_scope_however_long_it_takes(home: Home) -> None:
    limits = home.bench.settings.limits.model_copy(update={"lease_s": 0.2})
    home.bench.__dict__["settings"] = home.bench.settings.model_copy(update={"limits": limits})

    def is_held() -> bool:
        with home.ledger.write() as tx:
            leases.drop_dead(tx, now=home.clock.at)
            return leases.is_held(tx, "scope:default/")

    def until_when() -> datetime:
        with home.ledger.read() as tx:
            return tx.execute(select(leases.leases.c.expires_at)).scalar_one()

    with only_writer(home.bench, ["default/"], run_id="slow"):
        first = until_when()
        home.clock.move(seconds=0.1)
        wait_until("its lease is renewed", lambda: until_when() > first, seconds=30, every=0.05)
        home.clock.move(seconds=0.15)
        assert is_held()
    assert not is_held()


def test_growth_adds_and_keeps(home: Home) -> None:
    home.talk("a")
    home.run(home.pin())
    first = home.memories()
    home.talk("a", 2, 3)
    home.run(home.pin())
    assert set(first) < set(home.memories())


def test_no_check_finds_anything_after_a_run(home: Home) -> None:
    home.talk("a")
    due = home.pin()
    home.run(due)
    for stage in Stage:
        assert checks.after_stage(home.bench, stage, due) == []


def test_a_window_that_was_masked_needs_its_trail_no_more(home: Home) -> None:
    path = home.talk("a")
    due = home.pin()
    home.run(due, stages=(Stage.MASKED_CHUNKS,))
    path.unlink()
    give_back(home.bench, "run-1", due)
    home.run(due)
    assert states(home, due) == ["committed"]
    assert home.memories()


def test_events_that_were_inherited_after_masking_are_masked_too(home: Home) -> None:
    home.talk("a", 2)
    home.clock.move(minutes=1)
    home.talk("b", 3)  # a fork of a, with one turn more
    data = (home.trails / "a.jsonl").read_bytes()
    (home.trails / "b.jsonl").write_bytes(data + joined([prompt("Only in the fork.", 90)]))
    a, b = home.pin()
    assert (a.events, b.events, b.replayed) == (4, 1, 4)
    home.run([b], stages=(Stage.MASKED_CHUNKS, Stage.MINI_REPORTS))
    give_back(home.bench, "run-1", [b])
    people.skip(home.bench, a.partition_key, reason="test", actor="ann")
    assert again(home.ledger, b).events == 5
    home.run([again(home.ledger, b)])
    assert home.reports[Stage.MASKED_CHUNKS].done[0].counts["events"] == 5
    assert states(home, [a, b]) == ["skipped", "committed"]


def test_a_tag_reaches_over_the_lines_of_one_reply(home: Home) -> None:
    def block(text: str, number: int, message: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return claude("assistant", content, number, message={"role": "assistant", "id": message, "content": content})  # fmt: skip

    lines = [
        prompt("go on", 1), block("open <private>the secret plan", 2, "m1"),
        tool_result("noise", 3), block("still secret", 4, "m1"),
        block("secret</private> and over", 5, "m1"), block("another reply", 6, "m2"),
        block("an open <private> tag", 7, "m2"), prompt("my own words", 8),
    ]  # fmt: skip
    (home.trails / "hidden.jsonl").write_bytes(joined(lines))
    home.run(home.pin(), stages=(Stage.MASKED_CHUNKS,))
    (done,) = home.reports[Stage.MASKED_CHUNKS].done
    said = home.bench.files.read(done.path)["content"].to_list()
    assert said == ["go on", "open", "and over", "another reply", "an open", "my own words"]
    assert done.counts["private_messages"] == 1


def test_a_window_of_nothing_but_private_text_commits_without_memories(home: Home) -> None:
    hidden = joined([prompt("<private>the secret plan</private>", 1), prompt("<private>open", 2)])
    (home.trails / "a.jsonl").write_bytes(hidden)
    due = home.pin()
    home.run(due)
    assert states(home, due) == ["committed"]
    assert home.memories() == []
    assert home.reports[Stage.MASKED_CHUNKS].done[0].counts["private_messages"] == 2


@pytest.mark.parametrize(
    ("batch_id", "keys"),
    [(None, []), (None, ["nobody@0-1"]), ("no-batch", ["KNOWN"]), (None, ["KNOWN", "..."])],
)
def test_a_run_for_what_the_ledger_does_not_know_changes_nothing(
    home: Home, batch_id: str | None, keys: list[str]
) -> None:
    home.talk("a")
    due = home.pin()
    named = [due[0].partition_key if key == "KNOWN" else key for key in keys]
    with pytest.raises(UnknownWindowError):
        take(home.bench, RunRequest("r", batch_id, named, True))
    assert owed_keys(home.ledger) == [due[0].partition_key]


def test_asking_twice_for_the_same_windows_works_on_them_once(home: Home) -> None:
    home.talk("a")
    due = home.pin()
    first, second = ask(home.ledger, due), ask(home.ledger, due)
    keys = [one.partition_key for one in due]
    assert take(home.bench, RunRequest("one", first, keys, False)) == []
    assert len(take(home.bench, RunRequest("two", second, keys, False))) == 1


def test_a_run_indexes_what_waits_when_it_is_time(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_index, "UNINDEXED_ROWS", 4)
    home.talk("a", 1)
    home.run(home.pin())
    assert len(home.memories()) == unindexed_rows(home.bench.index._table) == 2
    home.talk("b", 1)
    home.run(home.pin())
    assert len(home.memories()) == 4
    assert unindexed_rows(home.bench.index._table) == 0
