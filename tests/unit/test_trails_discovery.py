import os
from pathlib import Path

import pytest

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.discovery import Discovery, Source, discover, open_trail
from memclaw_etl.trails.events import TrailKind


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    return root


def find(
    root: Path, *include: str, kind: TrailKind = TrailKind.CLAUDE_CODE, machine: str = "abc"
) -> Discovery:
    return discover(Source(kind, root, include), machine12=machine)


def stems(found: Discovery) -> list[str]:
    return [trail.path.stem for trail in found.trails]


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return make(
        tmp_path / "projects",
        "-srv-ferry/s1.jsonl",
        "-srv-ferry/s2.jsonl",
        "-srv-ferry/agent-0f0f.jsonl",
        "-srv-ferry/s1/subagents/agent-a.jsonl",
        "-srv-ferry/s1/subagents/workflows/w/agent-b.jsonl",
        "-srv-ferry/s1/tool-results/t.txt",
        "-srv-ferry/memory/MEMORY.md",
        "-srv-ferry/sessions-index.json",
        "-srv-other/s9.jsonl",
        "-srv-other/memory/MEMORY.md",
        "-empty/notes.md",
    )


BESIDE = {"subagents": 3, "tool_results": 1, "memory": 1, "not_a_trail": 1}


def test_nothing_is_taken_without_include(projects: Path) -> None:
    found = find(projects)
    assert (found.trails, found.skipped) == ((), {"not_included": 2})


def test_include_takes_projects_by_glob(projects: Path) -> None:
    found = find(projects, "-srv-f*")
    assert stems(found) == ["s1", "s2"]
    assert found.skipped == {"not_included": 1, **BESIDE}
    first = found.trails[0]
    assert (first.node_id, first.file_session, first.project) == ("cc:abc:s1", "s1", "-srv-ferry")
    assert (first.size_bytes, first.inode) == (3, first.path.stat().st_ino)
    assert first.mtime_ns == first.path.stat().st_mtime_ns
    assert stems(find(projects, "*")) == ["s1", "s2", "s9"]


def test_a_project_folder_given_as_the_root_is_consent(projects: Path) -> None:
    found = find(projects / "-srv-ferry")
    assert stems(found) == ["s1", "s2"]
    assert found.skipped == BESIDE


def test_the_agents_home_is_its_projects(projects: Path) -> None:
    make(projects.parent, "settings.json")
    assert stems(find(projects.parent, "-srv-other")) == ["s9"]
    assert stems(find(projects.parent)) == []


def test_a_flat_folder_and_a_file(tmp_path: Path) -> None:
    make(tmp_path, "b.jsonl", "a.jsonl", "x.txt", "notes.json")
    assert stems(find(tmp_path)) == ["a", "b"]
    assert stems(find(tmp_path / "b.jsonl")) == ["b"]
    assert find(tmp_path / "b.jsonl").trails[0].real_path == (tmp_path / "b.jsonl").resolve()


def test_content_is_never_opened(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("opened a file")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("os.open", refuse)
    assert len(find(projects, "*").trails) == 3


@pytest.mark.parametrize(
    ("below", "include"),
    [
        ("", ("ferry",)),
        ("projects", ("f*",)),
        ("projects/ferry", ()),
        ("projects/ferry/agent-transcripts", ()),
    ],
)
def test_cursor_layouts(tmp_path: Path, below: str, include: tuple[str, ...]) -> None:
    make(
        tmp_path / "projects",
        "ferry/agent-transcripts/c1/c1.jsonl",
        "ferry/agent-transcripts/c1/subagents/d1.jsonl",
        "ferry/agent-transcripts/c2.jsonl",
        "ferry/agent-transcripts/c3.txt",
        "ferry/agent-transcripts/c4/other.json",
    )
    found = find(tmp_path / below, *include, kind=TrailKind.CURSOR)
    assert stems(found) == ["c1", "c2"]
    assert found.trails[0].node_id == "cursor:abc:c1"
    assert found.trails[0].project == "ferry"
    assert found.skipped == {"subagents": 1, "legacy_txt": 1}


def test_cursor_denies_by_default(tmp_path: Path) -> None:
    make(tmp_path, "ferry/agent-transcripts/c1.jsonl", "other/agent-transcripts/c2.jsonl")
    assert find(tmp_path, kind=TrailKind.CURSOR).skipped == {"not_included": 2}


def test_buffers(tmp_path: Path) -> None:
    make(
        tmp_path,
        "one/interview-buffer.jsonl",
        "one/interview-buffer.jsonl.meta.json",
        "two/interview-buffer.jsonl",
        "two/ferry-node.jsonl",
    )
    [one] = find(tmp_path / "one", kind=TrailKind.BUFFER).trails
    named, two = find(tmp_path / "two", kind=TrailKind.BUFFER).trails
    assert named.node_id == "buffer:abc:ferry-node"
    assert one.node_id != two.node_id
    assert len(one.node_id) == len("buffer:abc:") + 8
    assert find(tmp_path / "one", kind=TrailKind.BUFFER).skipped == {"not_a_trail": 1}


def test_links_must_stay_under_the_root(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", "o.jsonl", "-linked/p.jsonl")
    root = make(tmp_path / "root", "-p/a.jsonl", "-p/inner.txt")
    (root / "-p" / "out.jsonl").symlink_to(outside / "o.jsonl")
    (root / "-p" / "in.jsonl").symlink_to(root / "-p" / "inner.txt")
    (root / "-p" / "twice.jsonl").symlink_to(root / "-p" / "a.jsonl")
    (root / "-p" / "gone.jsonl").symlink_to(root / "nowhere")
    (root / "-linked").symlink_to(outside / "-linked")
    found = find(root, "*")
    assert stems(found) == ["a", "in"]
    assert found.skipped == {"outside_root": 2, "same_file": 1, "vanished": 1, "not_a_trail": 1}


def test_a_root_that_is_a_link_is_read_where_it_leads(tmp_path: Path) -> None:
    real = make(tmp_path / "real", "a.jsonl")
    (tmp_path / "link").symlink_to(real)
    [trail] = find(tmp_path / "link").trails
    assert trail.path == tmp_path / "link" / "a.jsonl"
    assert trail.real_path == real.resolve() / "a.jsonl"


def test_two_files_of_one_name_are_two_nodes(tmp_path: Path) -> None:
    make(tmp_path, "-a/s.jsonl", "-b/s.jsonl")
    first, second = find(tmp_path, "*").trails
    assert first.node_id == "cc:abc:s"
    assert second.node_id.startswith("cc:abc:s-")


def test_what_is_no_file_is_counted(tmp_path: Path) -> None:
    make(tmp_path, "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    found = find(tmp_path)
    assert stems(found) == ["a"]
    assert found.skipped == {"not_a_file": 2}


def test_a_missing_root_is_an_error_and_not_nothing(tmp_path: Path) -> None:
    with pytest.raises(TrailUnreadableError) as caught:
        find(tmp_path / "absent")
    assert "absent" in str(caught.value)
    assert caught.value.resource.startswith("source:claude_code:")


def test_a_trail_is_opened_where_it_was_found(tmp_path: Path) -> None:
    make(tmp_path, "a.jsonl", "b.jsonl")
    trail, other = find(tmp_path).trails
    with open_trail(trail.real_path, root=trail.root, node_id=trail.node_id) as file:
        assert file.read() == b"{}\n"
    trail.path.unlink()
    with pytest.raises(TrailUnreadableError, match="cc:abc:a"):
        open_trail(trail.real_path, root=trail.root, node_id=trail.node_id)
    trail.path.symlink_to(other.path)
    with pytest.raises(TrailUnreadableError, match="link"):
        open_trail(trail.real_path, root=trail.root, node_id=trail.node_id)
    trail.path.unlink()
    os.mkfifo(trail.path)
    with pytest.raises(TrailUnreadableError, match="regular"):
        open_trail(trail.real_path, root=trail.root, node_id=trail.node_id)
