"""Runs `reembed` on a home and kills itself after a step: home, endpoint, step, how many times."""

import os
import signal
import sys
from pathlib import Path

from memclaw_etl.lake.memory_index import MemoryIndex
from memclaw_etl.lake.vectors import VectorFiles
from memclaw_etl.service import reembed
from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings

OWNERS = {"put": VectorFiles, "remake": MemoryIndex, "note_made_by": reembed, "_embed": reembed}


def main() -> None:
    home, url, point, times = sys.argv[1:]
    owner, left = OWNERS[point], int(times)
    step = getattr(owner, point)

    def last(*args: object, **kwargs: object) -> None:
        nonlocal left
        step(*args, **kwargs)
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, point, staticmethod(last) if point == "remake" else last)
    embedding = {"provider": "openai", "model": "m", "base_url": url, "batch_texts": 2}
    reembed.reembed(open_home(load_settings(Path(home), embedding=embedding | {"concurrency": 1})))


main()
