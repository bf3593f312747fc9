"""The way to get an interviewer by its name."""

from typing import Literal

from memclaw_etl.errors import UsageError
from memclaw_etl.interview.heuristic import HeuristicInterviewer
from memclaw_etl.interview.protocols import Interviewer, ResponseCache
from memclaw_etl.interview.verbatim import VerbatimInterviewer

InterviewerName = Literal["heuristic", "verbatim", "openai"]

__all__ = ["Interviewer", "InterviewerName", "ResponseCache", "build_interviewer"]


def build_interviewer(name: InterviewerName) -> Interviewer:
    """The interviewer of this name, ready to use.

    Raises:
        UsageError: there is no such interviewer (yet).
    """
    if name == "heuristic":
        return HeuristicInterviewer()
    if name == "verbatim":
        return VerbatimInterviewer()
    if name == "openai":
        raise UsageError(
            "interviewer openai: not available in this version; choose heuristic or verbatim"
        )
    raise UsageError(f"interviewer {name!r}: unknown; choose heuristic or verbatim")
