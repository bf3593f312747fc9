"""The way to get an interviewer by its name."""

from typing import Literal

from memclaw_etl.errors import UsageError
from memclaw_etl.interview.heuristic import HeuristicInterviewer
from memclaw_etl.interview.protocols import Interviewer, ResponseCache
from memclaw_etl.interview.verbatim import VerbatimInterviewer

InterviewerName = Literal["heuristic", "verbatim", "openai"]

__all__ = ["Interviewer", "InterviewerName", "ResponseCache", "build_interviewer"]


def build_interviewer(name: InterviewerName) -> Interviewer:
    """The embedded interviewer of this name, ready to use.

    Raises:
        UsageError: there is no such interviewer, or it is not embedded.
    """
    if name == "heuristic":
        return HeuristicInterviewer()
    if name == "verbatim":
        return VerbatimInterviewer()
    if name == "openai":
        raise UsageError("interviewer openai needs the section [model]; see `ModelInterviewer`")
    raise UsageError(f"interviewer {name!r}: unknown; choose heuristic, openai or verbatim")
