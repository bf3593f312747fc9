"""Requests and answers of a Batch API, as lines of a file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from memclaw_etl.interview.model_request import RawAnswer, raw_answer

MAX_REQUESTS: Final = 50_000
MAX_BYTES: Final = 190_000_000
"""The endpoint's own limits are 50,000 requests and 200 MB a file (its API reference)."""
_OK: Final = 200


def request_line(custom_id: str, body: Mapping[str, Any]) -> bytes:
    """One request of a batch file."""
    row = {
        "custom_id": custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def split_lines(lines: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Cut requests into files that an endpoint takes."""
    part: list[tuple[str, bytes]] = []
    size = 0
    for custom_id, line in lines:
        if part and (len(part) >= MAX_REQUESTS or size + len(line) > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append((custom_id, line))
        size += len(line)
    if part:
        yield part


def read_results(content: bytes) -> Iterator[tuple[str, RawAnswer]]:
    """(custom id, answer) of every request that was answered; failed and broken lines are none."""
    for line in content.splitlines():
        try:
            row = json.loads(line)
            response = row["response"]
            if response["status_code"] == _OK:
                yield str(row["custom_id"]), raw_answer(response["body"])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
