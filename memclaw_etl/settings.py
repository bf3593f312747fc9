"""All settings in one model: `memclaw.toml` in the home, then `MEMCLAW_*` in the environment.

Precedence: arguments of `load_settings`, environment, file, defaults. Nested values are written
with two underscores in the environment (`MEMCLAW_LIMITS__FLUSH_IDLE_MINUTES=5`). Secrets are never
settings: `OPENAI_API_KEY` is read from the environment where it is used.
"""

import os
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from pydantic_settings import SettingsError as UnreadableSettingsError

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.errors import SettingsError
from memclaw_etl.model_settings import ModelSettings
from memclaw_etl.tenant_settings import (
    PersonalDataName,
    PolicySettings,
    RetentionSettings,
    Tenants,
)

DEFAULT_TENANT = "default"
MAX_KEYSTONES = 8
"""Rules that a prompt carries for its scope."""

InterviewerName = Literal["heuristic", "openai", "verbatim"]
Positive = Annotated[int, Field(gt=0)]
PositiveS = Annotated[float, Field(gt=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class SourceSettings(_Section):
    """One place to read trails from. Nothing outside the listed sources is ever opened."""

    kind: Literal["claude_code", "cursor", "openclaw", "buffer", "codex", "gemini"]
    root: Path
    include: tuple[str, ...] = ()
    """Globs on the project folder's name. A root that holds many projects needs them: the default
    is to take none."""
    tenant_id: str = DEFAULT_TENANT
    fleet_id: str | None = None
    agent_id: str | None = None


class NamespaceSettings(_Section):
    """Memories of events under `path` belong to `namespace`. The longest path wins."""

    path: str
    namespace: str


class GrantSettings(_Section):
    """What one reader may read: a tenant, all of it or some namespaces.

    A reader with several entries may read what any of them grants.
    """

    reader: Annotated[str, Field(min_length=1, max_length=200)]
    tenant_id: Annotated[str, Field(min_length=1)] = DEFAULT_TENANT
    namespaces: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """None: all of the tenant. `""` is what belongs to no project."""


class KeystoneSettings(_Section):
    """Governance rules that a model is given with every chunk of a scope.

    Without tenant or namespace the rules hold in all of them.
    """

    rules: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=8)
    ]
    tenant_id: str | None = None
    namespace: str | None = None

    def holds_in(self, *, tenant_id: str, namespace: str) -> bool:
        """Whether the rules hold in that scope."""
        return self.tenant_id in (None, tenant_id) and self.namespace in (None, namespace)


class BackfillSettings(_Section):
    """What the schedule `nightly_backfill` may do. It is stopped until you start it."""

    windows_per_night: Positive = 200
    tokens_per_night: Positive | None = None
    """An estimate made beforehand; the limits of [model] hold as well."""
    order: Literal["oldest", "valuable"] = "oldest"
    batch_api: bool = False


class Limits(_Section):
    """How windows are cut and how work is asked for (DESIGN section 4)."""

    window_events: Positive = 400
    window_chars: Positive = 150_000
    window_bytes: Positive = 32 * 1024 * 1024
    """Upper bound of trail bytes in one window, so that a stage's memory is bounded."""
    trickle_events: Positive = 10
    trickle_chars: Positive = 2_000
    flush_idle_minutes: Annotated[float, Field(ge=0)] = 30.0
    tick_budget_s: PositiveS = 20.0
    tick_budget_bytes: Positive = 256 * 1024 * 1024
    batch_windows: Positive = 100
    batches_ahead: Positive = 2
    max_attempts: Positive = 3
    lease_s: PositiveS = 120.0
    ask_deadline_s: PositiveS = 900.0
    retry_delay_s: PositiveS = 30.0
    retry_delay_max_s: PositiveS = 3_600.0
    chunk_chars: Positive = 96_000
    message_chars: Positive = 8_000
    context_events: Annotated[int, Field(ge=0)] = 6
    partition_keys: Positive = 20_000
    partition_key_days: Positive = 30


class Settings(BaseSettings):
    """Everything that a user can set."""

    model_config = SettingsConfigDict(
        env_prefix="MEMCLAW_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    home: Path
    ledger_url: Annotated[str | None, Field(repr=False)] = None
    """SQLAlchemy URL; default is SQLite in the home. PostgreSQL when several hosts share it."""
    lake_url: str | None = None
    """Folder of stage files and index; default is `lake` in the home."""
    sources: tuple[SourceSettings, ...] = ()
    namespaces: tuple[NamespaceSettings, ...] = ()
    grants: tuple[GrantSettings, ...] = ()
    personal_data: PersonalDataName = "off"
    """What becomes of e-mail addresses, phone numbers, cards, IBANs and national ids: `flag` counts
    them, `mask` masks them as credentials are. `tenants` may set it otherwise."""
    tenants: Tenants = ()
    interviewer: InterviewerName = "heuristic"
    on_model_failure: Literal["fail", "heuristic"] = "fail"
    """`fail`: the window stays owed. `heuristic`: rules report on it, and its items say so."""
    model: ModelSettings = ModelSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    keystones: tuple[KeystoneSettings, ...] = ()
    backfill: BackfillSettings = BackfillSettings()
    limits: Limits = Limits()
    preview_text: bool = False
    """Put masked text into Dagster's metadata. `forget --erase` cannot reach it there."""

    @model_validator(mode="after")
    def _few_keystones(self) -> Self:
        scopes = {(row.tenant_id, row.namespace) for row in self.keystones}
        for tenant_id, namespace in scopes:
            rules = self.keystones_of(tenant_id=tenant_id or "", namespace=namespace or "")
            if len(rules) > MAX_KEYSTONES:
                raise ValueError(f"a scope has {len(rules)} keystones; at most {MAX_KEYSTONES}")
        return self

    def keystones_of(self, *, tenant_id: str, namespace: str) -> tuple[str, ...]:
        """The governance rules of a scope, in the order of the settings."""
        return tuple(
            rule
            for row in self.keystones
            if row.holds_in(tenant_id=tenant_id, namespace=namespace)
            for rule in row.rules
        )

    def personal_data_of(self, tenant_id: str) -> PersonalDataName:
        """The policy of one tenant; the last entry for it wins."""
        own = [one.personal_data for one in self.tenants if one.tenant_id == tenant_id]
        return next((one for one in reversed(own) if one is not None), self.personal_data)

    def policies_of(self, tenant_id: str) -> tuple[PolicySettings, ...]:
        """The policies on one tenant's memories, in the order of the settings."""
        own = [one.policies for one in self.tenants if one.tenant_id == tenant_id]
        return tuple(chain.from_iterable(own))

    def retention_of(self, tenant_id: str) -> tuple[RetentionSettings, ...]:
        """How long one tenant's memories stay active; of two for one type the shorter one holds."""
        own = [one.retention for one in self.tenants if one.tenant_id == tenant_id]
        return tuple(chain.from_iterable(own))

    @property
    def ledger_address(self) -> str:
        """The ledger's SQLAlchemy URL."""
        return self.ledger_url or f"sqlite:///{self.home / 'ledger.sqlite'}"

    @property
    def lake_root(self) -> Path:
        """The folder that holds stage files and the memory index."""
        return Path(self.lake_url).expanduser() if self.lake_url else self.home / "lake"

    @property
    def dagster_home(self) -> Path:
        """The folder that Dagster keeps its own state in."""
        return self.home / "dagster"

    @property
    def cache_dir(self) -> Path:
        """Droppable files: compiled rules and the like."""
        return self.home / "cache"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then the home's file."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(home: Path | None = None, **overrides: Any) -> Settings:  # noqa: ANN401 - the model validates
    """Read the settings of a home.

    Args:
        home: the home; default `MEMCLAW_HOME`, else `~/.memclaw`.
        overrides: fields that win over environment and file.

    Raises:
        SettingsError: a value is unknown or wrong, or the file is no TOML. The message names the
            field and never repeats the value.
    """
    chosen = (home or Path(os.environ.get("MEMCLAW_HOME") or "~/.memclaw")).expanduser().absolute()
    file = chosen / "memclaw.toml"

    class _SettingsOfHome(Settings):
        model_config = SettingsConfigDict(toml_file=file)

    try:
        return _SettingsOfHome(home=chosen, **overrides)
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        )
        raise SettingsError(f"settings of {chosen} are not usable ({places})") from None
    except UnreadableSettingsError as error:
        raise SettingsError(f"a MEMCLAW_* variable is not usable: {error}") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(f"{file} is not valid TOML: {error}") from None
