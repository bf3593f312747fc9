"""Runs `remask` on a home and kills itself after a step: arguments are the home and the step."""

import os
import signal
import sys
from pathlib import Path

from memclaw_etl.lake.ledger import results, texts
from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.stage_files import StageFiles
from memclaw_etl.service import remask
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from memclaw_etl.stages import remask as stage
from memclaw_etl.stages import remember

OWNERS = {
    "_file": stage._Work,
    "set_current": results,
    "remember": remember,
    "_remask_answers": remask,
    "remove": StageFiles,
    "rewrite": MemoryIndex,
    "wipe": texts,
}


def main() -> None:
    home, point = sys.argv[1:]
    owner = OWNERS[point]
    step = getattr(owner, point)

    def last(*args: object, **kwargs: object) -> None:
        step(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, point, staticmethod(last) if point == "rewrite" else last)
    remask.remask(open_home(load_settings(Path(home))))


main()
