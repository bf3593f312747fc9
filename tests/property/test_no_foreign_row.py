"""Two tenants, three namespaces each: no row of another scope, through any reading interface."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memclaw_etl.cli.show import plain
from memclaw_etl.errors import NotGrantedError, UsageError
from memclaw_etl.lake.views import VIEWS
from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.service.grants import Grant, grant_for
from memclaw_etl.service.lineage import lineage
from memclaw_etl.service.recalling import (
    Asked,
    Question,
    answer_all,
    ask,
    ask_for_markdown,
    list_memories,
)
from memclaw_etl.service.relations import decided
from memclaw_etl.service.sql import sql, sql_over_everything
from tests.cli import call
from tests.shared_home import READERS, SCOPES, TENANTS, foreign_marks, made, mark

NAMESPACES = sorted({namespace for _, namespace in SCOPES})
NOW = datetime(2026, 2, 3, tzinfo=UTC)
GRANTS = {
    **{name: Grant(tenant_id=tenant) for name, tenant in (("a", "acme"), ("b", "Acme"))},
    **{
        name: Grant(tenant_id=tenant, namespaces=names and frozenset(names), reader=name)
        for name, (tenant, names) in READERS.items()
    },
}
slow = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return made(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def memory_ids(shared):
    return sorted(memory.memory_id for memory in all_memories(shared.bench.index))


def shown(grant, value, *, asked=""):
    """What was given, after a check that nothing of another scope is in it but what was asked."""
    names = None if grant.namespaces is None else tuple(grant.namespaces)
    text = json.dumps(value, default=plain, ensure_ascii=False)
    found = [word for word in foreign_marks(grant.tenant_id, names) if word in text]
    assert not [word for word in found if word not in asked], f"{grant} sees {found}"
    if names is not None:
        foreign = [one for one in NAMESPACES if one not in names and re.search(rf"\b{one}\b", text)]
        assert not [one for one in foreign if one not in asked], f"{grant} sees {foreign}"
    return value


def refused(grant, error, *, asked=()):
    """An error tells as little as an answer."""
    shown(grant, str(error), asked=" ".join(one for one in asked if isinstance(one, str)))


odd = st.text(max_size=12) | st.sampled_from(
    [
        "'",
        "\0",
        "%",
        "_",
        "' OR '1'='1",
        "red' OR tenant_id <> '",
        "--",
        "\uff52\uff45\uff44",
        "RED",
        "red ",
        "x" * 5000,
    ]
)
grants = st.sampled_from(sorted(GRANTS)).map(GRANTS.get)
marks = st.sampled_from([mark(*scope) for scope in SCOPES])
words = st.sampled_from(
    ["queue", "Kafka", "export", "changelog", "last week", "in February 2026", "OR", "*"]
)
texts = st.lists(marks | words | odd, min_size=1, max_size=4).map(" ".join)
nodes = st.sampled_from(["moving-trail", *(f"{mark(*scope)}-trail" for scope in SCOPES)])
times = st.integers(-3, 3).map(lambda days: NOW + timedelta(days=days))
filters = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "namespace": st.sampled_from(NAMESPACES) | odd,
        "node": nodes | odd,
        "memory_type": st.sampled_from(["decision", "fact", "preference"]) | odd,
        "status": st.sampled_from(["active", "superseded", "any"]) | odd,
        "since": times,
        "until": times,
        "valid_at": times,
        "chars": st.integers(1, 2_000),
        "k": st.integers(1, 60),
    },
)


@pytest.fixture(scope="module")
def node_ids(shared):
    rows = sql_over_everything(shared.bench, "select distinct node_id from nodes").to_dicts()
    return {row["node_id"].rpartition(":")[2]: row["node_id"] for row in rows}


@slow
@given(grant=grants, asked=filters)
def test_recall(shared, node_ids, grant, asked):
    asked = asked | {"node": node_ids.get(asked.get("node"), asked.get("node"))}
    for answered in (ask, ask_for_markdown):
        try:
            shown(grant, answered(shared.bench, grant, Asked(**asked)))
        except UsageError as error:
            refused(grant, error, asked=asked.values())


@slow
@given(grant=grants, question=texts, conversation=st.none() | nodes | odd, k=st.integers(1, 50))
@example(grant=GRANTS["red-agent"], question="queue", conversation="", k=1)
def test_recall_of_a_file_of_questions(shared, grant, question, conversation, k):
    asked = [Question("q", question, conversation)]
    try:
        [row] = answer_all(shared.bench, grant, asked, k=k)
    except UsageError as error:
        refused(grant, error, asked=[conversation])
        return
    if conversation is not None and grant.namespaces is not None:
        assert "moving" in conversation or any(
            conversation == f"{mark(grant.tenant_id, one)}-trail"
            for one in grant.namespaces
            if (grant.tenant_id, one) in SCOPES
        )
    own = {tuple(one["lines"]) for one in list_memories(shared.bench, grant)}
    assert {tuple(seqs) for seqs in row["ranked"]} <= own


@pytest.mark.parametrize("name", sorted(GRANTS))
def test_lists_ids_and_decisions(shared, memory_ids, name):
    grant = GRANTS[name]
    own = {one["memory_id"] for one in shown(grant, list(list_memories(shared.bench, grant)))}
    assert bool(own) == (name != "waiting-agent")
    shown(grant, decided(shared.bench, grant))
    for memory_id in memory_ids:
        if memory_id in own:
            traced = shown(grant, lineage(shared.bench, grant, memory_id).as_json())
            assert traced["items"]
            continue
        with pytest.raises(NotGrantedError, match=f"no memory {memory_id}"):
            lineage(shared.bench, grant, memory_id)


@slow
@given(grant=grants, memory_id=odd)
@example(grant=GRANTS["a"], memory_id="' OR '1'='1")
@example(grant=GRANTS["red-agent"], memory_id="x') OR true --")
def test_lineage_of_odd_ids(shared, grant, memory_id):
    with pytest.raises(UsageError):
        lineage(shared.bench, grant, memory_id)


# -- sql -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(GRANTS))
def test_every_view_holds_only_what_is_granted(shared, name):
    grant, seen = GRANTS[name], set()
    for view in VIEWS:
        try:
            rows = sql(shared.bench, grant, f"select * from {view}").to_dicts()
        except UsageError as error:
            refused(grant, error)
            continue
        shown(grant, rows)
        seen.add(view)
        for row in rows:
            assert row.get("tenant_id", grant.tenant_id) == grant.tenant_id
            if grant.namespaces is not None:
                assert row.get("namespace") in {None, *grant.namespaces}
    contract = {"nodes", "windows", "watermarks", "chunks", "mini_reports", "items", "memories"}
    own = {"batches", "decisions", "reinterviews", "governed_items", "retention_cutoffs"}
    own = own if grant.namespaces is None else set()
    assert seen == contract | own


def test_the_operator_sees_everything_when_it_is_asked_for(shared):
    for view in VIEWS:
        sql_over_everything(shared.bench, f"select * from {view}")
    rows = sql_over_everything(shared.bench, "select distinct tenant_id, namespace from memories")
    assert {(row["tenant_id"], row["namespace"]) for row in rows.to_dicts()} == set(SCOPES)
    one = sql(shared.bench, GRANTS["a"], "select count(*) from chunks").item()
    other = sql(shared.bench, GRANTS["b"], "select count(*) from chunks").item()
    every = sql_over_everything(shared.bench, "select count(*) from chunks").item()
    assert one + other == every


views = st.sampled_from(VIEWS)
ATTEMPTS = (
    "select * from {view} where true or tenant_id <> 'x'",
    "select * from {view} union all select * from {view}",
    "select * from {view}; select * from {view} -- ' or 1=1",
    "/* {view} */ select * from {other}",
    "from {view}",
    "select {view} from {view}",
    "select * from query_table('{view}')",
    "select * from query('select * from {view}')",
    "create or replace view {view} as select * from {other}; from {view}",
    "drop view {view}; select * from {view}",
    "select sql from duckdb_views()",
    "select * from duckdb_settings()",
    "select * from duckdb_columns()",
    "summarize {view}",
    "select * from read_parquet('{lake}/stages/*/*/*.parquet')",
    "select * from '{file}'",
    "select * from read_parquet('{file}')",
    "select * from parquet_metadata('{file}')",
    "select * from parquet_kv_metadata('{file}')",
    "select * from read_text('{file}')",
    "select * from read_blob('{home}/ledger.sqlite')",
    "select * from sqlite_scan('{home}/ledger.sqlite', 'nodes')",
    "select * from glob('{lake}/**')",
    "select * from glob('{home}/*')",
    "select * from read_csv('{home}/memclaw.toml')",
    "select * from sniff_csv('{home}/memclaw.toml')",
    "select * from read_json('{home}/memclaw.toml')",
    "attach '{home}/ledger.sqlite' as l (type sqlite); select * from l.nodes",
    "attach '{lake}/x.duckdb' as x",
    "copy {view} to '{lake}/stolen.parquet'",
    "copy (select 1) to '{file}'",
    "export database '{lake}/out'",
    "import database '{lake}'",
    "set enable_external_access = true; select * from '{file}'",
    "reset enable_external_access; select * from '{file}'",
    "set lock_configuration = false",
    "set allowed_directories = ['{lake}']",
    "pragma enable_profiling; pragma profiling_output='{lake}/p.json'; select 1",
    "install sqlite; load sqlite",
    "load '{lake}/x.duckdb_extension'",
    "create secret s (type s3)",
    "select getenv('HOME')",
    "select * from lake",
    "select * from connection",
    "select * from frame",
    "select * from python_arrow_scan()",
    "prepare p as select * from {view}; execute p",
    "explain analyze select * from {view}",
    "select error('x' || (select string_agg(content, ' ') from {view}))",
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    grant=grants, attempt=st.sampled_from(ATTEMPTS), view=views, other=views, tail=st.just("") | odd
)
def test_sql_reaches_nothing_around_the_views(shared, grant, attempt, view, other, tail):
    lake = shared.path / "lake"
    files = sorted(lake.glob("stages/*/*/*.parquet"))
    statement = attempt.format(
        view=view, other=other, lake=lake, home=shared.path, file=files[len(tail) % len(files)]
    )
    try:
        shown(grant, sql(shared.bench, grant, statement + tail).to_dicts())
    except UsageError as error:
        refused(grant, error, asked=[tail])
    assert sorted(lake.glob("stages/*/*/*.parquet")) == files
    assert not (lake / "stolen.parquet").exists()
    assert not (lake / "p.json").exists()


@pytest.mark.parametrize("attempt", [one for one in ATTEMPTS if "{file}" in one or "{home}" in one])
def test_sql_opens_no_file(shared, attempt):
    lake = shared.path / "lake"
    file = next(lake.glob("stages/*/*/*.parquet"))
    statement = attempt.format(lake=lake, home=shared.path, file=file)
    before = file.read_bytes()
    with pytest.raises(UsageError):
        sql_over_everything(shared.bench, statement)
    assert file.read_bytes() == before


# -- who reads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("namespace", [*NAMESPACES, "nowhere", ""])
def test_foreign_and_unknown_namespaces_are_one_error_and_never_an_empty_list(
    shared, name, namespace
):
    grant = grant_for(shared.bench, reader=name, tenant_id=None)
    known = grant.namespaces or TENANTS[grant.tenant_id]
    asked = Asked(text="queue", namespace=namespace)
    if namespace in known:
        hits = ask(shared.bench, grant, asked).answers
        assert {hit["namespace"] for hit in hits} == (
            {namespace} if name != "waiting-agent" else set()
        )
        return
    with pytest.raises(NotGrantedError) as refusal:
        ask(shared.bench, grant, asked)
    with pytest.raises(NotGrantedError) as unknown:
        ask(shared.bench, grant, Asked(text="queue", namespace="xyz"))
    assert str(refusal.value) == str(unknown.value).replace("'xyz'", repr(namespace))
    with pytest.raises(NotGrantedError):
        list(list_memories(shared.bench, grant, namespace=namespace))


def test_foreign_and_unknown_nodes_are_one_error(shared, node_ids):
    grant = GRANTS["red-agent"]
    errors = set()
    for node in (node_ids[f"{mark('acme', 'blue')}-trail"], "cc:nowhere"):
        with pytest.raises(NotGrantedError) as refusal:
            ask(shared.bench, grant, Asked(text="queue", node=node))
        errors.add(str(refusal.value).replace(node, "NODE"))
    assert len(errors) == 1


def test_a_reader_has_the_tenant_it_was_granted_and_no_other(shared):
    assert grant_for(shared.bench, reader="violet-agent", tenant_id=None) == GRANTS["violet-agent"]
    with pytest.raises(NotGrantedError, match="was not granted tenant 'acme'"):
        grant_for(shared.bench, reader="violet-agent", tenant_id="acme")
    with pytest.raises(UsageError, match="no \\[\\[grants\\]\\] for reader ''"):
        grant_for(shared.bench, reader="", tenant_id=None)
    with pytest.raises(NotGrantedError, match="there is no tenant 'ACME'"):
        grant_for(shared.bench, reader=None, tenant_id="ACME")


def test_no_grant_without_a_tenant_or_of_nothing():
    with pytest.raises(UsageError):
        Grant(tenant_id="")
    with pytest.raises(UsageError):
        Grant(tenant_id="acme", namespaces=frozenset())


# -- the command line ------------------------------------------------------------------------------


COMMANDS = (
    ("recall", "queue"), ("recall", "queue", "--json"), ("recall", "queue", "--format", "markdown"),
    ("memories",), ("memories", "--json-lines"), ("decisions",), ("decisions", "--json"),
    ("sql", "select * from memories"), ("sql", "select * from chunks", "--json"),
    ("sql", "select * from nodes", "--json"), ("sql", "select * from windows", "--json"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_as_a_reader(shared, command):
    for name in ("warm-agent", "violet-agent"):
        grant = GRANTS[name]
        done = call(*command, "--as", name, "--home", shared.path)
        assert done.code == 0, done.said
        own = [mark(grant.tenant_id, one) for one in grant.namespaces]
        assert any(word.encode() in done.stdout for word in own)
        shown(grant, done.stdout.decode() + done.said)


def test_lineage_and_filters_on_the_command_line(shared, memory_ids, monkeypatch):
    monkeypatch.setenv("MEMCLAW_READER", "red-agent")
    own = [one["memory_id"] for one in call("memories", "--json-lines", "--home", shared.path).rows]
    assert call("lineage", own[0], "--home", shared.path, "--json").code == 0
    foreign = next(one for one in memory_ids if one not in own)
    for command in (
        ("lineage", foreign), ("recall", "x", "--namespace", "green"), ("recall", "x", "--node", "n"),
        ("recall", "x", "--tenant", "Acme"), ("memories", "--namespace", "blue"),
        ("sql", "select 1", "--all-tenants"),
    ):  # fmt: skip
        done = call(*command, "--home", shared.path)
        assert (done.code, done.stdout) == (2, b""), command
