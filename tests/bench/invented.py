"""Many small invented trails, each of a session of its own, for benches that need numbers."""

import uuid
from pathlib import Path

from tests.trail_lines import joined, prompt, reply, tool_result

TURNS = (
    ("Move the timetable of ferry {n} into its own module, the dock page needs it.",
     "I moved the timetable of ferry {n} into `ferry_{n}.py`; the dock page imports it from there."),
    ("Not a module per ferry please, use one table and key it on the ferry.",
     "Done: one table, keyed on the ferry. Ferry {n} was the only one with its own rules."),
    ("What is still open for ferry {n}?",
     "The night crossing of ferry {n} has no arrival time yet. I cannot guess it: ask the harbour."),
    ("I will ask on Thursday. From now on show me the migration before you run it.",
     "Understood. The migration of ferry {n} is in `{n}_timetable.sql` and has not been run."),
)  # fmt: skip


def write_trails(root: Path, count: int) -> Path:
    """Write `count` trails of 16 lines (8 of them events), 100 to a project folder; give the root."""
    for number in range(count):
        project = root / f"-srv-{number // 100}"
        project.mkdir(parents=True, exist_ok=True)
        session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"ferry {number}"))
        (project / f"{session}.jsonl").write_bytes(lines_of(session, number))
    return root


def lines_of(session: str, number: int) -> bytes:
    """One trail's bytes."""
    records = []
    for turn, (asked, answered) in enumerate(TURNS):
        place = number * 100 + turn * 10
        fields = {"sessionId": session}
        records += [
            prompt(asked.format(n=number), place, **fields),
            tool_result("row, row\n" * 40, place + 1) | fields,
            tool_result("row, row\n" * 40, place + 2) | fields,
            reply(answered.format(n=number), place + 3, **fields),
        ]
    return joined(records)
