"""Bounded fuzzing of every kind with mutated real and invented lines: nothing leaves the reader.

Truncation, splices, bit flips, deep nesting, huge numbers, lines of 25 MB, invalid UTF-8. What
stands on lines that were not touched keeps its events and seqs.
"""

import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memclaw_etl.errors import TrailUnreadableError
from memclaw_etl.trails.decode import assemble, decode_bytes, look_lines
from memclaw_etl.trails.events import DecoderState, Event, TrailKind
from memclaw_etl.trails.lines import read_lines
from memclaw_etl.trails.opening import as_lines
from tests.trail_lines import START, dumped, prompt, reply, tool_result
from tests.unit.test_trails_codex import both, meta
from tests.unit.test_trails_gemini import HEADER as GEMINI_HEADER
from tests.unit.test_trails_gemini import TALK, document
from tests.unit.test_trails_openclaw import HEADER, row

TRAILS = Path(__file__).parents[2].parent / "shared" / "trails"
FOLDERS = {
    TrailKind.CLAUDE_CODE: "claude-code",
    TrailKind.CURSOR: "cursor",
    TrailKind.OPENCLAW: "openclaw",
    TrailKind.CODEX: "codex",
    TrailKind.GEMINI: "gemini",
}
ROUNDS = 60
REAL_LINES = 40
BIG_BYTES = 25_000_000


def cursor(role: str, text: str) -> dict:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


INVENTED: dict[TrailKind, list[dict]] = {
    TrailKind.CLAUDE_CODE: [
        prompt("one", 1), reply("two", 2), tool_result("out", 3), prompt("three", 4),
    ],
    TrailKind.CURSOR: [
        cursor("user", "<user_query>\none\n</user_query>"), cursor("assistant", "two"),
    ],
    TrailKind.OPENCLAW: [HEADER, row("user", "one"), row("assistant", "two", 2)],
    TrailKind.BUFFER: [
        {"seq": seq, "ts": f"2026-02-03T09:00:0{seq}Z", "session_id": "s", "role": "user",
         "kind": "message", "content": f"said {seq}"}
        for seq in range(4)
    ],
    TrailKind.CODEX: [meta(), *both("one"), *both("two", "assistant")],
    TrailKind.GEMINI: [GEMINI_HEADER, *TALK, {"$set": {"messages": TALK}}],
}  # fmt: skip


def lines_of(kind: TrailKind) -> list[bytes]:
    """Invented lines, and real ones where they are at hand."""
    lines = [dumped(record) for record in INVENTED[kind]]
    folder = TRAILS / FOLDERS.get(kind, "none")
    for path in sorted(folder.glob("*.jsonl")):
        lines += [line for line in path.read_bytes().split(b"\n")[:REAL_LINES] if len(line) < 9_000]
    return lines[:200]


def flip(rng: random.Random, line: bytes) -> bytes:
    data = bytearray(line or b"x")
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(rng: random.Random, line: bytes) -> bytes:
    return line[: rng.randint(0, len(line))]


def splice(rng: random.Random, line: bytes) -> bytes:
    return line[: rng.randint(0, len(line))] + line[rng.randint(0, len(line)) :]


def invalid(rng: random.Random, line: bytes) -> bytes:
    at = rng.randint(0, len(line))
    return line[:at] + rng.choice([b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x00"]) + line[at:]


def swap(rng: random.Random, line: bytes) -> bytes:
    """Put something of another shape in the place of a value."""
    odd = [b"null", b"[]", b"{}", b"1e999", b"9" * 5_000, b"-" + b"1" * 40, b'"\\ud800"', b"NaN"]
    odd += [b"[" * 5_000 + b"]" * 5_000, b'{"a":' * 3_000 + b"1" + b"}" * 3_000]
    places = [at for at, byte in enumerate(line) if byte == ord(":")]
    if not places:
        return rng.choice(odd)
    at = rng.choice(places) + 1
    end = min([e for e in (line.find(b",", at), line.find(b"}", at)) if e > 0], default=len(line))
    return line[:at] + rng.choice(odd) + line[end:]


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (flip, cut, splice, invalid, swap)


def events_of(kind: TrailKind, data: bytes) -> tuple[Event, ...]:
    assembled, _ = decode_bytes(
        kind, io.BytesIO(data), start=START, byte_end=None, state=DecoderState(), file_session="s"
    )
    return assembled.events


@pytest.mark.parametrize("kind", list(TrailKind))
def test_no_mutation_of_a_line_leaves_the_reader(kind: TrailKind) -> None:
    rng = random.Random(f"fuzz {kind}")
    lines = lines_of(kind)
    for _ in range(ROUNDS):
        some = rng.sample(lines, min(len(lines), 12))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(some))
            some[at] = rng.choice(MUTATIONS)(rng, some[at]).replace(b"\n", b" ")
        data = b"\n".join(some) + rng.choice([b"", b"\n"])
        outcomes = list(look_lines(kind, read_lines(io.BytesIO(data), START), DecoderState()))
        assembled = assemble(kind, outcomes, DecoderState(), file_session="s")
        assert events_of(kind, data) is not None
        refs = [(event.seq, event.part) for event in assembled.events]
        assert len(set(refs)) == len(refs)
        for event in assembled.events:
            event.content.encode()
            assert event.content.strip()


SEQ_ONLY = {TrailKind.CLAUDE_CODE, TrailKind.OPENCLAW, TrailKind.CURSOR}


@pytest.mark.parametrize("kind", sorted(SEQ_ONLY))
def test_damage_to_one_line_costs_no_other_line_its_events(kind: TrailKind) -> None:
    rng = random.Random(f"one line {kind}")
    lines = [dumped(record) for record in INVENTED[kind]] * 2
    if kind is TrailKind.CLAUDE_CODE:
        lines = [line.replace(b"000-8", b"%03d-8" % at) for at, line in enumerate(lines)]
        lines = [dumped(make("words", at)) for at, make in enumerate([prompt, reply] * 4)]
    if kind is TrailKind.OPENCLAW:
        lines = [dumped(HEADER), *(dumped(row("user", "words", at)) for at in range(1, 8))]
    before = {e.seq: e.content for e in events_of(kind, b"\n".join(lines) + b"\n")}
    for _ in range(ROUNDS):
        at = rng.randrange(1, len(lines))
        damaged = list(lines)
        damaged[at] = rng.choice(MUTATIONS)(rng, lines[at]).replace(b"\n", b" ")
        after = {e.seq: e.content for e in events_of(kind, b"\n".join(damaged) + b"\n")}
        before_others = {seq: text for seq, text in before.items() if seq != at}
        assert before_others.items() <= after.items()


@pytest.mark.parametrize("kind", list(TrailKind))
def test_lines_of_25_megabytes(kind: TrailKind) -> None:
    first = dumped(INVENTED[kind][-1])
    big = b'{"type":"user","role":"user","seq":3,"x":"' + b"y" * BIG_BYTES + b'"}'
    torn = b'{"type":"user","message":{"content":"' + b"{" * BIG_BYTES
    for line in (big, torn, b"[" * BIG_BYTES, b"\x00" * BIG_BYTES):
        events = events_of(kind, b"\n".join([first, line, first]) + b"\n")
        assert all(len(event.content) < BIG_BYTES for event in events)


def test_documents_of_any_damage_are_read_or_refused() -> None:
    rng = random.Random("documents")
    whole = document(TALK)
    real = [path.read_bytes() for path in sorted((TRAILS / "gemini").glob("*.json*"))]
    refused = 0
    for _ in range(ROUNDS * 4):
        data = rng.choice(MUTATIONS)(rng, rng.choice([whole, *real]))
        try:
            file = as_lines(
                TrailKind.GEMINI, io.BytesIO(data), real_path=Path("/x"), node_id="gemini:m:x"
            )
        except TrailUnreadableError:
            refused += 1
            continue
        for event in events_of(TrailKind.GEMINI, file.read()):
            assert event.content.strip()
    assert 0 < refused < ROUNDS * 4
