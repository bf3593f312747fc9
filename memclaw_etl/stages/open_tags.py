"""`<private>` tags that a block of a message leaves open for the blocks after it."""

from collections.abc import Iterator, Sequence

from memclaw_etl.masking import private_spans
from memclaw_etl.trails.events import Event

_TAG = "<private>"
_MOST_TAGS = 100
"""A message that left more open is as good as private to its end."""


def contents(events: Sequence[Event]) -> Iterator[str]:
    """The contents of events, each behind the tags that its message has open by then.

    Claude Code writes every block of a reply as a line of its own; the lines of one message share
    its id and follow each other. A message that was cut into two windows is read as two.
    """
    message, tags = None, 0
    for event in events:
        if event.message_id is None or event.message_id != message:
            message, tags = event.message_id, 0
        yield _TAG * min(tags, _MOST_TAGS) + event.content
        if message is not None:
            _, tags = private_spans(event.content, depth=tags)
