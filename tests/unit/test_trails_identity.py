"""Identities fit the ledger's column, whatever a trail calls a uuid."""

from memclaw_etl.trails.identity import uuid_identity

ODD = ["x" * 101, "x" * 100_000, "a\x00b", "a\x00c", "", " ", "é", "a b", "\u2028"]


def test_a_uuid_stands_as_it_is() -> None:
    uuid = "00000000-0000-4000-8000-000000000001"
    assert uuid_identity(uuid) == f"uuid:{uuid}"


def test_odd_ones_stay_different_and_fit() -> None:
    identities = {uuid_identity(uuid) for uuid in [*ODD, "x" * 100]}
    assert len(identities) == len(ODD) + 1
    assert all(len(one) <= 128 and one.isascii() and one.isprintable() for one in identities)
