"""The section [embedding]: what belongs together, and errors that say what to write."""

import pytest

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.errors import SettingsError
from memclaw_etl.settings import load_settings

KEY = "fake" + "-key-of-nobody"


def loaded(home, text: str) -> EmbeddingSettings:
    (home / "memclaw.toml").write_text(f"[embedding]\n{text}")
    return load_settings(home).embedding


def test_the_packaged_model_needs_no_section(tmp_path):
    embedding = load_settings(tmp_path).embedding
    assert (embedding.provider, embedding.model, embedding.resource) == ("packaged", None, None)


def test_an_endpoint_is_named_by_host_and_port_alone(tmp_path):
    text = 'provider = "openai"\nmodel = "m"\nbase_url = "http://me:pw@localhost:11434/v1"'
    assert loaded(tmp_path, text).resource == "endpoint:localhost:11434"


def test_the_endpoint_is_the_argument_then_the_environment_then_openai(monkeypatch):
    settings = EmbeddingSettings(provider="openai", model="m")
    assert settings.url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert settings.url == "http://127.0.0.1:1/v1"
    named = EmbeddingSettings(provider="openai", model="m", base_url="http://127.0.0.1:2/v1")
    assert named.url == "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('model = "m"', 'model: the packaged model takes none; add provider = "openai"'),
        ('provider = "openai"', 'needs the name of a model: model = "text-embedding-3-small"'),
        ('provider = "fastembed"', "needs the name of a model"),
        ('provider = "openai"\nmodel = "m"\nmodel_path = "x"', "model_path belongs to provider"),
        ('provider = "fastembed"\nmodel = "m"\nbase_url = "x"', "base_url belongs to provider"),
        ('provider = "fastembed"\nmodel = "m"\ndimension = 5', "dimension belongs to provider"),
        ('provider = "other"', "'packaged', 'openai' or 'fastembed'"),
        ('provider = "openai"\nmodel = "m"\nbatch_texts = 0', "embedding.batch_texts"),
        ('provider = "openai"\nmodel = "m"\ndimension = -1', "embedding.dimension"),
        (f'api_key = "{KEY}"', r"embedding.api_key: Extra inputs are not permitted"),
    ],
)
def test_an_error_names_the_field_and_what_to_write_and_never_the_value(tmp_path, text, says):
    with pytest.raises(SettingsError, match=says) as caught:
        loaded(tmp_path, text)
    assert KEY not in str(caught.value)


def test_every_field_is_an_environment_variable_and_a_key_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMCLAW_EMBEDDING__PROVIDER", "openai")
    monkeypatch.setenv("MEMCLAW_EMBEDDING__MODEL", "m")
    monkeypatch.setenv("MEMCLAW_EMBEDDING__BATCH_TEXTS", "7")
    monkeypatch.setenv("MEMCLAW_EMBEDDING_API_KEY", KEY)
    settings = load_settings(tmp_path)
    assert (settings.embedding.model, settings.embedding.batch_texts) == ("m", 7)
    assert KEY not in settings.model_dump_json()
