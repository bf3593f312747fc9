"""Embedding texts with a model behind any OpenAI-compatible endpoint (`POST /embeddings`)."""

import base64
import json
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from memclaw_etl.embedding_settings import EmbeddingSettings
from memclaw_etl.endpoint import (
    Endpoint,
    KeyRefusedError,
    RequestRefusedError,
    make_client,
    post_embeddings,
)
from memclaw_etl.errors import EndpointError, SettingsError
from memclaw_etl.memories.embeddings import Part, Vectors, to_length_one, together

if TYPE_CHECKING:
    from memclaw_etl.endpoint import Client

KEY_VARIABLES: Final = ("MEMCLAW_EMBEDDING_API_KEY", "OPENAI_API_KEY")
SHORTEST_CHARS: Final = 256
"""A text that is refused is cut in half and sent again, until it would be shorter than this."""
PROBE: Final = "dimension"
"""What is embedded to learn how long a model's vectors are."""
NO_TEXT: Final = "-"
"""Endpoints refuse an empty text."""

Clean = Callable[[Sequence[str]], list[str]]
"""Masks texts before they leave this machine."""
OnUsage = Callable[[int], None]
"""Told how many tokens a call took."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Vectors of one call, in the order of its texts."""

    vectors: Vectors
    tokens: int


def endpoint_of(settings: EmbeddingSettings) -> Endpoint:
    """The endpoint that the section [embedding] names."""
    return Endpoint(
        url=settings.url,
        resource=settings.resource or "",
        model=settings.model or "",
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        asker="embedding",
        section="embedding",
        key_variables=KEY_VARIABLES,
    )


class EndpointEmbedder:
    """Asks an endpoint, some calls at once. Texts are masked before they leave.

    What a text is too long for, the model or its server, is cut in half until it is taken: the
    vector is then that of the text's beginning, as with every model that has a limit.

    Raises, from every method that embeds:
        EndpointError: down, overloaded, no such model, or its answer is not what was asked for.
        SettingsError: it refuses the key.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        clean: Clean,
        known_dimension: int | None = None,
        on_usage: OnUsage,
    ) -> None:
        self.model_id = f"openai:{settings.model}"
        self._settings = settings
        self._endpoint = endpoint_of(settings)
        self._clean = clean
        self._known_dimension = known_dimension
        self._on_usage = on_usage

    @cached_property
    def dimension(self) -> int:
        """As set, as known, or as the endpoint gives it when it is asked once."""
        known = self._settings.dimension or self._known_dimension
        if known is not None:
            return known
        answer = self._ask([PROBE])
        self._on_usage(answer.tokens)
        return int(answer.vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed every text, in order."""
        return together(self.parts(texts), count=len(texts), dimension=self.dimension)

    def parts(self, texts: Sequence[str]) -> Iterator[Part]:
        """Embed the texts, `batch_texts` in a call, `concurrency` calls at a time.

        No more calls are made than parts are taken: who is killed loses what is under way, no more.
        """
        return self._parts(texts, on_usage=self._on_usage)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed questions as everything else. Their few tokens are not told to `on_usage`."""
        parts = self._parts(texts, on_usage=_say_nothing)
        return together(parts, count=len(texts), dimension=self.dimension)

    def _parts(self, texts: Sequence[str], *, on_usage: OnUsage) -> Iterator[Part]:
        _ = self._client, self.dimension  # before there are threads
        size = self._settings.batch_texts
        batches = deque(range(at, min(at + size, len(texts))) for at in range(0, len(texts), size))
        with ThreadPoolExecutor(max_workers=self._settings.concurrency) as pool:
            for batch, answer in self._answers(pool, batches, texts):
                try:
                    yield Part(batch, answer.vectors)  # it is kept first, then accounted for
                finally:
                    on_usage(answer.tokens)

    def _answers(
        self, pool: ThreadPoolExecutor, waiting: deque[range], texts: Sequence[str]
    ) -> Iterator[tuple[range, _Answer]]:
        """Answers as they come; after a failure those that are under way, and then the failure."""
        asked: dict[Future[_Answer], range] = {}
        failure: BaseException | None = None
        while asked or (waiting and failure is None):
            while waiting and failure is None and len(asked) < self._settings.concurrency:
                batch = waiting.popleft()
                asked[pool.submit(self._embedded, [texts[at] for at in batch])] = batch
            for future in wait(asked, return_when=FIRST_COMPLETED).done:
                batch = asked.pop(future)
                failure = failure or future.exception()
                if future.exception() is None:
                    yield batch, future.result()
        if failure is not None:
            raise failure

    def _embedded(self, texts: Sequence[str]) -> _Answer:
        """The vectors of one call's texts, of length 1 and of the right dimension."""
        answer = self._taken(self._clean([text.strip() or NO_TEXT for text in texts]))
        found = answer.vectors.shape[1]
        if found != self.dimension:
            raise self._wrong(
                f"vectors of {found} numbers, expected {self.dimension}; does another model answer"
                f" to the name {self._settings.model!r}? If that is meant, give it another name and"
                " run `memclaw-etl reembed`"
            )
        return answer

    def _taken(self, texts: Sequence[str]) -> _Answer:
        """Ask; when a request is refused, find the text that is to blame and cut it."""
        try:
            return self._ask(texts)
        except RequestRefusedError as refused:
            if len(texts) == 1:
                return self._shortened(texts[0], refused)
        shortest = min(range(len(texts)), key=lambda at: len(texts[at]))
        first = self._shortened_or_refused(texts[shortest])
        others = [text for at, text in enumerate(texts) if at != shortest]
        middle = max(len(others) // 2, 1)
        halves = [self._taken(half) for half in (others[:middle], others[middle:]) if half]
        rest = np.vstack([half.vectors for half in halves])
        vectors = np.vstack([rest[:shortest], first.vectors, rest[shortest:]])
        return _Answer(vectors, first.tokens + sum(half.tokens for half in halves))

    def _shortened_or_refused(self, text: str) -> _Answer:
        """Ask for one text; it is cut only if that helps."""
        try:
            return self._ask([text])
        except RequestRefusedError as refused:
            return self._shortened(text, refused)

    def _shortened(self, text: str, refused: RequestRefusedError) -> _Answer:
        """Ask for the beginning of a text that was refused."""
        while len(text) >= 2 * SHORTEST_CHARS:
            text = text[: len(text) // 2]
            try:
                return self._ask([text])
            except RequestRefusedError as again:
                refused = again
        raise EndpointError(
            f"{self._endpoint.resource} refuses to embed ({refused}); is {self._settings.model!r}"
            " an embedding model, and does it take the `dimension` of the section [embedding]?",
            resource=self._endpoint.resource,
        ) from None

    def _ask(self, texts: Sequence[str]) -> _Answer:
        """One call. `base64` is what the SDK asks for by default; floats are read as well."""
        body: dict[str, Any] = {"model": self._settings.model, "input": list(texts)}
        body["encoding_format"] = "base64"
        if self._settings.dimension is not None:
            body["dimensions"] = self._settings.dimension
        try:
            content = post_embeddings(self._client, self._endpoint, body)
        except KeyRefusedError as error:
            raise SettingsError(f"embedding: {error}") from None
        return self._read(content, count=len(texts))

    def _read(self, content: bytes, *, count: int) -> _Answer:
        try:
            answer = json.loads(content)
            rows = answer["data"]
            order = [row.get("index", at) for at, row in enumerate(rows)]
            found = [_numbers(row["embedding"]) for row in rows]
            tokens = int((answer.get("usage") or {}).get("total_tokens") or 0)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong(f"what is no list of embeddings ({type(error).__name__})") from None
        if sorted(order) != list(range(count)):
            raise self._wrong(f"{len(rows)} embeddings for {count} texts, or not one for each")
        if len({len(one) for one in found}) != 1:
            raise self._wrong("embeddings of different lengths")
        try:
            vectors = to_length_one(np.vstack([found[order.index(at)] for at in range(count)]))
        except ValueError:
            raise self._wrong("an embedding of zeros, or of what is no number") from None
        return _Answer(vectors, tokens)

    def _wrong(self, what: str) -> EndpointError:
        resource = self._endpoint.resource
        return EndpointError(f"{resource} answered with {what}", resource=resource)

    @cached_property
    def _client(self) -> "Client":
        """Connections that are kept: a question should not wait for a handshake."""
        client = make_client(self._endpoint)
        weakref.finalize(self, client.close)
        return client


def _say_nothing(tokens: int) -> None:
    del tokens


def _numbers(embedding: str | list[float]) -> Vectors:
    """An embedding as it came: little-endian float32 in base64, or a list of numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)
