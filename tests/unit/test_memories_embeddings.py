import hashlib
from importlib import resources

import numpy as np
import pytest

from memclaw_etl.memories.embeddings import (
    Part,
    _batches,
    open_embedder,
    to_length_one,
    together,
)

PAIRS = [
    ("We will keep the ledger in SQLite", "which database holds the ledger?"),
    ("The login page times out on slow phones", "problem with signing in on mobile"),
    ("She prefers tabs over spaces", "how does she like code to be indented?"),
    ("The deploy failed since the disk was full", "why did the release not go out?"),
    ("Invoices are sent on the first of the month", "when do customers get billed?"),
    ("The cat sleeps on the warm printer", "where does the pet rest?"),
]


def test_a_text_has_the_same_vector_bit_for_bit_alone_and_among_others():
    embedder = open_embedder()
    texts = ["a much longer text " * 30, "short", "", "ünïcode 日本", "word " * 300]
    texts += [f"{answer}, as was said {n} times" for n, (answer, _) in enumerate(PAIRS * 20)]
    among = embedder.embed(texts)
    other = embedder.embed(texts[::-1])[::-1]
    alone = np.vstack([embedder.embed([text]) for text in texts[:40]])
    np.testing.assert_array_equal(among, other)
    np.testing.assert_array_equal(among[:40], alone)


def test_a_question_is_nearest_to_its_answer():
    embedder = open_embedder()
    answers = embedder.embed([answer for answer, _ in PAIRS])
    questions = embedder.embed([question for _, question in PAIRS])
    assert (questions @ answers.T).argmax(axis=1).tolist() == list(range(len(PAIRS)))


def test_there_is_one_packaged_model_per_process():
    assert open_embedder() is open_embedder()


def test_batches_hold_every_text_once_and_keep_like_lengths_together():
    lengths = [256, 3, 250, 3, 4, 10, 256] * 20
    batches = _batches(lengths)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 2_048 for batch in batches)


def test_the_vocabulary_is_the_one_that_the_notice_names():
    data = resources.files("memclaw_etl.memories") / "data"
    digest = hashlib.sha256((data / "minilm_vocab.txt").read_bytes()).hexdigest()
    assert digest in (data / "NOTICE.md").read_text("utf-8")


def test_parts_of_any_order_stand_in_their_places():
    one, two = np.ones((1, 2), np.float32), np.full((2, 2), 2, np.float32)
    joined = together(iter([Part([2, 0], two), Part(range(1, 2), one)]), count=3, dimension=2)
    assert joined.tolist() == [[2, 2], [1, 1], [2, 2]]


@pytest.mark.parametrize("odd", [0.0, float("nan"), float("inf")])
def test_a_vector_without_a_direction_has_no_length_one(odd):
    with pytest.raises(ValueError, match="direction"):
        to_length_one(np.array([[1, 2], [odd, 0]], dtype=np.float32))
