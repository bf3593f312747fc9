"""What an endpoint can do: found out once, remembered in the process and in the cache folder."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from memclaw_etl.interview.model_request import Mode
from memclaw_etl.model_settings import ModelSettings


class Abilities(BaseModel):
    """How one model of one endpoint is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = Mode.SCHEMA
    takes_temperature: bool = True

    def without_temperature(self) -> "Abilities":
        """The same, for a model that takes no temperature."""
        return self.model_copy(update={"takes_temperature": False})

    def simpler(self) -> "Abilities | None":
        """The next simpler way to ask; None after the simplest."""
        modes = list(Mode)
        place = modes.index(self.mode) + 1
        return self.model_copy(update={"mode": modes[place]}) if place < len(modes) else None


@dataclass
class Memory:
    """The abilities of one endpoint and model. Losing the file costs one refused call."""

    settings: ModelSettings
    folder: Path | None = None
    worked: bool = field(default=False, init=False)
    """Whether the endpoint ever answered, as far as this process or the file knows."""
    _known: Abilities | None = field(default=None, init=False)

    def recall(self) -> Abilities:
        """What was found out; the best is hoped for until then."""
        if self._known is None:
            self._known = self._read()
        return self._known

    def keep(self, found: Abilities) -> None:
        """Remember what worked."""
        if self.worked and found == self._known:
            return
        self._known, self.worked = found, True
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self._file(self.folder).with_suffix(f".{os.getpid()}")
            temporary.write_text(found.model_dump_json(), encoding="utf-8")
            temporary.rename(self._file(self.folder))

    def _read(self) -> Abilities:
        if self.folder is None:
            return Abilities()
        try:
            found = Abilities.model_validate_json(self._file(self.folder).read_bytes())
        except (OSError, ValidationError):
            return Abilities()
        self.worked = True
        return found

    def _file(self, folder: Path) -> Path:
        name = f"{self.settings.url}\n{self.settings.name}"
        return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
