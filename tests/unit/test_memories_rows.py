from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from memclaw_etl.memories.resolve import resolve
from memclaw_etl.memories.rows import document_of, memory_from, memory_of, rows_of
from tests.unit.memory_values import NOON, WordEmbedder, an_item

EASTERN = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"content": 'He said "no" \\ yes\n\t\u2028 \U0001f6a2 naïve', "title": ""},
        {"ts_start": None, "ts_end": None, "session_id": None, "agent_id": "a'1"},
        {"ts_start": (NOON + timedelta(microseconds=7)).astimezone(EASTERN), "flags": ("doubt",)},
        {"evidence": ((3, 0), (3, 1), (9, 0)), "interviewer": "heuristic", "nearby": "harbour"},
    ],
)
def test_a_memory_comes_back_whole_from_its_document_and_from_its_row(change):
    [memory] = resolve([an_item(**{"ts_end": NOON + timedelta(hours=1)} | change)])
    assert memory_from(document_of(memory)) == memory
    [row] = rows_of([memory], WordEmbedder()).to_pylist()
    assert memory_of(row) == memory_from(row["document"]) == memory


def test_keys_tell_sessions_and_words_apart_and_nothing_else():
    [memory] = resolve([an_item(content="Deploy on Friday!")])
    same = replace(memory, content="deploy,  on FRIDAY", title="other", memory_id="m2")
    elsewhere = replace(memory, session_id="s2", content="Deploy on Monday!", memory_id="m3")
    one, two, three = rows_of([memory, same, elsewhere], WordEmbedder()).to_pylist()
    assert one["words_key"] == two["words_key"] != three["words_key"]
    assert one["session_key"] == two["session_key"] != three["session_key"]
