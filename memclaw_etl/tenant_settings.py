"""What one tenant wants otherwise than the rest: personal data, policies on memories, retention."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

PersonalDataName = Literal["off", "flag", "mask"]
CategoryName = Literal[
    "personal_data", "non_business", "small_talk", "private_life", "health", "politics"
]
ActionName = Literal["mask", "drop", "flag"]
MemoryTypeName = Literal[
    "fact", "episode", "decision", "preference", "task", "semantic", "intention", "plan",
    "commitment", "action", "outcome", "cancellation", "rule", "insight",
]  # fmt: skip
"""`memories.types.MemoryType`, by name."""
PATTERN_CHARS_MAX = 1_000


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class PolicySettings(_Section):
    """One policy on memories: what is looked for, and what becomes of a statement that has it.

    `drop`: it makes no memory. `mask`: what was found is replaced by a mark. `flag`: the memory
    says `policy:<name>` among its flags.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z-]{0,39}$")]
    """Names the policy in counts, lists and marks; small letters and hyphens."""
    action: ActionName
    category: CategoryName | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=PATTERN_CHARS_MAX)] | None = None
    """A regular expression as Rust's `regex` reads it: linear time, so no look-around and no
    back-references. `(?i)` for any case."""

    @field_validator("pattern")
    @classmethod
    def _is_linear(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            _refuse_unusable(pattern)
        return pattern

    @model_validator(mode="after")
    def _looks_for_one_thing(self) -> Self:
        if (self.category is None) == (self.pattern is None):
            raise ValueError(f"policy {self.name}: give either a category or a pattern")
        return self


def _refuse_unusable(pattern: str) -> None:
    import polars as pl  # noqa: PLC0415 - most homes have no pattern, and need no frames to start

    try:
        matches_nothing = pl.Series([""], dtype=pl.String).str.contains(pattern, literal=False)[0]
    except pl.exceptions.ComputeError:
        raise ValueError(
            "no regular expression of linear time (no look-around, no back-references, and not"
            " too large)"
        ) from None
    if matches_nothing:
        raise ValueError("the pattern finds the empty text, so it would find everything")


class RetentionSettings(_Section):
    """Memories of a type expire so many days after they ended, by event time."""

    memory_type: MemoryTypeName
    days: Annotated[int, Field(gt=0, le=36_500)]


class TenantSettings(_Section):
    """What one tenant wants otherwise than the rest."""

    tenant_id: str
    personal_data: PersonalDataName | None = None
    """Of events, before anything is stored; None: as for all tenants."""
    policies: tuple[PolicySettings, ...] = ()
    retention: tuple[RetentionSettings, ...] = ()


def _with_own_names(tenants: tuple[TenantSettings, ...]) -> tuple[TenantSettings, ...]:
    """A policy's name tells it from all others of its tenant."""
    names = [(one.tenant_id, policy.name) for one in tenants for policy in one.policies]
    twice = sorted({name for tenant, name in names if names.count((tenant, name)) > 1})
    if twice:
        raise ValueError(f"a tenant has several policies named {', '.join(twice)}")
    return tenants


Tenants = Annotated[tuple[TenantSettings, ...], AfterValidator(_with_own_names)]
