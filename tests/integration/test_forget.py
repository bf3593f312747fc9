"""What was forgotten stays forgotten; what was erased stands in no store."""

import shutil
from pathlib import Path

import pytest

from memclaw_etl.errors import UsageError
from memclaw_etl.lake.ledger import Stage, WindowState, windows
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service import planning
from memclaw_etl.service.audit import audit
from memclaw_etl.service.forgetting import forget
from memclaw_etl.service.grants import Grant
from memclaw_etl.service.rebuild import rebuild
from memclaw_etl.service.relations import decided, undo
from memclaw_etl.stages import mask
from memclaw_etl.stages.run import RunRequest, take, work
from tests import homes
from tests.staged import Home, home
from tests.trail_lines import joined, prompt, reply

__all__ = ["home"]

OLD = "Decision: we use Redis for the job queue because it is simpler."
SAME = "Decision: Redis is used for the job queue because it is simpler."
NEW = "Decision: we use Kafka for the job queue because it is simpler."
KEPT = "Decision: the export timeout is 30 s, since clients wait."


def talk(home: Home, name: str, text: str, at: int) -> Path:
    path = home.trails / f"{name}.jsonl"
    lines = [prompt(f"What shall we do about point {name}?", at), reply(text, at + 1)]
    path.write_bytes(joined(lines))
    return path


def contents(home: Home) -> list[str]:
    return sorted(memory.content for memory in all_memories(home.bench.index))


def memory_saying(home: Home, text: str) -> Memory:
    return next(one for one in all_memories(home.bench.index) if one.content == text)


def do_all(home: Home) -> None:
    home.run(home.pin())


def do_again(home: Home, interviewer: str) -> None:
    """Every window again: read, masked, interviewed by someone else, remembered."""
    with home.ledger.read() as tx:
        chosen = [one for one in windows.all_windows(tx) if one.state is WindowState.COMMITTED]
    home.runs += 1
    batch = planning.ask_anew(home.bench, chosen, interviewer=interviewer)
    request = RunRequest(f"again-{home.runs}", batch.batch_id, batch.partition_keys, False)
    for stage in tuple(Stage):
        report = work(home.bench, stage, request, take(home.bench, request))
        assert not report.failed


def test_a_memory_of_two_windows_stays_forgotten_and_is_erased_from_every_store(
    home: Home, monkeypatch
):
    first = talk(home, "a", OLD, 100)
    talk(home, "b", SAME, 200)
    talk(home, "c", KEPT, 300)
    do_all(home)
    joined_memory = memory_saying(home, OLD)
    assert len(joined_memory.window_keys) == 2
    done = forget(home.bench, joined_memory.memory_id, tenant_id="default", reason="asked")
    assert (done.events, done.memories_gone) == (2, 1)
    assert contents(home) == [KEPT]

    fork = home.trails / "fork.jsonl"
    shutil.copy(first, fork)
    with fork.open("ab") as file:
        file.write(joined([prompt("And then?", 400), reply("Decision: we keep it small.", 401)]))
    talk(home, "d", "Decision: we use  redis for the job queue because it is simpler.", 500)
    do_all(home)
    assert not [text for text in contents(home) if "redis" in text.casefold()]
    do_again(home, "verbatim")
    assert not [text for text in contents(home) if "redis" in text.casefold()]
    assert KEPT in contents(home)
    rebuild(home.bench)
    assert not [text for text in contents(home) if "redis" in text.casefold()]
    assert audit(home.bench) == []

    home.bench.stored_responses("default").put("ab" * 20, OLD.encode())
    erased = forget(
        home.bench, joined_memory.memory_id, tenant_id="default", reason="law", erase=True
    )
    assert erased.erased
    assert str(first) in erased.not_erased
    assert erased.answers_removed == 1
    assert KEPT in contents(home)
    assert audit(home.bench) == []
    lake = home.bench.settings.home
    assert homes.holding(lake, [OLD, SAME, "Redis", "redi"]) == {}
    monkeypatch.setattr(mask, "DECODER_VERSION", "another")  # every trail is read again
    do_again(home, "heuristic")
    assert KEPT in contents(home)
    assert homes.holding(lake, [OLD, SAME, "Redis", "redi"]) == {}


def test_a_memory_of_another_tenant_or_none_is_refused(home: Home):
    talk(home, "a", OLD, 100)
    do_all(home)
    memory = memory_saying(home, OLD)
    for memory_id, tenant in ((memory.memory_id, "other"), ("mem_none", "default")):
        with pytest.raises(UsageError, match="no memory"):
            forget(home.bench, memory_id, tenant_id=tenant, reason="")
    assert contents(home) == [OLD]


def test_decisions_are_listed_undone_and_survive_a_rebuild(home: Home):
    talk(home, "a", OLD, 100)
    talk(home, "b", NEW, 200)
    do_all(home)
    [one] = decided(home.bench, Grant(tenant_id="default"))
    assert (one.outcome, one.reason, one.undone) == ("replaced (UPDATE)", "changed_value", False)
    assert set(one.statements) == {OLD, NEW}
    assert decided(home.bench, Grant(tenant_id="other")) == []
    assert undo(home.bench, one.decision_id, tenant_id="default", reason="both", actor="me") == 2

    def statuses():
        return {memory.status for memory in all_memories(home.bench.index)}

    assert statuses() == {"active"}
    rebuild(home.bench)
    assert statuses() == {"active"}
    assert decided(home.bench, Grant(tenant_id="default"))[0].undone
    home.clock.move(seconds=1)
    back = {"tenant_id": "default", "reason": "no", "actor": "me", "back": True}
    assert undo(home.bench, one.decision_id, **back) == 2
    assert statuses() == {"active", "superseded"}
    with pytest.raises(UsageError, match="no decision"):
        undo(home.bench, one.decision_id, tenant_id="other", reason="x", actor="me")
    assert audit(home.bench) == []
