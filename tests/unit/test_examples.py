import json

import pytest

from memclaw_etl.examples import example_sources

SOURCES = {kind: (root, include) for kind, root, include in example_sources()}


def lines_of(kind: str) -> list[str]:
    root, _ = SOURCES[kind]
    return [line for path in sorted(root.rglob("*.jsonl")) for line in path.read_text().split("\n")]


def test_every_source_is_there_with_its_trails() -> None:
    counts = {kind: len(list(root.rglob("*.jsonl"))) for kind, (root, _) in SOURCES.items()}
    assert counts == {"claude_code": 2, "cursor": 1, "buffer": 1}


@pytest.mark.parametrize("kind", ["claude_code", "cursor"])
def test_include_names_the_project_folders(kind: str) -> None:
    root, include = SOURCES[kind]
    for project in root.iterdir():
        assert any(project.match(glob) for glob in include)


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_lines_are_json_but_for_the_one_that_is_glued(kind: str) -> None:
    glued = broken = 0
    for line in filter(None, lines_of(kind)):
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            glued += error.msg == "Extra data"
            broken += error.msg != "Extra data"
    assert broken == 0
    assert glued == (1 if kind == "claude_code" else 0)


def test_trails_hold_private_text_and_made_up_credentials() -> None:
    text = "\n".join(lines_of("claude_code") + lines_of("buffer"))
    assert text.count("<private>") == 3
    assert "TIDEWATCH_DB_PASSWORD=" in text
    assert "smtp_password" in text


def test_buffer_meta_names_the_next_seq() -> None:
    root, _ = SOURCES["buffer"]
    last = json.loads((root / "interview-buffer.jsonl").read_text().rstrip().rsplit("\n", 1)[-1])
    meta = json.loads((root / "interview-buffer.jsonl.meta.json").read_text())
    assert meta["next_seq"] == last["seq"] + 1
