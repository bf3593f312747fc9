"""Which rows of the ledger a tenant or a reader is shown, on both databases."""

import pytest
from sqlalchemy import insert

from memclaw_etl.lake.ledger import Claim, Ledger, Node, Stage, nodes, pins, results, shown, windows
from memclaw_etl.lake.ledger.schema import watermarks
from memclaw_etl.lake.ledger.shown import Part, Shown
from memclaw_etl.lake.ledger.tables import ledger_frame
from memclaw_etl.memories.items import scopes_prefix
from tests.ledger_rows import add_node, ask, frontier_behind, window_row


def pin_in(ledger: Ledger, node: Node, project: str | None) -> str:
    """Pin a window of a project; gives its key."""
    row = window_row(ledger, node, lines=10) | {"project": project}
    claims = [Claim(identity=f"uuid:{row['window_id']}", seq=row["cursor_from"], part=0)]
    with ledger.write() as tx:
        assert pins.pin(tx, node, row, claims, frontier=frontier_behind(row)) is not None
    return str(row["partition_key"])


@pytest.fixture
def rows(ledger: Ledger) -> Ledger:
    for tenant in ("acme", "Acme"):
        for project in ("/srv/red", "/srv/green", None):
            pin_in(ledger, add_node(ledger, f"n-{project}", tenant_id=tenant), project)
    return ledger


def part(*, without_project: bool = False) -> Part:
    return Part(
        namespaces=frozenset({"red"}),
        scopes=frozenset({scopes_prefix("acme") + "red"}),
        projects=frozenset({"/srv/red"}),
        without_project=without_project,
    )


def seen(ledger: Ledger, of: Shown) -> list[tuple[str, str | None]]:
    frame = ledger_frame(ledger, "windows", where=shown.condition("windows", of))
    return sorted(
        zip(frame["tenant_id"], frame["project"], strict=True), key=lambda one: one[1] or ""
    )


def test_tenants_whose_names_differ_in_case_alone_are_two(rows: Ledger) -> None:
    for tenant in ("acme", "Acme"):
        found = seen(rows, Shown(tenant_id=tenant))
        assert found == [(tenant, None), (tenant, "/srv/green"), (tenant, "/srv/red")]
        with rows.write() as tx:
            results.replace_items(
                tx, f"w-{tenant}",
                [{"item_id": "i", "group_key": "g", "scope": f"{tenant}/of-{tenant}"}],
            )  # fmt: skip
    with rows.read() as tx:
        assert results.scopes(tx, "acme/") == ["acme/of-acme"]
        assert shown.has_scope(tx, "Acme/of-Acme")
        assert not shown.has_scope(tx, "acme/of-Acme")
        assert shown.tenants(tx) == {"acme", "Acme"}
        assert shown.projects(tx, "acme") == {None, "/srv/red", "/srv/green"}


def test_a_part_is_its_projects_windows_and_nodes(rows: Ledger) -> None:
    of = Shown(tenant_id="acme", part=part())
    assert seen(rows, of) == [("acme", "/srv/red")]
    more = Shown(tenant_id="acme", part=part(without_project=True))
    assert seen(rows, more) == [("acme", None), ("acme", "/srv/red")]
    with rows.read() as tx:
        assert shown.node_ids(tx, of) == {"n-/srv/red"}
        assert shown.has_node(tx, of, "n-/srv/red")
        assert not shown.has_node(tx, of, "n-/srv/green")
        assert shown.paths(tx, "acme", {"n-/srv/red", "n"}).keys() == {"n-/srv/red"}


def test_a_window_with_items_of_another_namespace_is_not_of_the_part(rows: Ledger) -> None:
    of = Shown(tenant_id="acme", part=part())
    frame = ledger_frame(rows, "windows", where=shown.condition("windows", of))
    window_id, key = frame["window_id"][0], frame["partition_key"][0]
    item = {"item_id": "i", "group_key": "g"}
    with rows.write() as tx:
        results.replace_items(tx, window_id, [{**item, "scope": "acme/red"}])
    assert seen(rows, of)
    with rows.write() as tx:
        results.replace_items(tx, window_id, [{**item, "scope": "acme/blue"}])
    assert seen(rows, of) == []
    with rows.read() as tx:
        assert shown.partition_keys(tx, of, [key]) == set()
        assert shown.partition_keys(tx, Shown(tenant_id="acme"), [key]) == {key}
        assert shown.files(tx, Stage.MASKED_CHUNKS, of) == []


def test_a_batch_of_two_tenants_is_shown_to_neither(rows: Ledger) -> None:
    with rows.read() as tx:
        every = windows.all_windows(tx)
    mine = ask(rows, [one for one in every if one.tenant_id == "acme"])
    ask(rows, every)
    frame = ledger_frame(rows, "batches", where=shown.condition("batches", Shown(tenant_id="acme")))
    assert frame["batch_id"].to_list() == [mine]
    other = shown.condition("batches", Shown(tenant_id="Acme"))
    assert ledger_frame(rows, "batches", where=other).height == 0


def test_what_belongs_to_no_tenant_has_no_rule() -> None:
    for of in (Shown(tenant_id="acme"), Shown(tenant_id="acme", part=part())):
        for table in ("leases", "breakers", "model_spending", "model_jobs", "tombstones"):
            assert table not in shown.tables(of)
            with pytest.raises(KeyError):
                shown.condition(table, of)


def test_the_watermark_of_a_shared_node_is_not_shown(ledger: Ledger) -> None:
    """It would tell how far the trail goes on in other namespaces."""
    for name, projects in (
        ("own", ["/srv/red", "/srv/red"]),
        ("shared", ["/srv/red", "/srv/green"]),
        ("foreign", ["/srv/green"]),
        ("half", ["/srv/red", None]),
    ):
        node = add_node(ledger, name, tenant_id="acme")
        for project in projects:
            pin_in(ledger, node, project)
            with ledger.read() as tx:
                node = nodes.get(tx, "acme", name)
        with ledger.write() as tx:
            tx.execute(
                insert(watermarks).values(
                    tenant_id="acme", node_id=name, epoch=0, doc_id=name, last_seq=19,
                    last_interview_at=ledger.now(),
                )
            )  # fmt: skip
    of = Shown(tenant_id="acme", part=part())
    frame = ledger_frame(ledger, "watermarks", where=shown.condition("watermarks", of))
    assert frame["node_id"].to_list() == ["own"]
    more = shown.condition("watermarks", Shown(tenant_id="acme", part=part(without_project=True)))
    assert set(ledger_frame(ledger, "watermarks", where=more)["node_id"]) == {"own", "half"}


def test_of_a_shared_node_only_what_names_it_is_shown() -> None:
    """The decoder of some trails carries the project folder from window to window."""
    whole, some = Shown(tenant_id="acme"), Shown(tenant_id="acme", part=part())
    for table in ("nodes", "windows"):
        assert "decoder_state" in shown.columns(table, whole)
        assert "decoder_state" not in shown.columns(table, some)
    hidden = {"problem", "head_seq", "frontier_seq", "root", "real_path", "unknown"}
    assert hidden <= set(shown.columns("nodes", whole))
    assert not hidden & set(shown.columns("nodes", some))
