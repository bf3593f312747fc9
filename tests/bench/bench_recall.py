"""Recall: quality on the yardstick in ../shared/recall, through the commands that a user gives.

`run` over its trails, `recall --queries`, and the yardstick's own scorer; once with every message
as a memory (`verbatim`), once with what the rules make of them (`heuristic`). Some minutes each.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SHARED = Path(__file__).parents[2].parent / "shared" / "recall"
INTERVIEWERS = ("verbatim", "heuristic")
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@50", "ndcg@10")
HITS = 50
WITHOUT_FALSE_PREMISES = "ALL (no adversarial)"
"""The scorer's name for all questions that have an answer."""
_COMMAND = (sys.executable, "-c", "from memclaw_etl.cli import main; main()")

Row = tuple[str, float, str]


def quality() -> list[Row]:
    """How much of a question's evidence the first memories hold, by interviewer and data set.

    With 95 % intervals over questions, and the characters that a reader of ten memories gets.
    """
    return [row for interviewer in INTERVIEWERS for row in _quality_of(interviewer)]


def _quality_of(interviewer: str) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        home = ("--home", f"{folder}/home")
        trails = f"buffer={SHARED / 'trails'}"
        _told("run", *home, "--source", trails, "--interviewer", interviewer, "--flush", "--json")
        queries = SHARED / "QUERIES.jsonl"
        answers = Path(folder) / "answers.jsonl"
        answers.write_bytes(_told("recall", *home, "--queries", str(queries), "-k", str(HITS)))
        scorer = (sys.executable, "-B", str(SHARED / "score_recall.py"))
        scored = _output(*scorer, str(queries), str(answers), "--strict", "--json")
    for scores in json.loads(scored)["rows"]:
        if scores["category"] == WITHOUT_FALSE_PREMISES:
            yield from _figures(interviewer, scores)


def _figures(interviewer: str, scores: Mapping[str, Any]) -> Iterator[Row]:
    name = f"{interviewer}, {scores['dataset']}"
    for measure in MEASURES:
        low, high = scores[f"{measure}_ci"]
        yield f"{name} {measure}", 100 * scores[measure], f"% [{100 * low:.1f}, {100 * high:.1f}]"
    yield f"{name} characters of the first 10", scores["chars@10"], ""


def _told(*arguments: str) -> bytes:
    """What a command prints."""
    return _output(*_COMMAND, *arguments)


def _output(*command: str) -> bytes:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    for name, value, unit in quality():
        print(f"{name:52} {value:10.1f} {unit}")
