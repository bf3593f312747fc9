"""What models answered, masked before it is kept: an answer is not trusted to be clean."""

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from memclaw_etl.lake.responses import FileResponseCache
from memclaw_etl.masking import MaskSession


@dataclass(frozen=True, slots=True)
class MaskedAnswers:
    """A response cache that holds masked text only."""

    files: FileResponseCache
    session: Callable[[], MaskSession]

    def get(self, key: str) -> bytes | None:
        """The stored answer, or None when there is none."""
        return self.files.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Mask an answer and store it durably; one that no masking leaves readable is not kept."""
        masked = masked_answer(value, self.session())
        if masked is not None:
            self.files.put(key, masked)

    def drop(self, key: str) -> None:
        """Forget an answer."""
        self.files.drop(key)


def masked_answer(value: bytes, session: MaskSession) -> bytes | None:
    """Mask an answer: every text of a JSON document, JSON inside of texts too, else the bytes.

    Returns None for JSON that would be none any more. What needs no mask comes back as it is.
    """
    text = value.decode("utf-8", "replace")
    session.continue_after([text])
    masked = _masked_text(text, session)
    if _is_json(text) and not _is_json(masked):
        return None
    return value if masked == text else masked.encode()


def _masked_text(text: str, session: MaskSession) -> str:
    """Mask the texts inside, then the whole: a name and its value are two texts in JSON."""
    try:
        document = orjson.loads(text)
    except ValueError:
        return session.mask(text).text
    if not isinstance(document, dict | list):
        return session.mask(text).text
    masked = _masked_value(document, session)
    whole = text if masked == document else orjson.dumps(masked).decode()
    return session.mask(whole).text


def _masked_value(value: object, session: MaskSession) -> object:
    if isinstance(value, str):
        return _masked_text(value, session)
    if isinstance(value, list):
        return [_masked_value(inner, session) for inner in value]
    if isinstance(value, dict):
        return {
            session.mask(name).text: _masked_value(inner, session) for name, inner in value.items()
        }
    return value


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
