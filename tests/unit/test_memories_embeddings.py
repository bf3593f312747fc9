import hashlib
from importlib import resources

import numpy as np
import pytest

from memclaw_etl.errors import SettingsError
from memclaw_etl.memories.embeddings import _batches, open_embedder

PAIRS = [
    ("We will keep the ledger in SQLite", "which database holds the ledger?"),
    ("The login page times out on slow phones", "problem with signing in on mobile"),
    ("She prefers tabs over spaces", "how does she like code to be indented?"),
    ("The deploy failed since the disk was full", "why did the release not go out?"),
    ("Invoices are sent on the first of the month", "when do customers get billed?"),
    ("The cat sleeps on the warm printer", "where does the pet rest?"),
]


def test_vectors_have_length_one_and_the_order_of_the_texts():
    embedder = open_embedder()
    texts = ["a much longer text " * 30, "short", "", "ünïcode 日本"]
    together = embedder.embed(texts)
    assert together.shape == (4, embedder.dimension)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    apart = np.vstack([embedder.embed([text]) for text in texts])
    np.testing.assert_allclose(together, apart, atol=1e-4)


def test_a_question_is_nearest_to_its_answer():
    embedder = open_embedder()
    answers = embedder.embed([answer for answer, _ in PAIRS])
    questions = embedder.embed([question for _, question in PAIRS])
    assert (questions @ answers.T).argmax(axis=1).tolist() == list(range(len(PAIRS)))


def test_no_texts_give_no_rows():
    assert open_embedder().embed([]).shape == (0, 384)


def test_one_embedder_per_process_and_unknown_names_are_refused():
    assert open_embedder() is open_embedder("minilm")
    with pytest.raises(SettingsError, match="unknown embedder"):
        open_embedder("other")


def test_batches_hold_every_text_once_and_keep_like_lengths_together():
    lengths = [256, 3, 250, 3, 4, 10, 256] * 20
    batches = _batches(lengths)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 2_048 for batch in batches)


def test_the_vocabulary_is_the_one_that_the_notice_names():
    data = resources.files("memclaw_etl.memories") / "data"
    digest = hashlib.sha256((data / "minilm_vocab.txt").read_bytes()).hexdigest()
    assert digest in (data / "NOTICE.md").read_text("utf-8")
