"""A memory of two windows is forgotten, and then everything that can bring a memory back is tried.

Through the command line, with a model that words everything otherwise each time. At the end it is
erased, and every byte under the home is looked at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.interview import model_chunk, model_interviewer
from memclaw_etl.stages import mask
from tests import homes
from tests.cli import call
from tests.openai_server import Call, ModelServer, Reply, report
from tests.trail_lines import joined, prompt, reply

OLD = "Decision: we use Redis for the job queue because it is simpler."
SAME = "Decision: Redis is used for the job queue because it is simpler."
KEPT = "Decision: the export timeout is 30 s, since clients wait."
REWORDED = ("The queue of jobs lives in Redis now.", "Jobs wait in Redis from here on.")
TRACES = (OLD, SAME, *REWORDED, "Redis", "redi")
"""What nobody may find: the texts, the name that they are about, and its stem."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@dataclass
class Teller:
    """A model that notes every event as a decision, and says some of them in other words."""

    words: dict[str, str] = field(default_factory=dict)
    """What an event is about -> how to say it."""

    def __call__(self, asked: Call) -> Reply:
        notes = [
            {"summary": self.say(event["text"]), "evidence": [event["label"]]}
            for event in asked.events
        ]
        return Reply(report(decisions=notes))

    def say(self, text: str) -> str:
        return next((said for about, said in self.words.items() if about in text), text[:150])


@dataclass
class Desk:
    """A home, its trails and its commands."""

    home: Path
    trails: Path
    server: ModelServer

    def name_model(self, name: str, **model: object) -> None:
        self.home.mkdir(exist_ok=True)
        rest = "".join(f"{key} = {value}\n" for key, value in model.items())
        (self.home / "memclaw.toml").write_text(
            f'interviewer = "openai"\n[model]\nname = "{name}"\nbase_url = "{self.server.url}"\n{rest}'
            f'[[sources]]\nkind = "claude_code"\nroot = "{self.trails}"\n'
        )

    def talk(self, name: str, *texts: str, at: int) -> Path:
        path = self.trails / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = []
        for number, text in enumerate(texts):
            lines.append(prompt(f"What shall we do about {name} {number}?", at + 2 * number))
            lines.append(reply(text, at + 2 * number + 1))
        with path.open("ab") as file:
            file.write(joined(lines))
        return path

    def do(self, *command: object, code: int = 0) -> Any:
        done = call(*command, "--home", self.home, "--json")
        assert done.code == code, done.said
        return done.json

    def run(self) -> None:
        assert self.do("run", "--flush")["windows_failed"] == 0

    def backfill(self, *options: str) -> Any:
        return self.do("backfill", *options)

    def memories(self) -> list[dict[str, Any]]:
        return call("memories", "--json-lines", "--home", self.home).rows

    def recalled(self) -> str:
        """Everything that recall and lists show of it."""
        found = [
            call("recall", "Redis job queue", "-k", 50, "--status", "any", "--home", self.home),
            call("recall", OLD, "-k", 50, "--home", self.home, "--json"),
            call("memories", "--json-lines", "--home", self.home),
            call("decisions", "--home", self.home),
        ]
        assert [one.code for one in found] == [0] * len(found)
        return "\n".join(one.stdout.decode() for one in found)

    def assert_forgotten(self) -> None:
        shown = self.recalled()
        assert not re.search("redis", shown, re.IGNORECASE)
        assert KEPT in shown
        assert self.do("audit") == {"findings": []}


@pytest.fixture
def desk(tmp_path: Path, server: ModelServer) -> Desk:
    return Desk(tmp_path / "home", tmp_path / "trails", server)


def assert_nothing_is_stored(desk: Desk) -> None:
    assert homes.holding(desk.home, TRACES) == {}


def index_files(desk: Desk) -> set[Path]:
    """Files of the index that hold rows, or words of rows."""
    kinds = {".lance", ".txn", ".manifest"}
    return {path for path in homes.files(desk.home / "lake" / "index") if path.suffix in kinds}


def test_it_stays_forgotten_and_what_is_erased_is_in_no_store(
    desk: Desk, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    teller = server.script = Teller()
    desk.talk("a", OLD, at=100)
    desk.talk("b", SAME, at=200)
    desk.talk("c", KEPT, at=300)
    desk.name_model("scripted-1")
    desk.run()
    [memory] = [one for one in desk.memories() if len(one["window_keys"]) == 2]
    assert memory["content"] == OLD
    _forget(desk, memory["memory_id"])
    _word_otherwise(desk, teller, monkeypatch)
    _fork(desk, teller)
    assert call("rebuild", "--home", desk.home).code == 0
    desk.assert_forgotten()
    desk.name_model("scripted-3")
    assert desk.backfill()["windows_done"] == 4
    desk.assert_forgotten()
    _erase(desk, memory["memory_id"])
    server.finish_batches = True
    assert desk.backfill("--batch-api")["jobs_open"] == 0
    assert "Redis" in str(server.files)  # what nobody but the endpoint's owner removes
    assert_nothing_is_stored(desk)
    desk.assert_forgotten()
    _read_everything_again(desk, monkeypatch)


def _forget(desk: Desk, memory_id: str) -> None:
    seen = desk.do("forget", memory_id, "--dry-run")
    assert [one["memory_id"] for one in seen["memories"]] == [memory_id]
    assert (seen["events"], len(seen["windows"]), seen["files"]) == (2, 2, [])
    assert re.search("Redis", desk.recalled())
    done = desk.do("forget", memory_id, "--reason", "asked")
    assert (done["events"], done["memories_gone"]) == (2, 1)
    desk.assert_forgotten()


def _word_otherwise(desk: Desk, teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another model says it in other words, and another prompt in others again."""
    teller.words = {"Redis": REWORDED[0]}
    desk.name_model("scripted-2")
    assert desk.backfill()["windows_done"] == 3
    assert homes.holding(desk.home, [REWORDED[0]])
    desk.assert_forgotten()
    teller.words = {"simpler": REWORDED[1]}
    monkeypatch.setattr(model_interviewer.ModelInterviewer, "version", "notes-newer")
    monkeypatch.setattr(model_chunk, "PROMPT_VERSION", "notes-newer")
    assert desk.backfill()["windows_done"] == 3
    assert homes.holding(desk.home, [REWORDED[1]])
    desk.assert_forgotten()


def _fork(desk: Desk, teller: Teller) -> None:
    """The same lines in another file, and new ones that say the very same."""
    teller.words = {}
    (desk.trails / "fork.jsonl").write_bytes((desk.trails / "a.jsonl").read_bytes())
    desk.talk("fork", f"Noted. {OLD} Next?", OLD.upper(), "We go on.", at=400)
    desk.run()
    assert "We go on." in desk.recalled()
    desk.assert_forgotten()


def _erase(desk: Desk, memory_id: str) -> None:
    """While a batch with its text is under way at the Batch API."""
    places = set().union(*homes.holding(desk.home, [OLD, "redi"]).values())
    assert {"/".join(place.split("/")[1:2]) for place in places} >= {"responses", "stages", "index"}
    desk.name_model("scripted-4")
    desk.server.finish_batches = False
    assert desk.backfill("--batch-api")["jobs_open"] == 1
    looked = desk.do("forget", memory_id, "--erase", "--dry-run")
    assert looked["is_forgotten"]
    assert homes.holding(desk.home, [OLD])
    before = index_files(desk)
    erased = desk.do("forget", memory_id, "--erase", "--reason", "the law")
    assert erased["erased"]
    assert erased["files_rewritten"] == len(looked["files"])
    assert erased["answers_removed"] == looked["answers"] > 0
    assert before.isdisjoint(index_files(desk))
    assert_nothing_is_stored(desk)
    trails = {str(desk.trails / f"{name}.jsonl") for name in ("a", "b", "fork")}
    assert trails < set(erased["not_erased"])
    [batch] = set(erased["not_erased"]) - trails
    assert "batch-0" in batch
    desk.assert_forgotten()


def _read_everything_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trail, and one more that says it once again."""
    monkeypatch.setattr(mask, "DECODER_VERSION", "another")
    desk.name_model("scripted-5")
    desk.talk("again", f"By the way:\n{OLD}\nThat was it.", "We go on again.", at=500)
    desk.run()
    assert desk.backfill()["windows_failed"] == 0
    assert call("remask", "--home", desk.home).code == 0
    assert call("rebuild", "--home", desk.home).code == 0
    assert_nothing_is_stored(desk)
    desk.assert_forgotten()
    assert "We go on again." in desk.recalled()
