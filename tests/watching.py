"""A folder of trails, a ledger, and looks at both, for tests of pinning and scanning."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memclaw_etl.lake.ledger import Ledger, Node, Window, WindowState, nodes, windows
from memclaw_etl.settings import Limits, NamespaceSettings
from memclaw_etl.trails.discovery import Source
from memclaw_etl.trails.events import Event, TrailKind
from memclaw_etl.windows import read, scan
from memclaw_etl.windows.scan import Budget, Scan
from tests.conftest import Clock


@dataclass
class Watched:
    """Trails below `root`, watched by one ledger with a clock that we move."""

    ledger: Ledger
    clock: Clock
    root: Path
    limits: Limits = field(default_factory=Limits)
    sources: Sequence[Source] = ()
    namespaces: Sequence[NamespaceSettings] = ()

    def write(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def append(self, name: str, data: bytes) -> None:
        with (self.root / name).open("ab") as file:
            file.write(data)

    def look(self, *, flush: bool = False, budget: Budget | None = None) -> Scan:
        return scan.scan(
            self.ledger,
            self.sources or [Source(TrailKind.CLAUDE_CODE, self.root, ("*",))],
            self.limits,
            machine12="m",
            flush=flush,
            namespaces=self.namespaces,
            budget=budget,
        )

    def nodes(self) -> list[Node]:
        with self.ledger.read() as tx:
            return nodes.all_nodes(tx)

    def node(self, session: str = "one") -> Node:
        return next(node for node in self.nodes() if node.file_session == session)

    def windows(self, session: str = "one", *, epoch: int | None = None) -> list[Window]:
        node = self.node(session)
        with self.ledger.read() as tx:
            return windows.of_node(
                tx, node.tenant_id, node.node_id, node.epoch if epoch is None else epoch
            )

    def ranges(self, session: str = "one") -> list[str]:
        """The windows of a node, as their keys show them; noise in brackets."""
        shown = []
        for one in self.windows(session):
            text = one.partition_key.rpartition("@")[2]
            shown.append(f"({text})" if one.state is WindowState.NOISE else text)
        return shown

    def events(self, session: str = "one") -> list[Event]:
        """The events of a node's windows, read from its trail as the stage reads them."""
        node = self.node(session)
        return [
            event
            for window in self.windows(session)
            for event in read.read_window(node, window).events
        ]

    def texts(self, session: str = "one") -> list[str]:
        return [event.content for event in self.events(session)]


def codes(result: Scan) -> list[str]:
    return [problem.code for problem in result.problems]


@pytest.fixture
def watched(sqlite_ledger: Ledger, clock: Clock, tmp_path: Path) -> Watched:
    root = tmp_path / "trails"
    root.mkdir()
    return Watched(sqlite_ledger, clock, root)
