"""What a forget reaches and what it leaves alone; what `--dry-run` says before; what audit finds."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.errors import BusyError, UsageError
from memclaw_etl.lake.ledger import Holder, Stage, Window, decisions, leases, results, tombstones
from memclaw_etl.lake.ledger.schema import stage_files
from memclaw_etl.lake.ledger.schema import tombstones as tombstone_table
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.publish import publish
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service import forgetting, people, planning
from memclaw_etl.service.audit import audit
from memclaw_etl.service.backfill import outdated
from memclaw_etl.service.forget_preview import preview_erase, preview_forget
from memclaw_etl.service.forgetting import forget
from memclaw_etl.service.grants import Grant
from memclaw_etl.service.rebuild import rebuild
from memclaw_etl.service.relations import decided, undo
from memclaw_etl.stages import mask
from memclaw_etl.stages.run import RunRequest, take, work
from tests import homes
from tests.cli import call
from tests.ledger_rows import again
from tests.staged import Home, home
from tests.trail_lines import joined, prompt, reply

__all__ = ["home"]

REDIS = "Decision: we use Redis for the job queue because it is simpler."
KAFKA = "Decision: we use Kafka for the job queue because it is simpler."
TIMEOUT = "Decision: the export timeout is 30 s, since clients wait."
PAGES = "Decision: pages are cached for a day because they seldom change."


def talk(home: Home, name: str, text: str, at: int) -> Path:
    path = home.trails / f"{name}.jsonl"
    path.write_bytes(joined([prompt(f"What about {name}?", at), reply(text, at + 1)]))
    return path


def do_all(home: Home) -> list[Window]:
    due = home.pin()
    home.run(due)
    return due


def do_again(home: Home, chosen: list[Window], interviewer: str = "heuristic") -> None:
    home.runs += 1
    batch = planning.ask_anew(home.bench, chosen, interviewer=interviewer)
    assert batch is not None
    request = RunRequest(f"again-{home.runs}", batch.batch_id, batch.partition_keys, False)
    for stage in Stage:
        assert not work(home.bench, stage, request, take(home.bench, request)).failed


def saying(home: Home, text: str) -> Memory:
    return next(one for one in all_memories(home.bench.index) if one.content == text)


def contents(home: Home) -> dict[str, str]:
    return {one.content: one.status for one in all_memories(home.bench.index)}


def everything(home: Home) -> tuple[Any, ...]:
    """What a look must not change."""
    with home.ledger.read() as tx:
        return (
            sorted(map(repr, home.bench.index.all_rows(with_vectors=True).to_pylist())),
            home.bench.index.version,
            sorted(home.bench.files.names()),
            tx.execute(tombstone_table.select()).all(),
            results.windows_touched(tx),
        )


def gone(home: Home, text: str, **more: bool) -> forgetting.Forgot:
    memory_id = saying(home, text).memory_id
    return forget(home.bench, memory_id, tenant_id="default", reason="asked", **more)


def test_a_preview_says_what_then_happens_and_changes_nothing(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    talk(home, "b", KAFKA, 200)
    talk(home, "c", f"{TIMEOUT}\n\n{PAGES}", 300)
    do_all(home)
    timeout, pages = saying(home, TIMEOUT), saying(home, PAGES)
    before = everything(home)
    seen = preview_forget(home.bench, timeout.memory_id, tenant_id="default")
    assert everything(home) == before
    assert {(one.content, one.why) for one in seen.memories} == {
        (TIMEOUT, "the memory itself"),
        (PAGES, "rests on the same events"),
    }
    assert (seen.events, seen.memories_changed, seen.files, seen.answers) == (1, (), (), 0)
    assert seen.event_ids == ("uuid:00000000-0000-4000-8000-000000000301",)
    assert seen.windows == timeout.window_keys
    assert seen.trails == (str(home.trails / "c.jsonl"),)
    done = gone(home, TIMEOUT)
    assert (done.events, done.memories_gone) == (seen.events, len(seen.memories))
    assert pages.content not in contents(home)


def test_a_preview_names_memories_that_would_change(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    talk(home, "b", KAFKA, 200)
    do_all(home)
    assert contents(home) == {REDIS: "superseded", KAFKA: "active"}
    older = saying(home, REDIS).memory_id
    seen = preview_forget(home.bench, saying(home, KAFKA).memory_id, tenant_id="default")
    assert (len(seen.memories), seen.memories_changed) == (1, (older,))
    gone(home, KAFKA)
    assert contents(home) == {REDIS: "active"}
    assert audit(home.bench) == []


def test_what_quotes_it_goes_with_erase_only(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    talk(home, "b", f"The minutes say {REDIS[:-1]} and so on for all pages.", 200)
    talk(home, "c", TIMEOUT, 300)
    do_all(home)
    memory_id = saying(home, REDIS).memory_id
    home.bench.stored_responses("default").put("cd" * 20, b"{}")
    few = preview_forget(home.bench, memory_id, tenant_id="default")
    many = preview_erase(home.bench, memory_id, tenant_id="default")
    assert ([Path(one).stem for one in few.trails], few.events) == (["a"], 1)
    assert ([Path(one).stem for one in many.trails], many.events) == (["a", "b"], 2)
    assert (many.answers, {one.stage for one in many.files}) == (
        1,
        {Stage.MASKED_CHUNKS, Stage.MINI_REPORTS, Stage.MERGED_REPORT},
    )
    assert all((home.bench.files.root / one.path).exists() for one in many.files)
    done = gone(home, REDIS, erase=True)
    assert done.files_rewritten == len(many.files)
    assert homes.holding(home.bench.settings.home, [REDIS]) == {}
    assert TIMEOUT in contents(home)
    assert audit(home.bench) == []


def test_trails_with_copies_are_named(home: Home) -> None:
    first = talk(home, "a", REDIS, 100)
    do_all(home)
    fork = home.trails / "fork.jsonl"
    fork.write_bytes(first.read_bytes() + joined([reply("We go on.", 150)]))
    do_all(home)
    seen = preview_forget(home.bench, saying(home, REDIS).memory_id, tenant_id="default")
    assert seen.trails == (str(first), str(fork))
    assert gone(home, REDIS, erase=True).not_erased == (str(first), str(fork))


def test_rows_that_no_window_answers_for_yet_go_too(home: Home) -> None:
    """A run was killed between the index and the ledger's note about it."""
    talk(home, "a", REDIS, 100)
    due = home.pin()
    home.run(due, stages=tuple(Stage)[:4])
    with home.ledger.write() as tx:
        tx.execute(stage_files.delete().where(stage_files.c.stage == Stage.MEMORIES))
    assert gone(home, REDIS).memories_gone == 1
    assert contents(home) == {}


def test_a_window_that_a_run_works_on_is_erased_when_it_is_free(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    [window] = do_all(home)
    lease = leases.window_lease(window.window_id)
    memory_id = saying(home, REDIS).memory_id
    with home.ledger.write() as tx:
        leases.acquire(
            tx, [lease], holder=Holder.here("another"), now=home.ledger.now(), lease_s=60
        )
    with pytest.raises(BusyError, match="is forgotten"):
        gone(home, REDIS, erase=True)
    assert contents(home) == {}
    assert {one.check for one in audit(home.bench)} == {"stays_erased", "changes_ended"}
    with home.ledger.write() as tx:
        leases.release(tx, [lease], run_id="another")
    forget(home.bench, memory_id, tenant_id="default", reason="", erase=True)
    assert homes.holding(home.bench.settings.home, [REDIS]) == {}
    assert audit(home.bench) == []
    with home.ledger.read() as tx:
        assert {row.reason for row in tx.execute(tombstone_table.select())} == {"asked"}


def test_a_deletion_does_not_show_what_is_being_forgotten(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting was stopped between the tombstone and the index; a run keeps the memories busy."""
    talk(home, "a", REDIS, 0)
    do_all(home)
    gone = saying(home, REDIS).memory_id
    people.delete(home.bench, gone, tenant_id="default", reason="wrong", actor="me")
    with monkeypatch.context() as patch:
        patch.setattr(forgetting, "remember", busy_with("acme/secret-project"))
        with pytest.raises(BusyError):
            forget(home.bench, gone, tenant_id="default", reason="asked")
        with pytest.raises(BusyError, match="nothing is shown until it has") as raised:
            decided(home.bench, Grant(tenant_id="default"))
        assert "acme" not in str(raised.value)
    [listed] = decided(home.bench, Grant(tenant_id="default"))
    assert (listed.decision_id, listed.statements) == (gone, ())


def busy_with(scope: str) -> Callable[..., None]:
    def remember(*args: object, **kwargs: object) -> None:
        raise BusyError(f"another run keeps writing memories of {scope}", resource="scope")

    return remember


def test_there_is_no_way_back(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    do_all(home)
    memory_id = saying(home, REDIS).memory_id
    gone(home, REDIS)
    asked = {"tenant_id": "default", "reason": "no", "actor": "me"}
    with pytest.raises(UsageError, match="cannot be undone"):
        undo(home.bench, memory_id, **asked)
    with pytest.raises(UsageError, match="cannot be undone"):
        people.undelete(home.bench, memory_id, **asked)
    with pytest.raises(UsageError, match="`memclaw-etl decisions` lists them"):
        undo(home.bench, memory_id, **(asked | {"tenant_id": "other"}))
    assert preview_forget(home.bench, memory_id, tenant_id="default").is_forgotten


def test_audit_finds_what_is_recalled_though_forgotten(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    talk(home, "b", f"{TIMEOUT}\n\n{PAGES}", 200)
    do_all(home)
    before = all_memories(home.bench.index)
    gone(home, REDIS)
    gone(home, TIMEOUT)
    assert audit(home.bench) == []
    publish(
        home.bench.index, home.bench.embedder, before,
        groups={memory.group_key for memory in before},
    )  # fmt: skip
    found = [one for one in audit(home.bench) if one.check == "stays_forgotten"]
    assert {(one.where, one.message) for one in found} == {
        (before[0].memory_id, "its text was forgotten"),
        *(
            (one.memory_id, message)
            for one, message in zip(
                sorted(before[1:], key=lambda one: one.content == PAGES),
                ("its text was forgotten", "it rests on a forgotten event"),
                strict=True,
            )
        ),
    }


def test_audit_finds_what_is_stored_though_erased(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(home, "a", REDIS, 100)
    talk(home, "b", TIMEOUT, 200)
    do_all(home)
    monkeypatch.setattr(forgetting, "erase_from_window", lambda *given, **named: 0)
    memory_id = saying(home, REDIS).memory_id
    gone(home, REDIS, erase=True)
    home.bench.stored_responses("default").put("ab" * 20, f'{{"text": "[\\"{REDIS}\\"]"}}'.encode())
    found = [one for one in audit(home.bench) if one.check == "stays_erased"]
    assert len(found) == 4
    assert "response cache" in found[-1].where
    assert all("Redis" not in one.message + one.where for one in found)
    monkeypatch.undo()
    forget(home.bench, memory_id, tenant_id="default", reason="", erase=True)
    assert audit(home.bench) == []


def test_what_was_erased_is_not_stored_again_from_other_messages(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(home, "a", REDIS, 100)
    do_all(home)
    gone(home, REDIS, erase=True)
    talk(home, "b", f"{TIMEOUT}\n{REDIS}", 200)
    talk(home, "c", PAGES, 300)
    due = do_all(home)
    assert "Redis" not in "".join(contents(home))
    assert PAGES in contents(home)
    assert homes.holding(home.bench.settings.home, [REDIS, "Redis"]) == {}
    monkeypatch.setattr(mask, "DECODER_VERSION", "another")
    do_again(home, due, "verbatim")
    assert homes.holding(home.bench.settings.home, [REDIS, "Redis"]) == {}
    assert audit(home.bench) == []


def test_a_tombstone_is_one_however_often_it_is_laid(home: Home) -> None:
    given: dict[str, Any] = {"tenant_id": "t", "memory_id": "m", "content_hash": "h"}
    with home.ledger.write() as tx:
        now = home.ledger.now()
        first = tombstones.forget(tx, **given, identities=["a"], reason="one", erase=False, now=now)
        second = tombstones.forget(tx, **given, identities=["b"], reason="", erase=True, now=now)
        assert first == second
        assert tombstones.events_of(tx, "t", "m") == ({"a", "b"}, {"h"})
        assert tombstones.erased(tx, "t") == {"b"}
        assert tombstones.erased_texts(tx, "t", {"b"}) == set()
        tombstones.forget(tx, **given, identities=["a", "b"], reason="", erase=True, now=now)
        assert tombstones.erased_texts(tx, "t", {"a", "b"}) == {"h"}
        [row] = tx.execute(tombstone_table.select()).all()
    assert row.reason == "one"


def test_events_that_nobody_owns_are_found_and_taken_by_a_backfill(home: Home) -> None:
    first = talk(home, "a", REDIS, 100)
    [lost] = home.pin()
    (home.trails / "fork.jsonl").write_bytes(
        first.read_bytes() + joined([prompt("And the pages?", 150), reply(PAGES, 151)])
    )
    [fork] = [one for one in home.pin() if one.window_id != lost.window_id]
    batch = planning.ask(home.bench, [fork], asked_by="test")
    assert batch is not None
    request = RunRequest("run", batch.batch_id, batch.partition_keys, False)
    for stage in Stage:
        held = take(home.bench, request)
        if stage is Stage.MINI_REPORTS:  # the run has masked its window, and works on
            with home.ledger.write() as tx:
                decisions.skip(tx, lost, reason="gone", actor="me", now=home.ledger.now())
        assert not work(home.bench, stage, request, held).failed
    assert contents(home) == {PAGES: "active"}
    [found] = audit(home.bench)
    assert (found.check, found.where) == ("events_owned", fork.partition_key)
    assert "holds 2 events" in found.message
    [due] = outdated(home.bench, "heuristic")
    do_again(home, [due.window])
    assert set(contents(home)) == {REDIS, PAGES}
    assert again(home.ledger, fork).events == 4
    assert outdated(home.bench, "heuristic") == []
    assert audit(home.bench) == []


WRITER = """
import os, signal, sys
import pyarrow as pa
from memclaw_etl.lake import memory_table
uri, text = sys.argv[1:]
schema = pa.schema([pa.field("memory_id", pa.string(), nullable=False)])
def rows():
    for number in range(60):
        yield pa.RecordBatch.from_pylist([{"memory_id": f"{text} {number}" * 30}] * 2_000, schema)
    os.kill(os.getpid(), signal.SIGKILL)
memory_table.remake(uri, rows(), schema)
"""


@pytest.mark.parametrize("what", ["erase", "rebuild"])
def test_what_a_killed_writer_of_the_index_left_is_removed(home: Home, what: str) -> None:
    """LanceDB's own cleanup leaves such files for ever."""
    talk(home, "a", REDIS, 100)
    do_all(home)
    command = [sys.executable, "-c", WRITER, home.bench.index_uri, "half-written"]
    died = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert died.returncode == -signal.SIGKILL
    assert homes.holding(home.bench.settings.home, ["half-written"])
    if what == "erase":
        gone(home, REDIS, erase=True)
    else:
        rebuild(home.bench)
    assert homes.holding(home.bench.settings.home, ["half-written"]) == {}


def test_the_command_says_what_would_go(home: Home) -> None:
    talk(home, "a", f"{TIMEOUT}\n\n{PAGES}", 100)
    do_all(home)
    memory_id, folder = saying(home, TIMEOUT).memory_id, home.bench.settings.home
    said = call("forget", memory_id, "--erase", "--dry-run", "--home", folder)
    printed = said.stdout.decode()
    assert said.code == 0
    assert f"would go: {memory_id} (the memory itself)" in printed
    assert "(rests on the same events)" in printed
    assert PAGES in printed
    assert "3 files would be rewritten, 0 answers removed" in printed
    assert str(home.trails / "a.jsonl") in printed
    assert "nothing was changed" in printed
    assert len(contents(home)) == 2
    assert call("forget", "mem_none", "--dry-run", "--home", folder).code == 2
    done = call("forget", memory_id, "--erase", "--home", folder)
    assert "memories left the index" in done.stdout.decode().replace("\n", " ")
    assert contents(home) == {}
    again = call("forget", memory_id, "--dry-run", "--home", folder, "--json").json
    assert (again["is_forgotten"], again["memories"]) == (True, [])
    refused = call("undo", memory_id, "--reason", "no", "--home", folder)
    assert refused.code == 2
    assert "cannot be undone" in refused.said


def test_previews_that_the_settings_allowed_are_named(home: Home) -> None:
    talk(home, "a", REDIS, 100)
    do_all(home)
    folder = home.bench.settings.home
    (folder / "memclaw.toml").write_text("preview_text = true\n")
    memory_id = saying(home, REDIS).memory_id
    erased = call("forget", memory_id, "--erase", "--home", folder, "--json").json
    assert erased["not_erased"] == [str(home.trails / "a.jsonl"), str(folder / "dagster")]
