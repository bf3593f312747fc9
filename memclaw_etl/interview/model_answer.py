"""The form in which a model reports on a chunk, and reading what it wrote.

The form asks for every field (servers with strict schemas want that); reading forgives what cannot
be misunderstood: fences, prose around the JSON, an absent optional field, a number for a text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from memclaw_etl.interview.report import Result, Section

_FENCE: Final = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_THINKING: Final = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_OTHER_NAMES: Final = {"evidence_seqs": "evidence", "seqs": "evidence", "ts_start": "ts"}
_SHOWN_FLAWS: Final = 5


class UnusableError(ValueError):
    """The answer is not in the form. The message says where, and repeats nothing of it."""


class _Form(BaseModel):
    """Strict on the wire (every field required, no others), forgiving when it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _forgive(cls, value: object) -> object:
        """Drop unknown fields; give the absent ones that may be empty their empty value."""
        if not isinstance(value, Mapping):
            return value
        named = {_OTHER_NAMES.get(name, name): one for name, one in value.items()}
        known = {name: one for name, one in named.items() if name in cls.model_fields}
        return _absent(cls.model_fields) | known


def _absent(names: Mapping[str, object]) -> dict[str, object]:
    """The empty values of a form's fields; a summary has none."""
    lists = {*Section, "evidence"}
    return {name: [] if name in lists else None for name in names if name != "summary"}


class Note(_Form):
    """What every note says."""

    summary: str
    evidence: list[str]
    ts: str | None
    importance: Literal["high", "normal"]

    @field_validator("summary")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("empty")
        return value

    @field_validator("evidence", mode="before")
    @classmethod
    def _numbers_as_texts(cls, value: object) -> object:
        many = value if isinstance(value, list) else [value]
        return [str(one) if isinstance(one, int) else one for one in many]

    @field_validator("importance", mode="before")
    @classmethod
    def _normal_unless_high(cls, value: object) -> str:
        return "high" if value == "high" else "normal"


class Episode(Note):
    """A topic that was worked on."""

    ts_end: str | None


class Decision(Note):
    """A choice, with what was turned down."""

    rationale: str | None
    alternative: str | None


class Outcome(Note):
    """How an attempt ended."""

    result: Result | None


class Answer(_Form):
    """A model's report on one chunk."""

    worked_on: list[Episode]
    decisions: list[Decision]
    outcomes: list[Outcome]
    blockers: list[Note]
    open_questions: list[Note]
    preferences_learned: list[Note]

    @model_validator(mode="before")
    @classmethod
    def _is_a_report(cls, value: object) -> object:
        if isinstance(value, Mapping) and not set(Section) & set(value):
            raise ValueError("none of the six sections is there")
        return value

    def notes(self) -> Iterator[tuple[Section, Note]]:
        """Every note with its section, in the order of the sections."""
        for section in Section:
            notes: list[Note] = getattr(self, section)
            for note in notes:
                yield section, note


ANSWER_SCHEMA: Final[dict[str, Any]] = Answer.model_json_schema()
"""What a server with structured output is given; every field is required, none may be added."""


def read_answer(text: str) -> Answer:
    """Read what a model wrote.

    Raises:
        UnusableError: it holds no JSON object, or one that is not in the form.
    """
    value = read_json(text)
    if len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        value = inner  # {"report": {...}}
    try:
        return Answer.model_validate(value)
    except ValidationError as error:
        raise UnusableError(flaws_of(error)) from None


def flaws_of(error: ValidationError) -> str:
    """Where an answer is not in the form, without a word of it."""
    flaws = error.errors(include_input=False, include_url=False, include_context=False)
    shown = [f"{'.'.join(str(part) for part in one['loc'])}: {one['type']}" for one in flaws]
    more = f" and {len(flaws) - _SHOWN_FLAWS} more" if len(flaws) > _SHOWN_FLAWS else ""
    return "; ".join(shown[:_SHOWN_FLAWS]) + more


def read_json(text: str) -> dict[str, Any]:
    """The JSON object in a model's text: bare, in a fence, or with prose around it.

    Raises:
        UnusableError: there is none.
    """
    text = _THINKING.sub("", text)
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    raise UnusableError("no JSON object in it")


def _candidates(text: str) -> Iterator[str]:
    yield text
    yield from reversed(_FENCE.findall(text))
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        yield text[first : last + 1]
