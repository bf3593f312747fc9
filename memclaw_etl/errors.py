"""The error tree: every error names the thing, says what to do next, and has a retry class.

Messages carry ids, counts, ranges and hashes, never trail text: they end up in Dagster's event
store, in logs and on terminals.
"""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar


class Retry(StrEnum):
    """What a caller should do about an error."""

    NEVER = "never"
    """The same call fails the same way: something has to be changed first."""
    LATER = "later"
    """The surroundings failed (endpoint, disk, lock): the window is innocent, ask again later."""
    REREAD = "re-read"
    """What was read is no longer what is there: plan again from the source."""


class MemclawError(Exception):
    """Base of every error that we raise on purpose."""

    retry: ClassVar[Retry] = Retry.NEVER
    exit_code: ClassVar[int] = 1

    @property
    def code(self) -> str:
        """Stable name of the error, for ledgers, JSON and tests."""
        return type(self).__name__.removesuffix("Error")


class UsageError(MemclawError):
    """The command or call is wrong; nothing was changed."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is missing, unknown or contradicts another."""


class UnknownWindowError(UsageError):
    """A partition key that the ledger does not know. Nothing was changed."""


class NotGrantedError(UsageError):
    """A reader asked for what it was not granted, or for what does not exist: one error for both.

    So a reader cannot find out what there is beside its own. Nothing was read.
    """


class HomeMismatchError(UsageError):
    """Ledger, Dagster home and index do not belong together."""


class InvariantError(MemclawError):
    """Something that must hold does not (a leak, a gap). Stops the partition."""


class WindowError(MemclawError):
    """The window itself cannot be worked on as it is. Counts as an attempt."""


class TrailRewrittenError(MemclawError):
    """The pinned bytes are no longer in the trail. Never interviewed under the old key."""

    retry = Retry.REREAD


class SurroundingsError(MemclawError):
    """The window is innocent: endpoint down, disk full, trail unreadable, lock held. Ask later."""

    retry = Retry.LATER
    exit_code = 75

    def __init__(self, message: str, *, resource: str, not_before: datetime | None = None) -> None:
        super().__init__(message)
        self.resource = resource
        """What a breaker opens for, for example `endpoint:localhost:8080` or `trail:<node_id>`."""
        self.not_before = not_before
        """From when trying again makes sense, where that is known (a new day, `Retry-After`)."""


class TrailUnreadableError(SurroundingsError):
    """The trail cannot be opened or read now (permissions, vanished, not a file)."""


class BusyError(SurroundingsError):
    """Another writer holds a lease or a lock for longer than we wait."""


class LeaseLostError(SurroundingsError):
    """This run no longer holds the lease of the window that it wanted to commit."""


class EndpointError(SurroundingsError):
    """A model's endpoint is down, overloaded, or refuses our key or the name of the model."""


class BudgetSpentError(SurroundingsError):
    """The tokens of this run or the money of this day are spent. Nothing more was asked."""


class AnswerRefusedError(WindowError):
    """A model refused to report on a chunk, or its endpoint refused the chunk itself."""


class AnswerCutError(WindowError):
    """A model's report was cut off at its length limit, also when it was asked to be brief."""


class AnswerUnusableError(WindowError):
    """A model's report was not in the form that was asked for, also after its repair."""


class AnswerMissingError(WindowError):
    """A model never answered for one chunk while its endpoint answered for others."""
