from dataclasses import asdict
from pathlib import Path

from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.doctor import examine
from memclaw_etl.trails.events import TrailKind
from tests.trail_lines import dumped, joined, prompt, queue, reply, tool_result

WORD = "unmistakable"


def test_counts_of_every_file_and_no_content(tmp_path: Path) -> None:
    lines = [
        prompt(WORD, 1),
        tool_result(WORD, 2),
        reply(WORD, 3, version="2.1.40"),
        queue("enqueue", f"{WORD} twice", 4),
        {"type": "frame-link", "text": WORD},
        {"type": WORD * 9},
    ]
    broken = b'{"type":"user",' + WORD.encode() + b"\n"
    data = joined(lines) + broken + dumped({"type": "mode"})
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl").write_bytes(joined([prompt("x")]))
    (tmp_path / "agent-1.jsonl").write_bytes(b"")
    report = examine(Source(TrailKind.CLAUDE_CODE, tmp_path), machine12="m")
    first, second = report.files
    assert (first.lines, first.unterminated, first.error) == (8, True, None)
    assert first.versions == {"2.1.37": 2, "2.1.40": 1}
    assert first.line_types == {
        "user": 2,
        "assistant": 1,
        "queue-operation": 1,
        "frame-link": 1,
        "other": 1,
        "mode": 1,
    }
    assert first.events == {"prompt:human": 1, "reply:agent": 1, "prompt:queued": 1}
    assert first.unknown == {"frame-link": 1, "other": 1}
    assert first.noise == {
        "tool_result": 1,
        "mode": 1,
        "unknown:frame-link": 1,
        "unknown:other": 1,
    }
    [lost] = first.quarantined
    assert (lost.seq, lost.byte_start, lost.reason) == (6, len(joined(lines)), "broken_json")
    assert second.events == {"prompt:human": 1}
    assert report.skipped == {"subagents": 1}
    assert not report.is_clean
    assert WORD not in str(asdict(report))


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path, monkeypatch) -> None:
    from memclaw_etl.trails import doctor

    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(joined([prompt("x")]))
    opened = doctor.open_found

    def vanishing(trail):
        if trail.path.stem == "a":
            trail.path.unlink()
        return opened(trail)

    monkeypatch.setattr(doctor, "open_found", vanishing)
    report = examine(Source(TrailKind.CLAUDE_CODE, tmp_path), machine12="m")
    assert [file.error for file in report.files] == ["TrailUnreadableError", None]
    assert not report.is_clean
