"""The command line as a contract: shapes, exit codes, what is on which stream."""

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memclaw_etl.cli import app
from memclaw_etl.cli.running import DEMO_QUESTION
from memclaw_etl.examples import example_sources
from memclaw_etl.service import planning
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import SourceSettings, load_settings
from tests.cli import Called, call
from tests.trail_lines import dumped, joined, prompt, reply

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "demo", "run", "ui", "status", "lineage", "audit", "sql", "doctor", "recall", "memories",
    "events", "mask", "skip", "retry", "rebuild", "remask", "reembed", "backfill", "forget", "decisions",
    "undo", "delete", "undelete",
)  # fmt: skip
RUN_COUNTS = (
    "nodes", "windows_planned", "windows_committed", "windows_failed", "windows_held", "events",
    "noise_lines", "quarantined_lines", "masked_spans", "chunks", "memories_added",
    "memories_updated", "memories_noop", "llm_calls", "llm_cache_hits", "llm_tokens",
)  # fmt: skip
STATUS_FIELDS = {
    "node_id", "source", "path", "last_seq", "head_seq", "lag", "committed", "held", "failed",
    "quarantined", "last_interview_at",
}  # fmt: skip
EVENT_FIELDS = {"file", "seq", "part", "ts", "session_id", "role", "kind", "content"}
SECRET = "Heron" + "-14-ferry-Anchor"
"""Invented; told as a password in the trails that are written here."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home on which the demo has run once. Tests only read it."""
    home = tmp_path_factory.mktemp("demo") / "home"
    done = call("demo", "--home", home, "--json")
    assert done.code == 0, done.said
    return home


@pytest.fixture
def own_home(demo: Path, tmp_path: Path) -> Path:
    """A copy of the demo's home, to change."""
    return Path(shutil.copytree(demo, tmp_path / "home"))


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    """A trail of two turns, one of which tells a password."""
    path = tmp_path / "trails" / "0a0a0a0a-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir()
    path.write_bytes(
        joined(
            [
                prompt(
                    f"The relay password = '{SECRET}', please mail the ferry plan on Fridays", 1
                ),
                reply("Done: the ferry plan is mailed every Friday at 18:00.", 2),
                prompt("Not on holidays though. And never mail drafts.", 3),
                reply("Holidays are left out now, and drafts are never mailed.", 4),
            ]
        )
    )
    return path


def run(home: Path, trail: Path, *more: object) -> Called:
    return call("run", "--home", home, "--source", f"claude_code={trail}", "--json", *more)


def memories(home: Path) -> list[dict[str, Any]]:
    return call("memories", "--home", home, "--json-lines").rows


# -- the main job ----------------------------------------------------------------------------------


def test_demo_says_what_it_did(tmp_path: Path) -> None:
    done = call("demo", "--home", tmp_path / "home", "--json")
    assert done.code == 0
    assert done.json["run"]["nodes"] == 4
    assert done.json["run"]["windows_committed"] == done.json["run"]["windows_planned"] == 4
    assert done.json["run"]["windows_failed"] == 0
    assert done.json["run"]["memories_added"] == len(memories(tmp_path / "home")) > 10
    assert done.json["question"] == DEMO_QUESTION


def test_demos_answer_is_the_decision_that_was_asked_for(demo: Path) -> None:
    best = call("recall", DEMO_QUESTION, "--home", demo, "--json").json[0]
    assert best["memory_type"] == "decision"
    assert "ON CONFLICT DO NOTHING" in best["content"]


def test_demo_again_plans_nothing_and_leaves_the_same_memories(own_home: Path) -> None:
    before = memories(own_home)
    again = call("demo", "--home", own_home, "--json")
    assert again.code == 0
    counts = {name: again.json["run"][name] for name in RUN_COUNTS if name != "nodes"}
    assert counts == dict.fromkeys(counts, 0)
    assert memories(own_home) == before


def test_demo_for_people_ends_with_nodes_answer_and_the_way_to_the_ui(own_home: Path) -> None:
    text = call("demo", "--home", own_home).stdout.decode()
    for node in call("status", "--home", own_home, "--json").json:
        assert node["node_id"] in text
    assert f'recall "{DEMO_QUESTION}"' in text
    assert f"memclaw-etl ui --home {own_home}" in text


def test_run_has_the_counts_of_the_contract(trail: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "home", trail, "--flush")
    assert done.code == 0, done.said
    assert {name: type(done.json[name]) for name in RUN_COUNTS} == dict.fromkeys(RUN_COUNTS, int)
    assert isinstance(done.json["seconds"], float)
    assert (done.json["nodes"], done.json["events"], done.json["masked_spans"]) == (1, 4, 1)


def test_run_again_after_growth_takes_only_what_is_new(trail: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(home, trail, "--flush")
    before = {row["memory_id"] for row in memories(home)}
    assert run(home, trail, "--flush").json["windows_planned"] == 0
    with trail.open("ab") as file:
        file.write(
            dumped(prompt("Use Baltic time for the plan from now on, never UTC.", 5)) + b"\n"
        )
    grown = run(home, trail, "--flush").json
    assert (grown["windows_planned"], grown["windows_committed"], grown["events"]) == (1, 1, 1)
    assert before < {row["memory_id"] for row in memories(home)}


def test_a_trickle_waits_without_flush(trail: Path, tmp_path: Path) -> None:
    os.utime(trail)
    done = run(tmp_path / "home", trail)
    assert (done.code, done.json["windows_planned"]) == (0, 0)


def test_run_takes_sources_from_the_settings(trail: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "memclaw.toml").write_text(
        f'[[sources]]\nkind = "claude_code"\nroot = "{trail.parent}"\n'
    )
    assert call("run", "--home", home, "--flush", "--json").json["windows_committed"] == 1


def test_verbatim_makes_one_memory_of_each_event(trail: Path, tmp_path: Path) -> None:
    run(tmp_path / "home", trail, "--flush", "--interviewer", "verbatim")
    found = memories(tmp_path / "home")
    assert sorted(row["lines"] for row in found) == [[0], [1], [2], [3]]
    assert {row["interviewer"] for row in found} == {"verbatim"}


def test_many_projects_are_not_opened_without_include(tmp_path: Path) -> None:
    root, include = next(
        (root, inc) for kind, root, inc in example_sources() if kind == "claude_code"
    )
    arguments = (
        "--home",
        tmp_path / "home",
        "--source",
        f"claude_code={root}",
        "--flush",
        "--json",
    )
    assert call("run", *arguments).json["nodes"] == 0
    assert call("run", *arguments, "--include", include[0]).json["nodes"] == 2


def pinned_and_gone(home: Path, trail: Path) -> str:
    """Pin the trail's lines as a window whose trail is gone before anything was masked."""
    bench = open_home(load_settings(home))
    source = SourceSettings(kind="claude_code", root=trail)
    assert planning.look(bench, [source], flush=True).windows == 1
    trail.rename(trail.with_suffix(".away"))
    (window,) = planning.owed(bench, limit=9)
    bench.ledger.engine.dispose()
    return window.partition_key


def test_a_failed_window_is_exit_1_and_done_once_its_trail_is_back(
    trail: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    key = pinned_and_gone(home, trail)
    failed = call("run", "--home", home, "--source", f"claude_code={trail.parent}", "--json")
    assert (failed.code, failed.json["windows_failed"]) == (1, 1)
    assert any(key in problem["message"] for problem in failed.json["problems"])
    assert call("status", "--home", home, "--json").json[0]["failed"] == 1
    trail.with_suffix(".away").rename(trail)
    assert call("retry", key, "--home", home).code == 0
    assert run(home, trail).json["windows_committed"] == 1
    assert call("status", "--home", home, "--json").json[0]["lag"] == 0


def test_skip_lets_the_watermark_pass_and_is_recorded(trail: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = pinned_and_gone(home, trail)
    skipped = call("skip", key, "--reason", "the laptop was lost", "--home", home)
    assert skipped.code == 0
    status = call("status", "--home", home, "--json").json[0]
    assert (status["last_seq"], status["lag"], status["skipped"]) == (3, 0, 1)
    decisions = call("sql", "select action, reason from decisions", "--home", home, "--json").json
    assert decisions == [{"action": "skip", "reason": "the laptop was lost"}]


# -- looking ---------------------------------------------------------------------------------------


def test_status_has_the_fields_of_the_contract(demo: Path) -> None:
    rows = call("status", "--home", demo, "--json").json
    assert len(rows) == 4
    for row in rows:
        assert row.keys() >= STATUS_FIELDS
        assert row["last_seq"] == row["head_seq"]
        assert (row["lag"], row["committed"], row["held"], row["failed"]) == (0, 1, 0, 0)
        assert datetime.fromisoformat(row["last_interview_at"]).tzinfo is not None


def test_status_of_a_new_home_is_an_empty_list(tmp_path: Path) -> None:
    assert call("status", "--home", tmp_path / "home", "--json").json == []


def test_recall_filters_by_type_node_and_time(demo: Path) -> None:
    every = call("recall", "alerts", "-k", 50, "--home", demo, "--json").json
    some = call("recall", "alerts", "-k", 50, "--type", "decision", "--home", demo, "--json").json
    assert {hit["memory_type"] for hit in some} == {"decision"}
    assert len(some) < len(every)
    node = every[0]["node_id"]
    own = call("recall", "alerts", "-k", 50, "--node", node, "--home", demo, "--json").json
    assert {hit["node_id"] for hit in own} == {node}
    late = call("recall", "alerts", "--since", "2026-05-09", "--home", demo, "--json").json
    assert late
    assert all(hit["ts_valid_end"] >= "2026-05-09" for hit in late)
    assert call("recall", "alerts", "--since", "2199-01-01", "--home", demo, "--json").json == []
    early = call("recall", "alerts", "--until", "2026-05-09", "--home", demo, "--json").json
    assert early
    assert all(hit["ts_valid_start"] < "2026-05-09" for hit in early)
    other = call("recall", "alerts", "--tenant", "someone-else", "--home", demo, "--json")
    assert (other.code, other.stdout) == (2, b"")
    assert "there is no tenant 'someone-else'" in other.said


def test_recall_is_ordered_and_explained(demo: Path) -> None:
    hits = call("recall", "cut messages", "-k", 5, "--home", demo, "--json").json
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert hit["score"] == pytest.approx(sum(hit["explanation"].values()))


def test_recall_of_a_file_of_questions(demo: Path, tmp_path: Path) -> None:
    stem = Path(memories(demo)[0]["file"]).stem
    questions = [
        {"query_id": "a", "question": "which index stops duplicate alerts?"},
        {"query_id": "b", "question": "what did we decide?", "conversation": stem},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in questions))
    rows = call("recall", "--queries", file, "-k", 3, "--home", demo).rows
    assert [row["query_id"] for row in rows] == ["a", "b"]
    for row in rows:
        assert row.keys() == {"query_id", "ranked", "chars"}
        assert len(row["ranked"]) == len(row["chars"]) == 3
        assert all(isinstance(seq, int) for seqs in row["ranked"] for seq in seqs)
        assert all(isinstance(chars, int) for chars in row["chars"])


def test_memories_name_file_lines_and_time(demo: Path) -> None:
    names = {path.name for _, root, _ in example_sources() for path in root.rglob("*.jsonl")}
    rows = memories(demo)
    assert {row["file"] for row in rows} == names
    assert all(row["lines"] == sorted(set(row["lines"])) and row["lines"] for row in rows)
    times = [row["ts_valid_start"] for row in rows if row["ts_valid_start"]]
    assert times == sorted(times)
    assert len({row["memory_id"] for row in rows}) == len(rows)


def test_lineage_reaches_the_trail_lines(demo: Path) -> None:
    for memory in memories(demo):
        traced = call("lineage", memory["memory_id"], "--home", demo, "--json").json
        assert traced["memory"]["content"] == memory["content"]
        assert [item["item_id"] for item in traced["items"]] == memory["item_ids"]
        seqs = {line["seq"] for item in traced["items"] for line in item["lines"]}
        assert seqs == set(memory["lines"])
        item = traced["items"][0]
        assert (item["interviewer"], item["prompt_version"]) == (
            "heuristic",
            memory["prompt_version"],
        )
        assert item["chunk_file"].endswith(".parquet")
        assert Path(item["lines"][0]["file"]).name == memory["file"]


def test_audit_of_a_good_home_finds_nothing(demo: Path) -> None:
    done = call("audit", "--home", demo, "--json")
    assert (done.code, done.json) == (0, {"findings": []})


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_audit_finds_a_damaged_file_and_says_which(own_home: Path, damage: str) -> None:
    file = next((own_home / "lake" / "stages" / "merged_report").rglob("*.parquet"))
    if damage == "changed":
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    else:
        file.unlink()
    done = call("audit", "--home", own_home, "--json")
    assert done.code == 1
    found = {one["check"]: one for one in done.json["findings"]}
    assert found.keys() == {"files_intact", "index_matches_items"}
    assert found["files_intact"]["where"].endswith(file.name)
    assert "could not be compared" in found["index_matches_items"]["message"]


def test_audit_finds_a_memory_that_the_index_lost(own_home: Path) -> None:
    shutil.rmtree(own_home / "lake" / "index")
    done = call("audit", "--home", own_home, "--json")
    assert done.code == 1
    assert {one["check"] for one in done.json["findings"]} == {"index_matches_items"}


def test_rebuild_makes_the_same_memories(own_home: Path) -> None:
    before = memories(own_home)
    shutil.rmtree(own_home / "lake" / "index")
    assert call("rebuild", "--home", own_home).code == 0
    assert memories(own_home) == before
    assert call("audit", "--home", own_home).code == 0


@pytest.mark.parametrize(
    ("view", "counted"),
    [("nodes", 4), ("windows", 4), ("watermarks", 4), ("batches", 1), ("decisions", 0)],
)
def test_sql_over_the_ledger(demo: Path, view: str, counted: int) -> None:
    answer = call("sql", f"select count(*) as n from {view}", "--home", demo, "--json").json
    assert answer == [{"n": counted}]


def test_sql_joins_stages_and_memories(demo: Path) -> None:
    statement = """
        select m.memory_id, i.item_id, w.state
        from memories m
        join items i on list_contains(m.item_ids, i.item_id)
        join windows w using (partition_key)
        where exists (select 1 from mini_reports r where r.partition_key = i.partition_key)
          and exists (select 1 from chunks c where c.partition_key = i.partition_key)
    """
    rows = call("sql", statement, "--home", demo, "--json").json
    assert {row["memory_id"] for row in rows} == {row["memory_id"] for row in memories(demo)}
    assert {row["state"] for row in rows} == {"committed"}


def test_sql_for_people_prints_text_as_it_is(demo: Path) -> None:
    done = call("sql", "select '[bold]x[/nothing]' as a, 'y\u001b[31mz' as b", "--home", demo)
    assert done.code == 0
    assert b"[bold]x[/nothing]" in done.stdout
    assert b"\x1b" not in done.stdout


def test_sql_cannot_read_other_files_or_write(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    for statement in (
        f"select * from read_csv('{tmp_path / 'x.csv'}')",
        f"copy (select 1) to '{tmp_path / 'y.csv'}'",
        "attach 'z.duckdb' as z",
    ):
        refused = call("sql", statement, "--home", demo)
        assert (refused.code, refused.stdout) == (2, b""), statement
    assert not (tmp_path / "y.csv").exists()


def test_an_error_while_sql_runs_is_a_message_without_values(demo: Path) -> None:
    refused = call("sql", "select cast(content as integer) from items", "--home", demo)
    assert (refused.code, refused.stdout) == (2, b"")
    assert "Could not convert string '…' to INT32" in refused.said
    assert not [row for row in memories(demo) if row["content"] in refused.said]


# -- pieces ----------------------------------------------------------------------------------------


def test_events_have_exactly_the_fields_of_the_contract(tmp_path: Path) -> None:
    for kind, root, include in example_sources():
        options = ("--include", include[0]) if include else ()
        done = call("events", kind, root, "--json-lines", *options, "--home", tmp_path)
        assert done.code == 0, done.said
        assert done.rows
        assert all(row.keys() == EVENT_FIELDS for row in done.rows)
        assert {row["role"] for row in done.rows} <= {"user", "assistant"}


def test_events_with_quarantined_lines_are_exit_1_without_their_text(
    trail: Path, tmp_path: Path
) -> None:
    with trail.open("ab") as file:
        file.write(f"{{broken {SECRET}\n".encode())
    done = call("events", "claude_code", trail, "--json-lines", "--home", tmp_path)
    assert (done.code, len(done.rows)) == (1, 4)
    assert "quarantined at seq 4" in done.said
    assert SECRET not in done.said


def test_doctor_counts_and_never_quotes(trail: Path, tmp_path: Path) -> None:
    clean = call("doctor", "claude_code", trail, "--home", tmp_path, "--json")
    assert clean.code == 0
    assert clean.json["files"][0]["lines"] == 4
    with trail.open("ab") as file:
        file.write(f"{{broken {SECRET}\n".encode())
    for form in (("--json",), ()):
        broken = call("doctor", "claude_code", trail, "--home", tmp_path, *form)
        assert broken.code == 1
        assert SECRET.encode() not in broken.stdout + broken.stderr
        assert b"ferry plan" not in broken.stdout + broken.stderr


def test_mask_answers_line_by_line(tmp_path: Path) -> None:
    texts = {
        "a": f"password = '{SECRET}' it is",
        "b": "nothing here",
        "c": "x <private>y</private>",
    }
    given = b"".join(dumped({"id": name, "text": text}) + b"\n" for name, text in texts.items())
    rows = call("mask", "--home", tmp_path, stdin=given).rows
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert all(row.keys() == {"id", "text", "findings"} for row in rows)
    (found,) = rows[0]["findings"]
    assert found.keys() == {"kind", "start", "end"}
    assert texts["a"][found["start"] : found["end"]] == SECRET
    assert SECRET not in rows[0]["text"]
    assert rows[1] == {"id": "b", "text": "nothing here", "findings": []}
    assert [one["kind"] for one in rows[2]["findings"]] == ["private"]


def test_mask_takes_personal_data_as_it_is_told(tmp_path: Path) -> None:
    given = dumped({"id": 1, "text": "write to ann.lee@corp.io"}) + b"\n"
    (left,) = call("mask", "--home", tmp_path, stdin=given).rows
    assert (left["text"], left["findings"]) == ("write to ann.lee@corp.io", [])
    (masked,) = call("mask", "--home", tmp_path, "--personal-data", "mask", stdin=given).rows
    assert masked["text"] == "write to [MASKED:email:1]"
    (tmp_path / "memclaw.toml").write_text('personal_data = "flag"\n', encoding="utf-8")
    (flagged,) = call("mask", "--home", tmp_path, stdin=given).rows
    assert (flagged["text"], flagged["findings"]) == ("write to ann.lee@corp.io", [])
    assert flagged["flagged"] == [{"kind": "email", "start": 9, "end": 24}]


@pytest.mark.parametrize(
    "line",
    [b"no json", b"[1]", b'{"id": 1}', b'{"id": 1, "text": 5}', b'{"id": 1, "text": "\xff"}'],
)
def test_mask_refuses_a_bad_line_by_its_number_only(tmp_path: Path, line: bytes) -> None:
    good = dumped({"id": 0, "text": "fine"}) + b"\n"
    done = call("mask", "--home", tmp_path, stdin=good + line + b"\n")
    assert done.code == 2
    assert len(done.rows) == 1
    assert "line 2 of the input" in done.said
    assert line.decode("latin-1") not in done.said


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), "no sources: give --source KIND=PATH"),
        (("run", "--source", "trails"), "expected KIND=PATH"),
        (("run", "--source", "word=/x"), "KIND one of claude_code, cursor"),
        (("run", "--include", "*"), "--include belongs to --source"),
        (("run", "--source", "buffer=/x", "--interviewer", "nobody"), "'nobody'"),
        (("recall",), "either a question or --queries"),
        (("recall", "x", "--queries", "y"), "either a question or --queries"),
        (("recall", "x", "--since", "tomorrow"), "7d, 12h, 4w"),
        (("recall", "x", "--type", "thought"), "decision, episode"),
        (("recall", "--queries", "/nowhere/q.jsonl"), "/nowhere/q.jsonl"),
        (("lineage", "mem_0"), "there is no memory mem_0"),
        (("sql", "select * from nothing"), "views: nodes"),
        (("sql", "not sql"), "syntax error"),
        (("skip", "cc:a@0-1", "--reason", "x"), "the ledger has no window cc:a@0-1"),
        (("skip", "no key", "--reason", "x"), "partition key"),
        (("skip", "cc:a@0-1"), "--reason"),
        (("retry", "cc:a@0-1"), "the ledger has no window"),
        (("events", "word", "/x"), "unknown kind 'word'"),
        (("doctor", "word", "/x"), "unknown kind 'word'"),
        (("nonsense",), "No such command"),
        (("status", "--nonsense"), "No such option"),
    ],
)  # fmt: skip
def test_usage_errors_are_exit_2_and_one_clear_message(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    home = () if arguments[0] == "nonsense" else ("--home", tmp_path / "home")
    done = call(*arguments, *home)
    assert (done.code, done.stdout) == (2, b"")
    assert words in " ".join(done.said.split())
    assert "Traceback" not in done.said


@pytest.mark.parametrize("command", ["events", "doctor"])
def test_a_root_that_is_not_there_is_exit_75(command: str, tmp_path: Path) -> None:
    done = call(command, "claude_code", tmp_path / "away", "--home", tmp_path)
    assert (done.code, done.stdout) == (75, b"")
    assert str(tmp_path / "away") in done.said


def test_settings_errors_name_the_field_and_not_the_value(tmp_path: Path) -> None:
    (tmp_path / "memclaw.toml").write_text(f'interviewer = "{SECRET}"\n[limits]\nlease_s = -1\n')
    done = call("status", "--home", tmp_path)
    assert (done.code, done.stdout) == (2, b"")
    assert "interviewer" in done.said
    assert "limits.lease_s" in done.said
    assert SECRET not in done.said


def test_settings_that_are_no_toml(tmp_path: Path) -> None:
    (tmp_path / "memclaw.toml").write_text("sources = [")
    done = call("status", "--home", tmp_path)
    assert (done.code, done.stdout) == (2, b"")
    assert "memclaw.toml is not valid TOML" in done.said


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    done = call("status", "--home", tmp_path / "home")
    assert (done.code, done.stdout) == (2, b"")
    assert "choose another with --home" in done.said


def test_a_home_of_another_ledger(own_home: Path) -> None:
    (own_home / "ledger.sqlite").unlink()
    done = call("status", "--home", own_home)
    assert done.code == 2
    assert "delete the Dagster home" in done.said


# -- help, streams, start-up -----------------------------------------------------------------------


def test_every_command_is_listed_and_teaches() -> None:
    names = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    assert names == set(COMMANDS)
    overview = call("--help").stdout.decode()
    for name in COMMANDS:
        assert f" {name} " in overview
        text = call(name, "--help").stdout.decode()
        assert f"Usage: memclaw-etl {name}" in text
        assert len(" ".join(text.split())) > 200


def test_no_command_prints_the_help() -> None:
    assert b"memclaw-etl demo" in call().stdout


def shell(*arguments: object, home: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, so that nothing that bypasses `sys.stdout` goes unseen."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MEMCLAW", "DAGSTER"))}
    command = [sys.executable, "-c", "from memclaw_etl.cli import main; main()"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        env=environment | {"MEMCLAW_HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


def test_stdout_of_a_real_process_is_only_the_document(tmp_path: Path) -> None:
    done = shell("demo", "--json", home=tmp_path / "home")
    assert done.returncode == 0
    assert json.loads(done.stdout)["run"]["windows_failed"] == 0
    assert done.stderr == b""


def test_lines_in_a_pipe_are_never_wrapped(demo: Path) -> None:
    done = shell("memories", home=demo)
    assert len(done.stdout.splitlines()) == len(memories(demo))
    table = shell("sql", "select content, memory_id from memories", home=demo).stdout.decode()
    assert all(row["content"] in table and row["memory_id"] in table for row in memories(demo))


def test_a_reader_that_leaves_early_is_no_error(demo: Path) -> None:
    command = f'"{sys.executable}" -c "from memclaw_etl.cli import main; main()" memories | head -1'
    environment = os.environ | {"MEMCLAW_HOME": str(demo), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupted_command_says_that_nothing_is_lost(tmp_path: Path) -> None:
    environment = os.environ | {"MEMCLAW_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "from memclaw_etl.cli import main; main(['mask'])"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    ) as waiting:
        assert waiting.stdin is not None
        assert waiting.stdout is not None
        waiting.stdin.write(b'{"id": 1, "text": "' + b"x" * 100_000 + b'"}\n')
        waiting.stdin.flush()
        waiting.stdout.read(1)
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert said.decode().startswith("interrupted: nothing is lost")


HEAVY = ("dagster", "duckdb", "lancedb", "numpy", "onnxruntime", "polars", "pyarrow", "sqlalchemy")


@pytest.mark.parametrize(
    ("arguments", "may_load"),
    [
        (("--help",), ()),
        (("mask",), ()),
        (("status",), ("numpy", "polars", "pyarrow", "sqlalchemy")),
    ],
)
def test_a_command_loads_only_what_it_needs(
    arguments: tuple[str, ...], may_load: tuple[str, ...], tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom memclaw_etl.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit: pass\n"
        f"print([one for one in {HEAVY!r} if one in sys.modules], file=sys.stderr)"
    )
    environment = os.environ | {"MEMCLAW_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, stdin=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    loaded = done.stderr.decode().splitlines()[-1]
    assert set(json.loads(loaded.replace("'", '"'))) <= set(may_load)


# -- recall's forms and times ----------------------------------------------------------------------


def test_recall_as_markdown_is_one_document_within_its_characters(demo: Path) -> None:
    done = call("recall", DEMO_QUESTION, "--format", "markdown", "--chars", 1500, "--home", demo)
    text = done.stdout.decode()
    assert done.code == 0
    assert text.startswith("# Memories\n")
    assert len(text) <= 1500
    best = call("recall", DEMO_QUESTION, "--home", demo, "--json").json[0]
    assert f"- [1] `{best['memory_id']}` from `{best['file']}:" in text


def test_recall_says_what_time_words_mean_on_stderr_or_above(demo: Path) -> None:
    asked = ("recall", "what was decided about alerts in May 2026?", "--home", demo)
    hits = call(*asked, "--json")
    assert "time: in May 2026 (2026-05-01..2026-05-31)" in hits.said
    assert {hit["in_time"] for hit in hits.json} <= {True, False}
    assert {hit["time"] for hit in hits.json} == {"in May 2026 (2026-05-01..2026-05-31)"}
    assert b"time: in May 2026 (2026-05-01..2026-05-31)" in call(*asked).stdout
    plainly = call(*asked, "--json", "--no-time-words")
    assert (plainly.said, {hit["in_time"] for hit in plainly.json}) == ("", {None})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x", "--json", "--format", "markdown"), "give one of them"),
        (("--queries", "q", "--type", "fact"), "takes no filters but -k"),
        (("x", "--format", "markdown", "--chars", "10"), "are too few"),
        (("x", "--until", "tomorrow"), "--until 'tomorrow'"),
        (("x", "--valid-at", "then"), "--valid-at 'then'"),
        (("x", "--since", "2026-05-02", "--until", "2026-05-01"), "nothing lies between"),
        (("x", "--as", "nobody"), "no [[grants]] for reader 'nobody'"),
        (("x", "--namespace", "nowhere"), "there is no namespace 'nowhere'"),
        (("x", "--node", "cc:nowhere"), "there is no node 'cc:nowhere'"),
    ],
)
def test_recall_refuses_what_contradicts_itself_or_is_not_there(
    demo: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = call("recall", *arguments, "--home", demo)
    assert (done.code, done.stdout) == (2, b"")
    assert words in " ".join(done.said.split())


def test_status_of_one_tenant(demo: Path) -> None:
    every = call("status", "--home", demo, "--json").json
    assert call("status", "--tenant", "default", "--home", demo, "--json").json == every
    assert call("status", "--tenant", "nobody", "--home", demo).code == 2


def test_sql_on_the_homes_own_tables_is_for_who_asks_for_all_tenants(demo: Path) -> None:
    refused = call("sql", "select * from model_spending", "--home", demo)
    assert refused.code == 2
    assert "with --all-tenants: breakers" in refused.said
    assert call("sql", "select * from model_spending", "--all-tenants", "--home", demo).code == 0
    together = call("sql", "select 1", "--all-tenants", "--tenant", "default", "--home", demo)
    assert together.code == 2
