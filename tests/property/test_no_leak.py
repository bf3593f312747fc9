"""Secrets of every family, planted at random, and every byte of a home that has worked on them."""

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from memclaw_etl.stages import bench as bench_module
from memclaw_etl.stages import mask
from tests import homes
from tests.cli import Called, call
from tests.planting import Planted, personal, planted
from tests.trail_lines import joined, prompt, reply

IN_FULL = os.environ.get("MEMCLAW_TEST_ALL") == "1"
BOUNDED = settings(
    max_examples=12 if IN_FULL else 2, deadline=None, derandomize=not IN_FULL,
    phases=[Phase.generate],  # a seed cannot be made simpler
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
WORDS = (
    "we decided to keep the ferry timetable in one table because the sync was slow", "the flood alert is sent once now",
    "please check the harbour map again", "this blocked us for an hour, the port was taken", "I prefer short release notes",
    "done, all tests pass", "why does the tide gauge drift in March?",
)  # fmt: skip
INTERVIEWERS = st.sampled_from(["verbatim", "heuristic"])
SEEDS = st.integers(0, 2**32)


def everything(chance: random.Random) -> list[Planted]:
    """One of every family twice: contexts differ."""
    return [one for _ in range(2) for one in (*planted(chance), *personal(chance))]


def talk(chance: random.Random, found: list[Planted]) -> Iterator[dict[str, object]]:
    """Messages of a few sentences with a planted text anywhere; a long one that is cut in between."""
    chance.shuffle(found)
    for number, one in enumerate(found, start=1):
        before, after = ("\n".join(chance.sample(WORDS, chance.randint(0, 2))) for _ in range(2))
        if chance.random() < 0.05:
            before = "\n".join(chance.choices(WORDS, k=150))[: 8_000 - chance.randint(0, 60)]
        text = (
            f"{before}\n{one.text}"
            if one.family == "private key"
            else f"{before}\n{one.text}\n{after}"
        )
        yield (prompt if number % 2 else reply)(text, number)


def buffer_lines(chance: random.Random, found: list[Planted]) -> Iterator[bytes]:
    """The same in the fields that a plugin fills."""
    for number, one in enumerate(found):
        text = chance.choice(WORDS)
        record = {"seq": number, "ts": f"2026-05-10T16:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
                  "session_id": "agent:main", "role": "assistant", "kind": "reply", "content": text}  # fmt: skip
        record[chance.choice(["content", "tool", "outcome", "session_id"])] = one.text
        yield orjson.dumps(record) + b"\n"


def pieces(found: list[Planted]) -> set[str]:
    return {piece for one in found for piece in one.pieces}


@contextmanager
def trails(seed: int) -> Iterator[tuple[Path, list[str], set[str]]]:
    """A folder for a home, the sources beside it, and what they hold that nobody may see."""
    chance = random.Random(seed)
    told, pushed = everything(chance), everything(chance)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "talk.jsonl").write_bytes(joined(talk(chance, told)))
        (root / "interview-buffer.jsonl").write_bytes(b"".join(buffer_lines(chance, pushed)))
        (root / "home").mkdir()
        (root / "home" / "memclaw.toml").write_text('personal_data = "mask"\n')
        sources = ["--source", f"claude_code={root / 'talk.jsonl'}"]
        sources += ["--source", f"buffer={root / 'interview-buffer.jsonl'}"]
        yield root / "home", sources, pieces([*told, *pushed])


def run(home: Path, sources: list[str], interviewer: str) -> Called:
    """Through Dagster, as the command does it."""
    return call("run", "--home", home, *sources, "--flush", "--interviewer", interviewer, "--json")


def leaks(home: Path, secrets: set[str], *printed: Called) -> dict[str, set[str]]:
    found = homes.holding(home, secrets)
    for one in printed:
        text = (one.stdout + one.stderr).decode()
        found |= {secret: {"output"} for secret in secrets if secret in text}
    return found


@given(SEEDS, INTERVIEWERS)
@BOUNDED
def test_nothing_planted_reaches_the_home(seed: int, interviewer: str) -> None:
    with trails(seed) as (home, sources, secrets):
        ran = run(home, sources, interviewer)
        assert (ran.code, ran.json["windows_failed"]) == (0, 0)
        assert ran.json["events"] > 300
        assert ran.json["masked_spans"] > 300
        looked = [call("memories", "--home", home), call("audit", "--home", home, "--json")]
        assert [one.code for one in looked] == [0, 0]
        assert leaks(home, secrets, ran, *looked) == {}


@given(SEEDS, INTERVIEWERS)
@BOUNDED
def test_nothing_planted_is_left_after_remask(seed: int, interviewer: str) -> None:
    with trails(seed) as (home, sources, secrets):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench_module, "open_masker", lambda cache_dir: homes.WeakMasker())
            assert run(home, sources, interviewer).code == 0
        assert len(homes.holding(home, secrets)) > len(secrets) / 3
        done = call("remask", "--home", home, "--json")
        assert done.code == 0
        assert leaks(home, secrets, done) == {}
        audited = call("audit", "--home", home, "--json")
        assert audited.json == {"findings": []}


class Strict(BaseModel):
    """Pydantic repeats what it was given, unless it is told not to."""

    number: int


@pytest.mark.parametrize("kind", ["pydantic", "value", "system"])
def test_errors_that_repeat_a_text_are_stored_without_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: object, events: list[object], *rest: object) -> None:
        text = " ".join(event.content for event in events)
        if kind == "pydantic":
            Strict.model_validate({"number": text})
        raise OSError(28, text, text) if kind == "system" else ValueError(text)

    monkeypatch.setattr(mask, "_mask_all", fail)
    with trails(7) as (home, sources, secrets):
        ran = run(home, sources, "verbatim")
        assert ran.code != 0
        shown = [
            call("status", "--home", home),
            call("sql", "select * from windows", "--home", home),
        ]
        assert leaks(home, secrets, ran, *shown) == {}
