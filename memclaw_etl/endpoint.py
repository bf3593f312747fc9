"""OpenAI-compatible endpoints: the one place that imports `openai`, on first use.

The SDK tries again by itself (408, 409, 429, 5xx, lost connections; `Retry-After` is kept), a
bounded number of times. What is left becomes an error of ours; none of them repeats what a server
said, since that may be a piece of what it was sent.
"""

import os
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from memclaw_etl.errors import EndpointError, SettingsError

if TYPE_CHECKING:
    import openai

    Client = openai.OpenAI
    AsyncClient = openai.AsyncOpenAI

OPENAI: Final = "endpoint:api.openai.com"
NO_KEY: Final = "none"
"""What a server of ours is sent as a key where the environment names none."""
LONGEST_WAIT_S: Final = 120.0
"""For how long the SDK heeds a `Retry-After`; a longer one is kept by us, as `not_before`."""
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
_TOO_LONG: Final = frozenset({"context_length_exceeded", "string_above_max_length"})
_TOO_LARGE, _BAD_REQUEST, _UNPROCESSABLE = 413, 400, 422
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class RequestRefusedError(Exception):
    """The endpoint refused the request itself (400, 413, 422): its form, or what is in it."""

    def __init__(self, status: int, code: str, *, is_too_long: bool, says: str) -> None:
        super().__init__(f"{status} {code}".strip())
        self.status = status
        self.code = code
        self.is_too_long = is_too_long
        """It says so itself, by its status or code."""
        self.says = says
        """What it says, in small letters: to look for words in, never to be shown or kept."""


class KeyRefusedError(EndpointError):
    """The endpoint refuses our key, or what it is asked to do with it."""

    @property
    def code(self) -> str:
        """The same as for everything else that an endpoint answers with."""
        return EndpointError.__name__.removesuffix("Error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One model of one server, and how it is asked."""

    url: str
    resource: str
    """As breakers name it: `endpoint:host:port`."""
    model: str
    timeout_s: float
    """How long one try waits for the server to connect, or to go on sending."""
    max_retries: int
    asker: str
    """Who asks, for messages."""
    section: str
    """Where in memclaw.toml it is set."""
    key_variables: tuple[str, ...]
    """Where in the environment its key may be; the first that is set counts."""

    def key(self) -> str:
        """The key from the environment.

        Raises:
            SettingsError: there is none, and OpenAI's own endpoint wants one.
        """
        keys = (os.environ.get(name, "").strip() for name in self.key_variables)
        key = next((one for one in keys if one), None)
        if key is not None:
            return key
        if self.resource == OPENAI:
            raise SettingsError(
                f"{self.asker}: set {self.key_variables[-1]} in the environment, or base_url in the"
                f" section [{self.section}] of memclaw.toml to use a server of yours"
            )
        return NO_KEY


def make_client(endpoint: Endpoint) -> "Client":
    """Connections to an endpoint, for several threads; the caller closes it."""
    import openai  # noqa: PLC0415 - half a second, paid by those who ask a model

    return openai.OpenAI(
        api_key=endpoint.key(), base_url=endpoint.url, timeout=endpoint.timeout_s,
        max_retries=endpoint.max_retries,
    )  # fmt: skip


@asynccontextmanager
async def open_async_client(endpoint: Endpoint) -> "AsyncIterator[AsyncClient]":
    """Connections to an endpoint, for as long as the block lasts."""
    import openai  # noqa: PLC0415

    async with openai.AsyncOpenAI(
        api_key=endpoint.key(), base_url=endpoint.url, timeout=endpoint.timeout_s,
        max_retries=endpoint.max_retries,
    ) as client:  # fmt: skip
        yield client


def post_embeddings(client: "Client", endpoint: Endpoint, body: Mapping[str, Any]) -> bytes:
    """Ask for embeddings; the answer as it came.

    Raises:
        EndpointError, RequestRefusedError: see `errors_of`.
    """
    with errors_of(endpoint):
        response = client.embeddings.with_raw_response.create(**body)
        content: bytes = response.http_response.content
        return content


@contextmanager
def errors_of(endpoint: Endpoint) -> Iterator[None]:
    """Turn the SDK's errors into ours.

    Raises:
        KeyRefusedError: the endpoint refuses our key.
        EndpointError: it is down, overloaded, or no such endpoint.
        RequestRefusedError: it does not take this request.
    """
    import openai  # noqa: PLC0415

    resource = endpoint.resource
    try:
        yield
    except openai.APIStatusError as error:
        raise _of_status(error, endpoint) from None
    except openai.APITimeoutError:
        raise EndpointError(
            f"{resource} did not answer within {endpoint.timeout_s:g} s,"
            f" {endpoint.max_retries + 1} times",
            resource=resource,
        ) from None
    except TimeoutError:
        raise EndpointError(
            f"{resource} kept a call open for too long", resource=resource
        ) from None
    except (openai.APIConnectionError, ConnectionError) as error:
        cause = type(error.__cause__ or error).__name__
        raise EndpointError(
            f"{resource} cannot be reached ({cause}); is it running, and is base_url right?",
            resource=resource,
        ) from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        raise EndpointError(
            f"{resource} does not answer as an OpenAI-compatible endpoint does"
            f" ({type(error).__name__}); is base_url right?",
            resource=resource,
        ) from None


def _of_status(error: "openai.APIStatusError", endpoint: Endpoint) -> Exception:
    status, code = error.status_code, _code_of(error)
    if code in _TOO_LONG or status in (_TOO_LARGE, _BAD_REQUEST, _UNPROCESSABLE):
        says = f"{error.param or ''} {error.message}".casefold()
        is_too_long = code in _TOO_LONG or status == _TOO_LARGE
        return RequestRefusedError(status, code, is_too_long=is_too_long, says=says)
    keys = " or ".join(reversed(endpoint.key_variables))
    hint = {
        _UNAUTHORISED: f"; check {keys}",
        _FORBIDDEN: f"; check {keys} and what it may use",
        _NOT_FOUND: f"; is there a model {endpoint.model!r}, and does base_url end as it should"
        " (/v1)?",
    }.get(status, "")
    kind = KeyRefusedError if status in (_UNAUTHORISED, _FORBIDDEN) else EndpointError
    return kind(
        f"{endpoint.resource} answered {status} {code}".rstrip() + hint,
        resource=endpoint.resource,
        not_before=_retry_after(error),
    )


def _code_of(error: "openai.APIStatusError") -> str:
    """The error's code or type where it is a plain word; never free text."""
    words = [one for one in (error.code, error.type) if one and _CODE.fullmatch(one)]
    return words[0] if words else ""


def _retry_after(error: "openai.APIStatusError") -> datetime | None:
    """When a server wants to be asked again, where that is longer than the SDK waits."""
    text = error.response.headers.get("retry-after", "")
    try:
        wait_s = float(text)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    if not LONGEST_WAIT_S < wait_s < timedelta(days=7).total_seconds():
        return None
    return datetime.now(UTC) + timedelta(seconds=wait_s)
