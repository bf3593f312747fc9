"""Partition keys: every wire id has exactly one key, and nothing else is a key."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memclaw_etl.errors import UnknownWindowError
from memclaw_etl.settings import DEFAULT_TENANT
from memclaw_etl.windows.keys import WindowKey, decode, encode, encode_node

SPECIAL = "/~@%.:-+ \n\r\t\x00*?\\'\"0123"
LETTERS = st.one_of(
    st.sampled_from(SPECIAL),
    st.characters(),
    st.characters(categories=["Cs"]),  # lone surrogates
)
IDS = st.text(LETTERS, min_size=1, max_size=200)
NUMBERS = st.integers(min_value=0, max_value=2**63 - 1)
KEYS = st.builds(
    lambda ends, **fields: WindowKey(cursor_from=min(ends), cursor_to=max(ends), **fields),
    st.tuples(NUMBERS, NUMBERS),
    node_id=IDS,
    tenant_id=st.one_of(st.just(DEFAULT_TENANT), IDS),
    epoch=st.one_of(st.just(0), st.integers(min_value=0, max_value=2**31)),
    from_part=st.one_of(st.just(0), st.integers(min_value=0, max_value=2**31)),
)


@given(KEYS)
@example(WindowKey("...", 0, 0))
@example(WindowKey("a..b", 0, 0))
@example(WindowKey("a%2E%2E", 0, 0, tenant_id=".."))
@example(WindowKey("a@0-1~2", 0, 1, epoch=3, from_part=4))
@example(WindowKey("t/n", 0, 0))
@example(WindowKey("n", 0, 0, tenant_id="t/"))
@example(WindowKey("\ud800\udfff", 0, 0))
@example(WindowKey("line\nfeed\x85\u2028", 0, 0))
def test_every_window_has_a_key_that_reads_back(key: WindowKey) -> None:
    assert decode(encode(key)) == key


@given(KEYS)
def test_a_key_is_printable_ascii_that_dagster_and_urls_take(key: WindowKey) -> None:
    text = encode(key)
    assert text.isascii()
    assert text.isprintable()
    assert " " not in text
    assert "..." not in text


@given(KEYS, KEYS)
def test_two_windows_never_share_a_key(one: WindowKey, other: WindowKey) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@given(st.tuples(IDS, IDS), st.tuples(IDS, IDS))
def test_two_nodes_never_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (encode_node(*one) == encode_node(*other)) == (one == other)


@given(st.text(LETTERS, max_size=60))
def test_any_text_is_a_canonical_key_or_refused(text: str) -> None:
    try:
        key = decode(text)
    except UnknownWindowError:
        return
    assert encode(key) == text


@given(KEYS, st.data())
def test_a_changed_key_is_another_windows_or_refused(key: WindowKey, data: st.DataObject) -> None:
    text = encode(key)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(LETTERS) + text[at + data.draw(st.integers(0, 1)) :]
    try:
        other = decode(changed)
    except UnknownWindowError:
        return
    assert encode(other) == changed
    assert (other == key) == (changed == text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "@0-1",
        "n",
        "node@",
        "node@0",
        "node@0-",
        "node@-1",
        "node@00-1",
        "node@0-01",
        "node@0.0-1",
        "node~0@0-1",
        "node~01@0-1",
        "default/node@0-1",
        "/node@0-1",
        "a/b/node@0-1",
        "node@0-1\n",
        " node@0-1",
        "node@0-1 ",
        "n ode@0-1",
        "n%6Fde@0-1",  # an escape that is not needed
        "n%2fode@0-1",  # lower case
        "n%FF@0-1",  # no UTF-8
        "n%C3@0-1",
        "n%@0-1",
        "node@\u0661-\u0662",  # digits that are not ASCII
        "node@0-" + "9" * 5000,
        "node@5-4",
        "node@99999999999999999999-99999999999999999999",
    ],
)
def test_what_is_no_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(UnknownWindowError) as refused:
        decode(text)
    assert len(text) < 5 or text not in str(refused.value)
