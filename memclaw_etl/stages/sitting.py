"""Having the windows of a run interviewed: one after the other, or all at once by a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memclaw_etl.errors import EndpointError, WindowError
from memclaw_etl.interview.heuristic import HeuristicInterviewer
from memclaw_etl.interview.interviewer import Interviewer
from memclaw_etl.interview.protocols import Asked, ManyAtOnce, Told
from memclaw_etl.lake.ledger import Window, breakers
from memclaw_etl.lake.ledger.identifiers import sha1_hex
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.spending import book, open_purse
from memclaw_etl.windows.namespaces import namespace_of

FALLBACK = "heuristic for openai"
"""The interviewer that items of a fallback name: rules, because the model failed."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who made a report: what items, counts and hashes say of it."""

    interviewer: str
    prompt_version: str
    model: str | None

    @property
    def target(self) -> str:
        """All of it, as one text."""
        return f"{self.interviewer} {self.prompt_version} {self.model or ''}".rstrip()


def keystones_of(bench: Bench, window: Window) -> tuple[str, ...]:
    """The governance rules of a window's scope."""
    namespace = namespace_of(window.project, bench.settings.namespaces)
    return bench.settings.keystones_of(tenant_id=window.tenant_id, namespace=namespace)


def stamp_of(bench: Bench, window: Window, interviewer: Interviewer) -> Stamp:
    """Who would report on a window. Other rules of its scope are another version of the prompt."""
    version = interviewer.version
    rules = keystones_of(bench, window) if isinstance(interviewer, ManyAtOnce) else ()
    if rules:
        version += f"+{sha1_hex(chr(0).join(rules))[:8]}"
    return Stamp(interviewer.name, version, interviewer.model)


def have_told(bench: Bench, interviewer: Interviewer, asked: Sequence[Asked]) -> Iterator[Told]:
    """Interview; every window is told once. A model that answers again closes its breaker."""
    if not isinstance(interviewer, ManyAtOnce):
        yield from (_tell(interviewer, one) for one in asked)
        return
    if not asked:
        return
    open_purse(bench)
    endpoint = bench.settings.model.resource
    careful = _is_open(bench, endpoint)
    try:
        for told in interviewer.interview_all(asked, careful=careful):
            book(bench)
            if any(report.usage.calls for report in told.reports) and careful:
                careful = False
                _close(bench, endpoint)
            yield told
    finally:
        book(bench)


def _tell(interviewer: Interviewer, asked: Asked) -> Told:
    try:
        reports = interviewer.interview(asked.chunks, cache=asked.cache)
    except Exception as error:  # noqa: BLE001 - it is told; the stage decides what it means
        return Told(asked.key, error=error)
    return Told(asked.key, tuple(reports))


def _is_open(bench: Bench, resource: str) -> bool:
    with bench.ledger.read() as tx:
        return resource in breakers.open_resources(tx)


def _close(bench: Bench, resource: str) -> None:
    with bench.ledger.write() as tx:
        breakers.close(tx, [resource])


def step_in(bench: Bench, asked: Asked, error: Exception) -> Told | None:
    """What rules say where a model failed, if the settings want that; else None."""
    failed = isinstance(error, EndpointError | WindowError)
    if not failed or bench.settings.on_model_failure != "heuristic":
        return None
    return _tell(HeuristicInterviewer(), asked)


def fallback_stamp() -> Stamp:
    """Who made a report that rules stepped in for."""
    return Stamp(FALLBACK, HeuristicInterviewer.version, None)
