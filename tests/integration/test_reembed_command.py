"""`reembed` from the command line, and what the other commands say until it is done."""

import shutil
from pathlib import Path

import pytest

from memclaw_etl.examples import example_sources
from tests.cli import call
from tests.openai_server import ModelServer

HINT = "run `memclaw-etl reembed`"
QUESTION = "which decisions were made?"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo") / "home"
    assert call("demo", "--home", home, "--json").code == 0
    return home


@pytest.fixture
def server():
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def home(demo: Path, tmp_path: Path, server: ModelServer) -> Path:
    """The demo's home, with another embedding model in its settings."""
    home = Path(shutil.copytree(demo, tmp_path / "home"))
    (home / "memclaw.toml").write_text(
        f'[embedding]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
        "max_retries = 0\nprice_per_million_tokens = 10.0\n"
    )
    return home


def source() -> str:
    kind, root, _ = next(iter(example_sources()))
    return f"{kind}={root}"


def test_until_it_is_done_every_command_says_what_to_do(home: Path):
    status = call("status", "--home", home, "--json")
    assert status.code == 0
    assert status.json
    assert HINT in status.said
    recall = call("recall", QUESTION, "--home", home, "--json")
    assert recall.code == 0
    assert recall.json
    assert HINT in recall.said
    refused = [
        call("run", "--source", source(), "--home", home),
        call("memories", "--home", home),
        call("audit", "--home", home),
    ]
    assert [one.code for one in refused] == [2, 2, 2]
    assert all(HINT in one.said for one in refused)


def test_a_dry_run_tells_how_much_it_is(home: Path, server: ModelServer):
    planned = call("reembed", "--dry-run", "--home", home, "--json").json
    assert planned["memories"] > 0
    assert planned["new_model"] == "openai:m"
    assert planned["texts_missing"] == planned["texts"] <= planned["memories"]
    assert planned["cost_estimate"] == pytest.approx(planned["tokens_estimate"] * 1e-5)
    said = call("reembed", "--dry-run", "--home", home).stdout.decode()
    assert "would get new vectors: all-MiniLM-L6-v2-onnx-int8 (384) -> openai:m (24" in said
    assert "cost about" in said
    assert server.embeddings.embedded.keys() == {"dimension"}


def test_afterwards_all_of_them_work_with_the_new_model(home: Path, server: ModelServer):
    done = call("reembed", "--home", home)
    assert done.code == 0, done.said
    assert b"memories have new vectors" in done.stdout
    for command in (
        ("status",), ("recall", QUESTION), ("memories",), ("audit",),
        ("run", "--source", source()), ("rebuild",),
    ):  # fmt: skip
        called = call(*command, "--home", home)
        assert called.code == 0, called.said
        assert "reembed" not in called.said
    assert (
        b"have vectors of openai:m (24 numbers) already" in call("reembed", "--home", home).stdout
    )
    server.embeddings.down = True
    failed = call("recall", QUESTION, "--home", home)
    assert failed.code == 75
    assert "answered 503" in failed.said


def test_an_endpoint_that_is_down_is_trouble_for_later(home: Path, server: ModelServer):
    server.embeddings.down = True
    failed = call("reembed", "--home", home)
    assert failed.code == 75
    assert "answered 503" in failed.said
    server.embeddings.down = False
    assert call("recall", QUESTION, "--home", home).code == 0


def test_which_model_made_a_vector_is_a_column_of_sql(home: Path):
    statement = "select distinct embedding_model, embedding_dimension from memories"
    assert call("reembed", "--home", home).code == 0
    rows = call("sql", statement, "--home", home, "--json").json
    assert rows == [{"embedding_model": "openai:m", "embedding_dimension": 24}]
