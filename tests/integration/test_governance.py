"""Policies, deletions and retention over a whole home: what is stored follows, by any way there."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memclaw_etl.errors import UsageError
from memclaw_etl.interview.heuristic import HeuristicInterviewer
from memclaw_etl.lake.ledger import Stage, governance, leases, results, windows
from memclaw_etl.lake.ledger.leases import Holder
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.memories.resolve import Memory
from memclaw_etl.service import people, planning, upkeep
from memclaw_etl.service.audit import audit
from memclaw_etl.service.forgetting import forget
from memclaw_etl.service.grants import Grant
from memclaw_etl.service.lineage import lineage
from memclaw_etl.service.rebuild import rebuild
from memclaw_etl.service.recalling import Asked, ask
from memclaw_etl.service.relations import DELETED, decided, undo
from memclaw_etl.service.sql import sql as sql_of
from memclaw_etl.service.upkeep import Kept, keep_policies
from memclaw_etl.settings import load_settings
from memclaw_etl.stages import govern_again, remember
from memclaw_etl.stages.run import RunRequest, take, work
from tests.cli import call
from tests.staged import Home, home
from tests.trail_lines import joined, prompt, reply

__all__ = ["home"]

MAIL = "ada@analytical" + ".test"
REDIS = "Decision: we use Redis for the job queue because it is simpler."
KAFKA = "Decision: we use Kafka for the job queue because it is simpler."
REDIS_AGAIN = "Decision: Redis is used for the job queue because it is simpler."
WRITE = f"Decision: we send the invoices to {MAIL} because she asked for it."
FALCON = "Decision: project falcon keeps its own database because it grows."
OLD = "Decision: the export timeout is 30 s, since clients wait."
WIFE = "Decision: my wife picks the restaurant because I always choose badly."
ALL = Grant(tenant_id="default")


def tell(home: Home, name: str, *said: str, at: int = 100) -> None:
    """A trail for each reply, one after the other from that minute on."""
    for number, text in enumerate(said):
        first = at + 2 * number
        lines = [prompt(f"What about {name}{number}?", first), reply(text, first + 1)]
        (home.trails / f"{name}{number}.jsonl").write_bytes(joined(lines))


def tell_at(home: Home, name: str, text: str, when: datetime, at: int) -> None:
    stamp = when.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    lines = [
        prompt(f"What about {name}?", at, timestamp=stamp),
        reply(text, at + 1, timestamp=stamp),
    ]
    (home.trails / f"{name}.jsonl").write_bytes(joined(lines))


def do_all(home: Home) -> None:
    home.run(home.pin())


def want(
    home: Home, *policies: dict, retention: Sequence[dict] = (), tenant: str = "default"
) -> None:
    """The home's settings from now on."""
    settings = home.bench.settings
    tenants = [{"tenant_id": tenant, "policies": policies, "retention": retention}]
    home.bench.__dict__["settings"] = load_settings(
        settings.home, sources=settings.sources, tenants=tenants
    )


def no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on nobody is interviewed."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("an interviewer was asked")

    monkeypatch.setattr(HeuristicInterviewer, "interview", refuse)


def contents(home: Home) -> list[str]:
    return sorted(memory.content for memory in all_memories(home.bench.index))


def saying(home: Home, text: str) -> Memory:
    return next(one for one in all_memories(home.bench.index) if one.content == text)


def rows(home: Home) -> str:
    """Every stored memory but when it was stored."""
    table = home.bench.memory_rows().to_pylist()
    for row in table:
        del row["created_at"]
    return json.dumps(sorted(table, key=lambda row: row["memory_id"]), default=str)


NO_FALCON = {"name": "no-falcon", "pattern": "(?i)project falcon", "action": "drop"}
NO_MAIL = {"name": "no-mail", "category": "personal_data", "action": "mask"}
PRIVATE = {"name": "private", "category": "private_life", "action": "flag"}


def test_policies_hold_for_what_is_new_and_are_counted_without_text(home: Home):
    want(home, NO_FALCON, NO_MAIL, PRIVATE)
    tell(home, "a", REDIS, WRITE, FALCON, WIFE)
    do_all(home)
    found = contents(home)
    assert FALCON not in found
    assert MAIL not in " ".join(found)
    masked = WRITE.replace(MAIL, "[MASKED:email:1]")
    assert {REDIS, masked, WIFE} <= set(found)
    assert saying(home, WIFE).flags == ("policy:private",)
    counted = [done.counts for done in home.reports[Stage.MEMORIES].done]
    for action, policy in (("drop", "no-falcon"), ("mask", "no-mail"), ("flag", "private")):
        assert [one[f"by policy {action}"] for one in counted if f"by policy {action}" in one] == [
            {policy: 1}
        ]
    totals = home.reports[Stage.MEMORIES].totals
    assert [totals[f"by policy {one}"] for one in ("drop", "flag", "mask")] == [1, 1, 1]
    [step] = lineage(home.bench, ALL, saying(home, masked).memory_id).steps
    assert step.content == masked
    table = home.bench.memory_rows().to_pylist()
    assert not [row for row in table if "falcon" in row["nearby"] + row["search_text"]]
    assert audit(home.bench) == []


def test_what_policies_did_is_listed_by_sql(home: Home):
    want(home, NO_FALCON, PRIVATE, retention=KEEP_30_DAYS)
    tell(home, "a", FALCON, WIFE)
    do_all(home)
    keep_policies(home.bench)
    asked = "select policy, action, count(distinct item_id) n from governed_items group by all"
    found = sql_of(home.bench, ALL, asked)
    assert sorted(found.rows()) == [("no-falcon", "drop", 1), ("private", "flag", 1)]
    cutoffs = sql_of(home.bench, ALL, "select memory_type from retention_cutoffs")
    assert cutoffs.rows() == [("decision",)]


def ledger_text(home: Home) -> str:
    with home.ledger.engine.connect() as connection:
        names = ("governed_items", "governed_windows", "live_items")
        return repr([connection.exec_driver_sql(f"select * from {name}").all() for name in names])


def test_what_is_stored_follows_every_change_without_a_model_call(home: Home, monkeypatch):
    tell(home, "a", REDIS, WRITE, FALCON)
    tell(home, "b", WIFE, REDIS_AGAIN, at=300)
    do_all(home)
    free = rows(home)
    no_calls(monkeypatch)
    assert keep_policies(home.bench) == Kept(0, 0, 0)

    want(home, NO_FALCON, NO_MAIL)
    assert {finding.check for finding in audit(home.bench)} == {"policies_applied"}
    kept = keep_policies(home.bench)
    assert kept.windows_governed == 5
    assert kept.memories_changed >= 2
    assert FALCON not in contents(home)
    assert MAIL not in rows(home)
    assert "database" not in ledger_text(home)
    assert MAIL not in ledger_text(home)
    assert keep_policies(home.bench) == Kept(0, 0, 0)
    assert audit(home.bench) == []
    ruled = rows(home)
    rebuild(home.bench)
    assert rows(home) == ruled

    want(home, {**NO_FALCON, "action": "flag"}, PRIVATE)
    rebuild(home.bench)  # a rebuild alone does it, too
    assert saying(home, FALCON).flags == ("policy:no-falcon",)
    assert saying(home, WRITE)
    assert audit(home.bench) == []

    want(home)
    keep_policies(home.bench)
    assert rows(home) == free
    assert audit(home.bench) == []


def test_a_policy_before_and_one_after_give_the_same(home: Home):
    want(home, NO_FALCON, NO_MAIL, PRIVATE)
    said = [
        ("a", (REDIS, WRITE), 100),
        ("b", (FALCON, WIFE), 300),
        ("c", (REDIS_AGAIN, KAFKA), 500),
    ]
    for name, some, at in said:
        tell(home, name, *some, at=at)
        do_all(home)
    before = rows(home)
    want(home)
    keep_policies(home.bench)
    assert rows(home) != before
    want(home, NO_FALCON, NO_MAIL, PRIVATE)
    keep_policies(home.bench)
    assert rows(home) == before


def test_a_window_that_a_run_works_on_follows_later(home: Home):
    tell(home, "a", FALCON)
    do_all(home)
    want(home, NO_FALCON)
    with home.ledger.write() as tx:
        [window] = windows.all_windows(tx)
        name = leases.window_lease(window.window_id)
        holder = Holder.here("somebody")
        leases.acquire(tx, [name], holder=holder, now=home.ledger.now(), lease_s=60)
    assert keep_policies(home.bench).windows_governed == 0
    assert FALCON in contents(home)
    with home.ledger.write() as tx:
        leases.release(tx, [name], run_id="somebody")
    assert keep_policies(home.bench).windows_governed == 1
    assert FALCON not in contents(home)


def test_a_window_with_a_damaged_file_holds_up_no_other(home: Home):
    tell(home, "a", FALCON, REDIS)
    do_all(home)
    with home.ledger.read() as tx:
        key = next(iter(saying(home, FALCON).window_keys))
        [window] = windows.by_keys(tx, [key])
    file = home.file(window, Stage.MERGED_REPORT)
    whole = file.read_bytes()
    file.write_bytes(b"damaged")
    want(home, {"name": "no-redis", "pattern": "Redis", "action": "drop"}, NO_FALCON)
    assert keep_policies(home.bench).windows_governed == 1
    assert contents(home) == [FALCON]
    assert {one.check for one in audit(home.bench)} >= {"files_intact", "policies_applied"}
    file.write_bytes(whole)
    assert keep_policies(home.bench).windows_governed == 1
    assert contents(home) == []
    assert audit(home.bench) == []


def test_policies_of_one_tenant_do_not_touch_another(home: Home):
    want(home, NO_FALCON, tenant="other")
    tell(home, "a", FALCON)
    do_all(home)
    assert FALCON in contents(home)
    assert audit(home.bench) == []


class Stopped(BaseException):
    """The process is gone: nothing catches it."""


STEPS = [
    (govern_again, "keep_items"), (governance, "move_cutoffs"), (results, "touch"),
    (remember, "publish"), (results, "clear_touched"), (upkeep, "remember_waiting"),
]  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=[name for _, name in STEPS])
def test_a_stop_anywhere_is_made_good_by_the_next_call(home: Home, monkeypatch, owner, step, after):
    tell(home, "a", FALCON, REDIS)
    tell_at(home, "b", OLD, datetime(2026, 1, 1, tzinfo=UTC), 200)
    do_all(home)
    want(home, NO_FALCON, retention=KEEP_30_DAYS)
    original = getattr(owner, step)

    def stop(*args: object, **kwargs: object) -> None:
        if after:
            original(*args, **kwargs)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, stop)
        with pytest.raises(Stopped):
            keep_policies(home.bench)
    home.clock.move(seconds=1 + home.bench.settings.limits.lease_s)  # its leases end
    keep_policies(home.bench)
    assert statuses(home) == {REDIS: "active", OLD: "expired"}
    assert audit(home.bench) == []
    assert keep_policies(home.bench).memories_changed == 0


def test_what_was_forgotten_stays_forgotten_whatever_the_policies(home: Home):
    want(home, NO_MAIL)
    tell(home, "a", WRITE)
    do_all(home)
    [memory] = [one for one in all_memories(home.bench.index) if "invoices" in one.content]
    forget(home.bench, memory.memory_id, tenant_id="default", reason="asked")
    for policies in ((), (NO_MAIL,)):
        want(home, *policies)
        keep_policies(home.bench)
        assert not [text for text in contents(home) if "invoices" in text]
    tell(home, "b", WRITE, at=900)
    do_all(home)
    assert not [text for text in contents(home) if "invoices" in text and "Decision" in text]


def recalled(home: Home, text: str, **how) -> list[str]:
    return [hit["content"] for hit in ask(home.bench, ALL, Asked(text=text, **how)).answers]


def again(home: Home, interviewer: str) -> None:
    with home.ledger.read() as tx:
        chosen = windows.all_windows(tx)
    home.runs += 1
    batch = planning.ask_anew(home.bench, chosen, interviewer=interviewer)
    request = RunRequest(f"again-{home.runs}", batch.batch_id, batch.partition_keys, False)
    for stage in Stage:
        assert not work(home.bench, stage, request, take(home.bench, request)).failed


def test_a_deleted_memory_is_gone_until_it_is_brought_back(home: Home):
    tell(home, "a", REDIS, at=100)
    do_all(home)
    memory = saying(home, REDIS)
    done = people.delete(
        home.bench, memory.memory_id, tenant_id="default", reason="wrong", actor="me"
    )
    assert done == replace(memory, status="deleted")
    assert REDIS not in recalled(home, "job queue")
    assert REDIS not in recalled(home, "job queue", valid_at=memory.ts_valid_end)
    assert REDIS in recalled(home, "job queue", status="deleted")
    [listed] = [one for one in decided(home.bench, ALL) if one.outcome == DELETED]
    assert (listed.decision_id, listed.reason, listed.statements) == (
        memory.memory_id,
        "wrong",
        (REDIS,),
    )

    tell(home, "b", REDIS_AGAIN, REDIS, at=900)  # the same in other words, and again
    do_all(home)
    assert {saying(home, REDIS).status} == {"deleted"}
    again(home, "heuristic")
    rebuild(home.bench)
    assert saying(home, REDIS).status == "deleted"
    assert audit(home.bench) == []

    home.clock.move(seconds=1)
    memory_id = saying(home, REDIS).memory_id
    back = people.undelete(home.bench, memory_id, tenant_id="default", reason="", actor="me")
    assert back.status == "active"
    assert REDIS in recalled(home, "job queue")
    assert [one for one in decided(home.bench, ALL) if one.outcome == DELETED] == []
    assert audit(home.bench) == []


def test_a_deleted_memory_stays_deleted_when_a_policy_words_it_otherwise(home: Home):
    tell(home, "a", WRITE)
    do_all(home)
    memory = saying(home, WRITE)
    people.delete(home.bench, memory.memory_id, tenant_id="default", reason="wrong", actor="me")
    for policies in ((NO_MAIL,), (), (NO_MAIL,)):
        want(home, *policies)
        keep_policies(home.bench)
        [now] = [one for one in all_memories(home.bench.index) if one.memory_id == memory.memory_id]
        assert now.status == "deleted"
    people.undelete(home.bench, memory.memory_id, tenant_id="default", reason="", actor="me")
    want(home)
    keep_policies(home.bench)
    assert saying(home, WRITE).status == "active"
    assert audit(home.bench) == []


def test_an_undone_relation_stays_undone_when_a_policy_words_it_otherwise(home: Home):
    one = "Decision: we use Redis for the falcon queue because it is simpler."
    other = one.replace("Redis", "Kafka")
    tell(home, "a", one, other)
    do_all(home)
    [relation] = decided(home.bench, ALL)
    undo(home.bench, relation.decision_id, tenant_id="default", reason="both", actor="me")
    for policies in (({"name": "bird", "pattern": "falcon", "action": "mask"},), ()):
        want(home, *policies)
        keep_policies(home.bench)
        found = all_memories(home.bench.index)
        assert [memory.status for memory in found] == ["active", "active"]
        assert all(("[MASKED:bird:1]" in one.content) == bool(policies) for one in found)
        rebuild(home.bench)
        assert all_memories(home.bench.index) == found
        assert audit(home.bench) == []


def test_deleting_needs_a_reason_and_a_memory_of_the_tenant(home: Home):
    tell(home, "a", REDIS)
    do_all(home)
    memory_id = saying(home, REDIS).memory_id
    who = {"actor": "me", "reason": "wrong"}
    with pytest.raises(UsageError, match="--reason"):
        people.delete(home.bench, memory_id, tenant_id="default", reason=" ", actor="me")
    for tenant, wanted in (("other", memory_id), ("default", "mem_none")):
        with pytest.raises(UsageError, match="no memory"):
            people.delete(home.bench, wanted, tenant_id=tenant, **who)
    with pytest.raises(UsageError, match="was not deleted"):
        people.undelete(home.bench, memory_id, tenant_id="default", **who)
    people.delete(home.bench, memory_id, tenant_id="default", **who)
    with pytest.raises(UsageError, match="deleted already"):
        people.delete(home.bench, memory_id, tenant_id="default", **who)


KEEP_30_DAYS = [{"memory_type": "decision", "days": 30}]


def statuses(home: Home) -> dict[str, str]:
    return {
        one.content: one.status
        for one in all_memories(home.bench.index)
        if "Decision" in one.content
    }


def test_memories_expire_by_event_time_and_only_upkeep_and_runs_move_the_cutoff(home: Home):
    now = home.clock()
    tell_at(home, "a", REDIS, datetime(2026, 1, 1, tzinfo=UTC), 100)
    tell_at(home, "b", KAFKA, datetime(2026, 1, 20, tzinfo=UTC), 200)
    tell_at(home, "c", FALCON, datetime(2026, 2, 20, tzinfo=UTC), 300)
    do_all(home)
    assert statuses(home) == {REDIS: "superseded", KAFKA: "active", FALCON: "active"}
    want(home, retention=KEEP_30_DAYS)
    rebuild(home.bench)  # moves no cutoff
    assert statuses(home)[KAFKA] == "active"
    assert keep_policies(home.bench).cutoffs_moved == 1
    assert statuses(home) == {REDIS: "superseded", KAFKA: "expired", FALCON: "active"}
    assert KAFKA in recalled(home, "job queue", status="expired")
    assert KAFKA not in recalled(home, "job queue")
    assert KAFKA not in recalled(home, "job queue", valid_at=now)
    assert audit(home.bench) == []
    rebuild(home.bench)
    assert statuses(home)[KAFKA] == "expired"

    home.clock.move(days=30)
    assert audit(home.bench) == []  # the clock alone changes nothing
    assert statuses(home)[FALCON] == "active"
    keep_policies(home.bench)
    assert statuses(home) == {REDIS: "superseded", KAFKA: "expired", FALCON: "expired"}

    want(home, retention=[{"memory_type": "decision", "days": 3_650}])
    assert keep_policies(home.bench).cutoffs_moved == 0
    want(home)
    keep_policies(home.bench)
    assert statuses(home)[FALCON] == "expired"
    tell_at(home, "d", FALCON, home.clock(), 900)  # said again: it holds
    do_all(home)
    assert statuses(home)[FALCON] == "active"
    assert audit(home.bench) == []


def test_what_arrives_late_expires_at_once_and_other_types_do_not(home: Home):
    want(home, retention=[{"memory_type": "preference", "days": 30}])
    assert keep_policies(home.bench).cutoffs_moved == 1  # of a home without any trail
    home.clock.move(seconds=1)
    tell_at(home, "z", FALCON, datetime(2026, 2, 27, tzinfo=UTC), 50)
    do_all(home)
    keep_policies(home.bench)
    tell_at(home, "a", REDIS, datetime(2026, 1, 1, tzinfo=UTC), 100)
    do_all(home)
    assert statuses(home)[REDIS] == "active"
    want(home, retention=KEEP_30_DAYS)
    keep_policies(home.bench)
    assert statuses(home)[REDIS] == "expired"
    tell_at(home, "b", WIFE, datetime(2026, 1, 2, tzinfo=UTC), 200)
    do_all(home)
    assert statuses(home)[WIFE] == "expired"
    assert audit(home.bench) == []


def test_the_command_line_deletes_lists_and_brings_back(tmp_path):
    trails, where = tmp_path / "t", ("--home", tmp_path / "home")
    trails.mkdir()
    (trails / "a.jsonl").write_bytes(joined([prompt("What now?", 1), reply(REDIS, 2)]))
    source = ("--source", f"claude_code={trails}")
    assert call("run", *where, *source, "--flush", "--json").code == 0

    def found(*more: str) -> list[str]:
        return [one["content"] for one in call("recall", "job queue", "--json", *more, *where).json]

    [memory_id] = [
        one["memory_id"]
        for one in call("memories", "--json-lines", *where).rows
        if one["content"] == REDIS
    ]
    refused = call("delete", memory_id, *where)
    assert refused.code == 2
    assert "--reason" in refused.said
    assert b"is deleted" in call("delete", memory_id, "--reason", "wrong", *where).stdout
    assert REDIS not in found()
    assert found("--status", "deleted") == [REDIS]
    [listed] = [
        one for one in call("decisions", "--json", *where).json if one["decision_id"] == memory_id
    ]
    assert (listed["reason"], listed["statements"]) == ("wrong", [REDIS])
    assert b"is active" in call("undelete", memory_id, *where).stdout
    assert REDIS in found()
