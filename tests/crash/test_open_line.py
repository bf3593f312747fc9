"""An unterminated last line is taken when the trail is idle; what comes behind it is never lost."""

from pathlib import Path

import pytest

from tests.crash.harness import Lab, assert_whole, turns
from tests.trail_lines import dumped, reply

pytestmark = pytest.mark.crash

OPEN = dumped(reply("The last answer, whose newline is not written yet.", 900, uuid="open"))
GLUED = dumped(reply("A record that is glued to it.", 901, uuid="glued"))
NORMAL = dumped(reply("A normal line.", 902, uuid="normal")) + b"\n"
A = "ferry"


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_each_event_once_when_a_record_is_glued_to_it(tmp_path: Path, killed: bool) -> None:
    lab = Lab(tmp_path)
    lab.append(A, turns(0, 2, session=A) + OPEN)
    if killed:
        lab.crash("in_commit")
    else:
        lab.run()
        assert assert_whole(lab, A).windows[-1].ends_open
    lab.append(A, GLUED + b"\n")
    lab.run()
    lab.append(A, NORMAL)
    lab.run()
    seen = assert_whole(lab, A)
    first, second, third = seen.windows
    assert (first.ends_open, second.from_part, second.cursor_from) == (True, 1, first.cursor_to)
    assert (third.cursor_from, third.from_part) == (first.cursor_to + 1, 0)
    assert {"uuid:open", "uuid:glued", "uuid:normal"} <= {
        row["identity"] for row in lab.sql("select identity from chunks where not context")
    }


def test_a_newline_that_comes_later_only_closes_the_line(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.append(A, turns(0, 2, session=A) + OPEN)
    lab.run()
    lab.append(A, b"\n" + NORMAL)
    lab.run()
    seen = assert_whole(lab, A)
    assert [window.from_part for window in seen.windows] == [0, 0]
