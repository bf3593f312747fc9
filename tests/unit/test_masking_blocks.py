"""A message that comes in blocks is one text: what is private in it reaches over all of them."""

import pytest

from memclaw_etl.masking import open_masker
from memclaw_etl.trails.events import TrailKind
from tests.trail_lines import claude, decode, joined, prompt

OPEN, LATER = "Look at the map. <private>the code is", "four one seven"


def blocks(*texts):
    return [{"type": "text", "text": text} for text in texts]


RECORDS = {
    "prompt": (TrailKind.CLAUDE_CODE, prompt(blocks(OPEN, LATER), 1)),
    "reply": (TrailKind.CLAUDE_CODE, claude("assistant", blocks(OPEN, LATER), 1)),
    "cursor": (TrailKind.CURSOR, {"role": "user", "message": {"content": blocks(
        f"<user_query>\n{OPEN}\n</user_query>", f"<user_query>\n{LATER}\n</user_query>")}}),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_an_open_tag_reaches_over_the_later_blocks(name):
    kind, record = RECORDS[name]
    [event] = decode(joined([record]), kind)[0].events
    assert LATER in event.content
    assert open_masker().session().mask(event.content).text.strip() == "Look at the map."


def test_a_closed_one_does_not():
    record = prompt(blocks("<private>my", "code</private> Look at the map."), 1)
    [event] = decode(joined([record]))[0].events
    assert open_masker().session().mask(event.content).text.strip() == "Look at the map."
