"""Hosts that share one ledger and one lake: homes, names and machine ids of their own."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench
from tests.crash.harness import Lab


@dataclass
class Host(Lab):
    """One host. `root` is what all hosts share; its home stands there under the host's name."""

    name: str = "host-a"
    ledger_url: str = ""
    trails_at: Path | None = None
    """Its trails, where they are not those that all hosts see."""

    @property
    def home(self) -> Path:
        return self.root / self.name

    @property
    def trails(self) -> Path:
        return self.trails_at or self.root / "trails"

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "MEMCLAW_LEDGER_URL": self.ledger_url,
            "MEMCLAW_LAKE_URL": str(self.lake),
        }

    def bench(self) -> Bench:
        """The stores as this host sees them, for looking only."""
        return Bench(load_settings(self.home, ledger_url=self.ledger_url, lake_url=str(self.lake)))

    def crash(self, point: str, *, nth: int = 1) -> None:
        """`run` on this host, killed at a point of the driver."""
        super()._finish(self._run_command({"kill": point, "nth": nth}), -signal.SIGKILL)

    def _run_command(self, plan: dict[str, Any] | None, *more: str) -> list[str]:
        return super()._run_command({"host": self.name} | (plan or {}), *more)
