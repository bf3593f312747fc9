"""When a text repeats another one."""

import pytest

from memclaw_etl.memories.items import text_hash
from memclaw_etl.memories.quoting import names_of, pieces_of, quotes

SAID = "We use Redis for the queue."


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "we  USE redis\nfor the queue.",
        "As I said: we use Redis for the queue, and that is it.",
        '"We use Redis for the queue!"',
        "[success] We use Redis for the queue",
        f"One.\n{SAID}\nThree.",
    ],
)
def test_a_text_that_says_it_or_holds_it(text: str) -> None:
    assert quotes(text, SAID)


@pytest.mark.parametrize(
    "text",
    ["", "We use Redis for the queues.", "Shall we use Redis? For the queue, yes.", "Redis"],
)
def test_a_text_that_does_not(text: str) -> None:
    assert not quotes(text, SAID)


def test_a_short_text_is_said_as_a_whole_only() -> None:
    assert quotes("done.", "Done.")
    assert not quotes("All of it is done.", "done.")
    assert text_hash("Done.") not in set(pieces_of("All of it. Done. Next."))
    assert text_hash("Done.") in set(pieces_of("done."))


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        f"Noted. {SAID} Next?",
        f"- a\n{SAID}\n- b",
        f"Word for word: {SAID}",
        "[failure] we use redis for the queue",
    ],
)
def test_the_same_is_known_by_its_hash_alone(text: str) -> None:
    assert not names_of(SAID).isdisjoint(pieces_of(text))


def test_other_texts_have_other_hashes() -> None:
    assert names_of(SAID).isdisjoint(pieces_of("We use Kafka for the queue. We use Redis, too."))
