"""JSON that orjson refuses: NaN, lone surrogates, bad UTF-8, huge integers, control characters."""

import json
import re
from typing import Final

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAY_HOLD_SURROGATE: Final = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_REPLACEMENT: Final = "\ufffd"
_MAX_INT_DIGITS: Final = 4000
"""CPython refuses to parse longer integers (sys.get_int_max_str_digits)."""


class LenientError(Exception):
    """No JSON value stands at this place. `reason` is a stable word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


_DECODER: Final = json.JSONDecoder(strict=False, parse_int=_parse_int)


def decode_text(data: bytes) -> str:
    """Decode UTF-8; bytes that are none stay countable as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def decode_at(text: str, at: int) -> tuple[object, int]:
    """Decode one JSON value that starts at `at`: the value and where it ends.

    Strings in the value hold U+FFFD in place of lone surrogates.

    Raises:
        LenientError: `broken_json`, or `too_deep` beyond the interpreter's recursion limit.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
        if _MAY_HOLD_SURROGATE.search(text, at, end):
            value = _without_surrogates(value)
    except ValueError as error:
        raise LenientError("broken_json") from error
    except RecursionError as error:
        raise LenientError("too_deep") from error
    return value, end


def _without_surrogates(value: object) -> object:
    """The value with every lone surrogate replaced."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub(_REPLACEMENT, value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {
            _LONE_SURROGATE.sub(_REPLACEMENT, key): _without_surrogates(item)
            for key, item in value.items()
        }
    return value
