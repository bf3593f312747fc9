"""Another embedding model in the settings, and what happens to the memories that are there."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memclaw_etl.errors import BusyError, EndpointError, HomeMismatchError, SettingsError
from memclaw_etl.lake.ledger import Ledger, Stage, embedded, spending
from memclaw_etl.lake.memory_maker import open_as_made
from memclaw_etl.lake.memory_rows import VECTOR
from memclaw_etl.memories.recall import RecallQuery
from memclaw_etl.service import asking, planning
from memclaw_etl.service.asking import answer
from memclaw_etl.service.forgetting import forget
from memclaw_etl.service.rebuild import rebuild
from memclaw_etl.service.reembed import plan, reembed
from memclaw_etl.service.remask import alone
from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.embedding import other_model_made_it
from tests.embedding_desk import Odd, normal
from tests.ledger_rows import again
from tests.openai_server import ModelServer
from tests.staged import Home, home, states

__all__ = ["home"]
PACKAGED = "all-MiniLM-L6-v2-onnx-int8"
KILLED = Path(__file__).with_name("reembed_killed.py")


@pytest.fixture
def server():
    with ModelServer().running() as running:
        yield running


def using(home: Home, **embedding) -> Home:
    """The same home in another process, with another section [embedding]."""
    settings = load_settings(
        home.bench.settings.home, sources=home.bench.settings.sources, embedding=embedding
    )
    bench = Bench(settings)
    bench.__dict__["ledger"] = Ledger(home.ledger.engine, home.ledger.ledger_id, home.clock)
    return Home(bench, home.clock, home.trails, runs=home.runs + 100)


def at(server: ModelServer, **change) -> dict:
    return {
        "provider": "openai", "model": "m", "base_url": server.url, "max_retries": 0,
        "timeout_s": 5.0, "batch_texts": 2,
    } | change  # fmt: skip


def filled(home: Home, *names: str) -> Home:
    for name in names or ("a", "b"):
        home.talk(name)
    assert not home.run(home.pin()).failed
    return home


def rows(bench: Bench) -> dict[str, dict]:
    index = open_as_made(bench.index_uri, ledger_id=bench.ledger.ledger_id)
    vectors = index.every_row(["memory_id", VECTOR]).to_pylist()
    at = {row["memory_id"]: row for row in vectors}
    return {row["memory_id"]: row | at[row["memory_id"]] for row in index.every_row().to_pylist()}


def without_vectors(table: dict[str, dict]) -> dict[str, dict]:
    own = {VECTOR, "embedding_model", "embedding_dimension"}
    return {key: {k: v for k, v in row.items() if k not in own} for key, row in table.items()}


def ask(bench: Bench, text="which plan for topic a 1?") -> list[str]:
    query = RecallQuery(text=text, tenant_id="default", k=3)
    return [hit.memory.content for hit in answer(bench, [query])[0]]


def test_reembed_gives_new_vectors_and_changes_nothing_else(home, server):
    before = rows(filled(home).bench)
    new = using(home, **at(server))
    done = reembed(new.bench)
    assert (done.old_model, done.old_dimension) == (PACKAGED, 384)
    assert (done.new_model, done.new_dimension) == ("openai:m", 24)
    assert done.memories == len(before)
    after = rows(new.bench)
    assert without_vectors(after) == without_vectors(before)
    contents = [row["content"] for row in after.values()]
    vectors = np.array([row[VECTOR] for row in after.values()])
    np.testing.assert_allclose(vectors, normal(contents, 24), rtol=1e-5)
    assert {row["embedding_model"] for row in after.values()} == {"openai:m"}
    assert {row["embedding_dimension"] for row in after.values()} == {24}
    assert server.embeddings.embedded.keys() == {*contents, "dimension"}
    assert max(server.embeddings.embedded.values()) == 1


def test_after_it_runs_recall_and_rebuild_go_on_with_the_new_model(home, server):
    new = using(filled(home), **at(server))
    reembed(new.bench)
    assert other_model_made_it(new.bench) is None
    new.talk("c")
    assert not new.run(new.pin()).failed
    assert len(ask(new.bench)) == 3
    table = rows(new.bench)
    assert {row["embedding_model"] for row in table.values()} == {"openai:m"}
    paid = server.embeddings.embedded.copy()
    assert rebuild(new.bench) == len(table)
    assert rows(new.bench) == table
    assert server.embeddings.embedded == paid  # nothing is paid for again


def test_until_then_writing_stops_with_what_to_do_and_recall_goes_on(home, server):
    asked = ask(filled(home).bench)
    new = using(home, **at(server))
    assert "`memclaw-etl reembed`" in other_model_made_it(new.bench)
    with pytest.raises(HomeMismatchError, match=r"openai:m \(24\); run `memclaw-etl reembed`"):
        _ = new.bench.index
    new.talk("c")
    due = new.pin()
    report = new.run(due)
    assert [failed.code for failed in report.failed] == ["HomeMismatch"]
    assert "memclaw-etl reembed" in report.failed[0].message
    assert again(new.ledger, due[0]).attempts == 0
    assert ask(new.bench) == asked
    assert server.embeddings.embedded.keys() == {"dimension"}  # no text was sent
    reembed(new.bench)
    home.clock.move(minutes=5)
    assert not new.run(new.pin()).failed
    assert states(new, due) == ["committed"]


def test_a_process_with_the_old_settings_stops_when_the_vectors_are_others(home, server):
    filled(home)
    _ = home.bench.index
    new = using(home, **at(server))
    reembed(new.bench)
    with pytest.raises(HomeMismatchError, match="reembed"):
        _ = home.bench.index
    with pytest.raises(HomeMismatchError, match="nothing is sent there any more"):
        ask(home.bench)
    reembed(home.bench)
    assert {row["embedding_model"] for row in rows(home.bench).values()} == {PACKAGED}
    assert not home.bench.vectors.root.exists()  # the packaged model keeps none
    assert len(ask(home.bench)) == 3


def test_an_earlier_model_of_the_same_endpoint_goes_on_answering(home, server):
    first = using(home, **at(server, model="first"))
    asked = ask(filled(first).bench)
    second = using(home, **at(server, model="second"))
    assert ask(second.bench) == asked
    assert {body["model"] for body in server.embeddings.bodies} == {"first"}
    reembed(second.bench)
    assert {body["model"] for body in server.embeddings.bodies} == {"first", "second"}
    assert ask(second.bench) == asked


def test_a_shorter_vector_of_the_same_model_is_another_model(home, server):
    filled(using(home, **at(server)))
    short = using(home, **at(server, dimension=16))
    assert other_model_made_it(short.bench) is not None
    assert len(ask(short.bench)) == 3
    reembed(short.bench)
    assert {row["embedding_dimension"] for row in rows(short.bench).values()} == {16}
    same = using(
        home, **at(server, dimension=16, base_url=server.url.replace("127.0.0.1", "localhost"))
    )
    assert other_model_made_it(same.bench) is None
    own = using(home, **at(server))
    assert other_model_made_it(own.bench) is not None
    with pytest.raises(HomeMismatchError, match="reembed"):
        _ = own.bench.index


def test_a_dry_run_counts_and_changes_nothing(home, server):
    before = rows(filled(home).bench)
    new = using(home, **at(server, price_per_million_tokens=2.0))
    planned = plan(new.bench)
    texts = {row["content"] for row in before.values()}
    assert planned.texts == planned.texts_missing == len(texts)
    assert planned.chars == planned.chars_missing == sum(map(len, texts))
    assert planned.tokens_estimate == planned.chars // 4
    assert planned.cost_estimate == pytest.approx(planned.tokens_estimate * 2e-6)
    assert not planned.is_done
    assert rows(new.bench) == before
    assert server.embeddings.embedded.keys() == {"dimension"}


def test_what_it_cost_stands_in_the_ledger(home, server):
    filled(home)
    new = using(home, **at(server, price_per_million_tokens=2.0))
    reembed(new.bench)
    with new.ledger.read() as tx:
        cost = spending.cost_of_day(tx, "2026-03-01")
    sent = sum(len(text) for body in server.embeddings.bodies for text in body["input"])
    assert 0 < cost <= sent / 4 * 2e-6


def test_without_memories_or_with_the_same_model_nothing_is_done(home, server):
    new = using(home, **at(server))
    assert reembed(new.bench).old_model is None
    done = reembed(filled(new).bench)
    assert (done.old_model, done.texts) == ("openai:m", 0)
    assert max(server.embeddings.embedded.values()) == 1


def test_other_settings_for_the_same_vectors_are_noted_and_runs_go_on(home, server):
    """As after a kill between the new rows and the note: the index is right, the note is not."""
    filled(using(home, **at(server, dimension=24)))
    new = using(home, **at(server))
    assert "`memclaw-etl reembed`" in other_model_made_it(new.bench)
    assert reembed(new.bench).texts == 0
    assert other_model_made_it(new.bench) is None


def test_an_index_without_rows_changes_its_model_too(home, server):
    assert home.bench.index.count() == 0
    new = using(home, **at(server))
    assert reembed(new.bench).old_model == PACKAGED
    assert new.bench.index.count() == 0


@pytest.mark.parametrize(
    ("point", "times"),
    [("put", 1), ("put", 3), ("_embed", 1), ("remake", 1), ("note_made_by", 1)],
)
def test_killed_half_way_it_goes_on_and_pays_for_nothing_twice(home, server, point, times):
    before = rows(filled(home).bench)
    command = [sys.executable, str(KILLED), str(home.bench.settings.home), server.url, point]
    root = str(Path(__file__).parents[2])
    killed = subprocess.run([*command, str(times)], cwd=root, env={"PYTHONPATH": root}, check=False)
    assert killed.returncode == -signal.SIGKILL
    new = using(home, **at(server))
    assert len(rows(new.bench)) == len(before)
    assert len(ask(new.bench)) == 3
    planned = plan(new.bench)
    reembed(new.bench)
    assert without_vectors(rows(new.bench)) == without_vectors(before)
    assert {row["embedding_model"] for row in rows(new.bench).values()} == {"openai:m"}
    assert other_model_made_it(new.bench) is None
    texts = {row["content"] for row in before.values()}
    paid = server.embeddings.embedded
    assert {text: paid[text] for text in texts} == dict.fromkeys(texts, 1)
    if point == "put":
        assert planned.texts_missing == len(texts) - 2 * times


def test_the_endpoint_fails_half_way_and_what_is_there_stays(home, server):
    before = rows(filled(home).bench)
    new = using(home, **at(server, concurrency=1))
    server.embeddings.planned += [Odd(), Odd(), *[Odd(status=503)] * 3]
    with pytest.raises(EndpointError, match="503"):
        reembed(new.bench)
    assert rows(new.bench) == before
    server.embeddings.planned.clear()
    reembed(new.bench)
    assert max(server.embeddings.embedded[row["content"]] for row in before.values()) == 1


def test_it_does_not_work_beside_a_remask_or_an_erasure(home, server):
    new = using(filled(home), **at(server))
    with alone(home.bench, "remask-other"), pytest.raises(BusyError, match="an erasure or a reem"):
        reembed(new.bench)


def test_an_erasure_removes_the_kept_vectors(home, server):
    new = filled(using(home, **at(server)))
    assert list(new.bench.vectors.root.rglob("*.f32"))
    memory_id = next(iter(rows(new.bench)))
    forget(new.bench, memory_id, tenant_id="default", reason="test", erase=True)
    assert not list(new.bench.vectors.root.rglob("*.f32"))


def test_while_the_endpoint_is_down_windows_wait_and_one_of_them_probes(home, server):
    new = using(home, **at(server))
    new.talk("a")
    new.talk("b")
    due = new.pin()
    server.embeddings.down = True
    report = new.run(due)
    assert {failed.code for failed in report.failed} == {"Endpoint"}
    assert {again(new.ledger, one).attempts for one in due} == {0}
    assert planning.owed(new.bench, limit=10) == []
    server.embeddings.down = False
    home.clock.move(minutes=2)
    probe = planning.owed(new.bench, limit=10)
    assert len(probe) == 1
    assert not new.run(probe).failed
    assert not new.run(planning.owed(new.bench, limit=10)).failed
    assert states(new, due) == ["committed", "committed"]
    with pytest.raises(EndpointError, match="cannot be reached"):
        ask(using(home, **at(server, base_url="http://127.0.0.1:9/v1")).bench)


def test_a_killed_run_does_not_pay_twice_for_what_was_embedded(home, server):
    new = using(home, **at(server, concurrency=1))
    new.talk("a")
    due = new.pin()
    server.embeddings.planned += [Odd(), Odd(), *[Odd(status=503)] * 3]
    assert new.run(due).failed
    server.embeddings.planned.clear()
    home.clock.move(minutes=5)
    assert not new.run(planning.owed(new.bench, limit=10)).failed
    assert max(server.embeddings.embedded.values()) == 1


def test_a_refused_key_costs_no_attempts(home, server):
    new = using(home, **at(server))
    new.talk("a")
    due = new.pin()
    server.embeddings.planned.append(Odd(status=401))
    report = new.run(due)
    assert [failed.code for failed in report.failed] == ["Settings"]
    assert again(new.ledger, due[0]).attempts == 0
    server.embeddings.planned.append(Odd(status=401))
    with pytest.raises(SettingsError):
        ask(using(home, **at(server, model="n")).bench)


def test_the_note_of_a_newer_program_is_no_note(home):
    _ = home.bench.index
    with home.ledger.write() as tx:
        embedded.note(tx, embedded.Embedded.model_construct(model_id="new", more="fields"))
    with home.ledger.read() as tx:
        assert embedded.noted(tx) is None
    assert other_model_made_it(home.bench) is None
    home.bench.open_index()
    with home.ledger.read() as tx:
        assert embedded.noted(tx).model_id == PACKAGED


def test_a_question_that_a_reembed_overtakes_is_asked_again(home, server, monkeypatch):
    first = using(home, **at(server, model="first"))
    asked = ask(filled(first).bench)
    second = using(home, **at(server, model="second"))
    looked, search = [], asking.recall_many

    def overtaken(index, embedder, queries):
        if not looked:
            reembed(second.bench)
        looked.append(embedder.model_id)
        return search(index, embedder, queries)

    monkeypatch.setattr(asking, "recall_many", overtaken)
    assert ask(second.bench) == asked
    assert looked == ["openai:first", "openai:second"]


def test_recall_says_when_the_endpoint_is_down_and_gives_no_half_answer(home, server):
    new = filled(using(home, **at(server)))
    server.embeddings.down = True
    with pytest.raises(EndpointError, match="503") as caught:
        ask(new.bench)
    assert caught.value.exit_code == 75


def test_a_question_is_masked_as_its_tenant_wants_before_it_leaves(home, server):
    new = filled(using(home, **at(server)))
    settings = new.bench.settings.model_copy(update={"personal_data": "mask"})
    bench = Bench(settings)
    secret = "hunter2" + "-Zx9q8w7e6"
    ask(bench, f"who is ann.lee@example.org, and what was DB_PASSWORD={secret} for?")
    (sent,) = server.embeddings.bodies[-1]["input"]
    assert sent.startswith("who is [MASKED:")
    assert "ann.lee" not in sent
    assert secret not in sent


def test_a_rebuild_takes_the_model_of_the_settings_as_well(home, server):
    filled(home)
    new = using(home, **at(server))
    assert rebuild(new.bench) == len(rows(new.bench)) > 0
    assert {row["embedding_model"] for row in rows(new.bench).values()} == {"openai:m"}
    assert other_model_made_it(new.bench) is None
    assert len(ask(new.bench)) == 3


def test_stages_know_which_model_they_were_done_with(home, server):
    new = filled(using(home, **at(server)), "a")
    done = new.reports[Stage.MEMORIES].done
    assert [one.counts["embedding_model"] for one in done] == ["openai:m"]
