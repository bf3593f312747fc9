"""Windows in any order and any batches end in the same memories; what people decide stays."""

from dataclasses import replace

import pytest

from memclaw_etl.memories.catalogue import all_memories
from memclaw_etl.service.audit import audit
from memclaw_etl.service.rebuild import rebuild
from tests.staged import Home, home
from tests.trail_lines import joined, prompt, reply

__all__ = ["home"]

TALKS = (
    "Decision: the export timeout is 30 s, since clients wait.",
    "Decision: we use Redis for the job queue because it is simpler.",
    "Decision: the export timeout is 60 s, since clients wait.",
    "Decision: Redis is used for the job queue because it is simpler.",
    "Decision: we use Kafka for the job queue because it is simpler.",
    "Decision: the export timeout is 90 s, since clients wait.",
)


TIMEOUT = "Decision: the export timeout is {} s, since clients wait."
QUEUE = "Decision: we use {} for the job queue because it is simpler."
STORY = [
    (TIMEOUT.format(30), "superseded", "changed_figure"),
    (TIMEOUT.format(60), "superseded", "changed_figure"),
    (TIMEOUT.format(90), "active", None),
    (QUEUE.format("Kafka"), "active", None),
    (QUEUE.format("Redis"), "superseded", "changed_value"),
]


def talk(home: Home) -> None:
    for number, text in enumerate(TALKS):
        lines = [prompt(f"What shall we do about point {number}?", 100 * number)]
        lines.append(reply(text, 100 * number + 1))
        (home.trails / f"{number}.jsonl").write_bytes(joined(lines))


def live(home: Home):
    return [replace(one, masker_version="") for one in all_memories(home.bench.index)]


def story(home: Home):
    return sorted((one.content, one.status, one.superseded_why) for one in live(home))


@pytest.mark.parametrize(
    "order", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (3, 5, 0, 4, 2, 1)], ids=str
)
@pytest.mark.parametrize("batched", [False, True], ids=["one by one", "two batches"])
def test_any_order_and_batching_ends_in_what_a_rebuild_makes(home: Home, order, batched):
    talk(home)
    windows = home.pin()
    chosen = [windows[i] for i in order]
    for some in [chosen[:4], chosen[4:]] if batched else [[one] for one in chosen]:
        home.run(some)
    assert audit(home.bench) == []
    before = live(home)
    assert story(home) == STORY
    rebuild(home.bench)

    assert live(home) == before
