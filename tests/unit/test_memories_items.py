from datetime import UTC, datetime

import pytest

from memclaw_etl.errors import InvariantError
from memclaw_etl.memories.items import group_key, item_id_for, scope_of
from tests.unit.memory_values import an_item


def test_item_id_is_a_function_of_tenant_attempt_and_content():
    given = {"tenant_id": "t", "attempt_id": "a", "content": "c"}
    ids = {item_id_for(**given)} | {item_id_for(**given | {name: "other"}) for name in given}
    assert len(ids) == 4
    assert item_id_for(**given) == item_id_for(**given)
    assert all(item_id.startswith("it_") for item_id in ids)


def test_parts_of_an_id_do_not_run_into_each_other():
    left = item_id_for(tenant_id="ab", attempt_id="c", content="d")
    assert left != item_id_for(tenant_id="a", attempt_id="bc", content="d")


def test_case_and_white_space_do_not_make_another_group():
    same = {group_key(an_item(content=c)) for c in ("We use X", "we  use\nx", " WE USE X ")}
    assert len(same) == 1


@pytest.mark.parametrize(
    "change",
    [{"tenant_id": "u"}, {"namespace": "p"}, {"memory_type": "task"}, {"content": "other"}],
)
def test_scope_type_and_words_make_another_group(change):
    assert group_key(an_item()) != group_key(an_item(**change))


def test_a_time_without_zone_is_refused():
    an_item(ts_start=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(InvariantError, match="aware"):
        an_item(ts_start=datetime(2026, 1, 1))  # noqa: DTZ001  the point of the test


def test_scopes_of_two_tenants_never_meet():
    given = [("a", "b/c"), ("a/b", "c"), ("a/b/c", ""), ("a%2Fb", "c"), ("a", "b%2Fc")]
    scopes = {scope_of(an_item(tenant_id=t, namespace=n)) for t, n in given}
    assert len(scopes) == len(given)
    assert scope_of(an_item(namespace="shop")) == "default/shop"
