"""The one resource: a home with its stores."""

from functools import cached_property
from pathlib import Path

import dagster as dg

from memclaw_etl.service.home import open_home
from memclaw_etl.settings import load_settings
from memclaw_etl.stages.bench import Bench


class Memclaw(dg.ConfigurableResource[Bench]):
    """Opens the home that `MEMCLAW_HOME` names; its settings are read anew by every run."""

    home: str | None = None

    @cached_property
    def bench(self) -> Bench:
        """The home's stores and tools.

        Raises:
            SettingsError: the settings are not usable.
            HomeMismatchError: this Dagster home belongs to another ledger.
        """
        return open_home(load_settings(Path(self.home) if self.home else None))
