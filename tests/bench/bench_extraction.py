"""Scores the embedded interviewer on the labelled real sessions (../shared/extraction).

Run: python -m tests.bench.bench_extraction [--misses N]. Everything goes through the library:
decode, mask, cut, interview, merge. The labelled lines of the prompts and replies are not read.
"""

import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from memclaw_etl.interview.chunks import cut_chunks
from memclaw_etl.interview.events import MaskedEvent
from memclaw_etl.interview.interviewer import Interviewer, build_interviewer
from memclaw_etl.interview.merge import merge
from memclaw_etl.masking import open_masker
from memclaw_etl.trails.decode import decode_bytes
from memclaw_etl.trails.events import DecoderState, Event, Origin, Position, Role, TrailKind

SHARED = Path(__file__).parents[2].parent / "shared"
GOLD = SHARED / "extraction"
CAP_CHARS = 8_000
COLUMNS = (
    "evidence_recall",
    "evidence_recall_concise",
    "typed_recall",
    "typed_recall_lenient",
    "high_recall",
    "precision",
    "useful_share",
    "noise_rate",
    "no_evidence_rate",
    "copied_share",
    "verbatim_dump_rate",
)


class NoCache:
    """The embedded interviewers make no calls."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, value: bytes) -> None:
        raise AssertionError("an embedded interviewer cached an answer")


def trails() -> Iterator[tuple[Path, str]]:
    """The labelled trails and their kinds."""
    for line in (GOLD / "files.jsonl").read_text().splitlines():
        row = json.loads(line)
        yield next((SHARED / "trails").rglob(row["file"])), row["kind"]


def read_events(path: Path, kind: str) -> list[MaskedEvent]:
    """The masked events of a trail."""
    if kind in {k.value for k in TrailKind}:
        with path.open("rb") as file:
            assembled, _ = decode_bytes(
                TrailKind(kind),
                file,
                start=Position(),
                byte_end=None,
                state=DecoderState(),
                file_session=path.stem,
            )
        events = list(assembled.events)
    else:
        events = list(read_pi(path))
    session = open_masker().session()
    return [masked(event, session.mask(event.content).text) for event in events]


def masked(event: Event, content: str) -> MaskedEvent:
    return MaskedEvent(
        seq=event.seq,
        part=event.part,
        ts=utc(event.ts),
        ts_inferred=event.ts_inferred,
        session_id=event.session_id,
        role=event.role.value,
        kind=event.kind,
        origin=event.origin.value,
        content=content[:CAP_CHARS],
    )


def utc(ts: str | None) -> datetime | None:
    return datetime.fromisoformat(ts).astimezone(UTC) if ts else None


def read_pi(path: Path) -> Iterator[Event]:
    """Prompts and replies of a pi v1 session, a format that the library does not read yet."""
    for seq, line in enumerate(path.read_bytes().split(b"\n")):
        row = json.loads(line) if line.strip() else {}
        message = row.get("message") or {}
        if row.get("type") != "message" or message.get("role") not in {"user", "assistant"}:
            continue
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(b["text"] for b in blocks if b.get("type") == "text").strip()
        if text:
            yield Event(
                seq=seq,
                part=0,
                ts=row.get("timestamp"),
                ts_inferred=False,
                session_id=None,
                role=Role(message["role"]),
                kind="prompt",
                content=text,
                identity=str(seq),
                origin=Origin.HUMAN,
            )


def predictions(interviewer: Interviewer, name: str, events: list[MaskedEvent]) -> list[Any]:
    """The rows that the scorer reads, for one trail."""
    reports = interviewer.interview(cut_chunks(events), cache=NoCache())
    report = merge(
        reports,
        max_per_section=interviewer.max_per_section,
        near_overlap=interviewer.near_overlap,
    )
    return [
        {
            "file": name,
            "memory_type": item.memory_type,
            "content": item.content,
            "lines": sorted({seq for seq, _ in item.evidence}),
        }
        for item in report.items
    ]


def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scorer", GOLD / "score_extraction.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scorer"] = module
    spec.loader.exec_module(module)
    return module


def measure(interviewer: Interviewer, *, misses: int = 0) -> dict[str, Any]:
    """The scorer's result, with the seconds and megabytes per second of the interviewing alone."""
    sessions = [(path.name, read_events(path, kind)) for path, kind in trails()]
    began = time.perf_counter()
    rows = [row for name, events in sessions for row in predictions(interviewer, name, events)]
    seconds = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result: dict[str, Any] = scorer().score(GOLD, file, misses)
    chars = sum(len(event.content) for _, events in sessions for event in events)
    return {**result, "kchars_per_s": round(chars / 1000 / seconds, 1)}


def main(misses: int = 0) -> list[tuple[str, float, str]]:
    """Print and return (name, value, unit) of every figure."""
    if not GOLD.is_dir():
        print("extraction: ../shared is not here, nothing measured")
        return []
    result = measure(build_interviewer("heuristic"), misses=misses)
    rows = [(f"extraction.{name}", float(result[name]), "share") for name in COLUMNS]
    for section, value in result["recall_by_section"].items():
        rows.append((f"extraction.recall.{section}", float(value), "share"))
    rows.append(("extraction.predictions_per_10k_chars", result["predictions_per_10k_chars"], "n"))
    rows.append(("extraction.predictions", float(result["predictions"]), "n"))
    rows.append(("extraction.speed", result["kchars_per_s"], "kchars/s"))
    for name, value, unit in rows:
        print(f"{name:45} {value:10.4f} {unit}")
    for miss in result.get("missed", []):
        print("missed", miss)
    return rows


if __name__ == "__main__":
    main(int(sys.argv[2]) if sys.argv[1:2] == ["--misses"] else 0)
