"""The 14 memory types: which are folded, which are reserved, and where they enter."""

from typing import get_args

import pytest

from memclaw_etl.errors import InvariantError, UsageError
from memclaw_etl.interview.report import MEMORY_TYPE
from memclaw_etl.memories.enrich import HALF_LIFE_DAYS
from memclaw_etl.memories.types import (
    DEPRECATED,
    RESERVED,
    STORED,
    MemoryType,
    check_from_outside,
    fold,
)
from memclaw_etl.tenant_settings import MemoryTypeName
from tests.unit.memory_values import an_item


def test_there_are_14_types_and_the_settings_know_the_same():
    assert len(MemoryType) == 14
    assert set(get_args(MemoryTypeName)) == set(MemoryType)
    assert len(STORED) == 10
    assert set(HALF_LIFE_DAYS) == set(STORED)
    assert set(MEMORY_TYPE.values()) <= set(STORED)


@pytest.mark.parametrize("name", ["semantic", "intention", "commitment", "cancellation"])
def test_deprecated_types_are_facts(name):
    assert MemoryType(name) in DEPRECATED
    assert fold(name) == "fact"
    assert check_from_outside(name) == "fact"
    with pytest.raises(InvariantError, match="expected one of fact, episode"):
        an_item(memory_type=name)


@pytest.mark.parametrize("name", ["outcome", "rule", "insight"])
def test_reserved_types_come_from_inside_only(name):
    assert MemoryType(name) in RESERVED
    assert fold(name) == name
    assert an_item(memory_type=name).memory_type == name
    with pytest.raises(UsageError, match=r"reserved.*fact, episode, decision") as caught:
        check_from_outside(name)
    assert "insight" not in str(caught.value).split("expected")[1]


def test_every_other_type_is_its_own():
    for name in set(STORED) - RESERVED:
        assert fold(name) == check_from_outside(name) == name


@pytest.mark.parametrize("name", ["", "Fact", "memory", "x" * 500])
def test_an_unknown_type_is_refused_with_the_known_ones(name):
    for check in (fold, check_from_outside):
        with pytest.raises(UsageError, match=r"expected one of fact, episode.*insight") as caught:
            check(name)
        assert len(str(caught.value)) < 300
