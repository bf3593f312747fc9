"""Interviews through a model's Batch API: half the price, a day's patience.

`submit` writes a job down before anything is sent, and `advance` takes every job as far as it gets:
uploaded, submitted, fetched. Each step is durable before the next; one that was cut short is done
again, or found at the endpoint. The answers go into the response cache, so that the windows then
run as if each call had been made already.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memclaw_etl.errors import EndpointError
from memclaw_etl.interview.model_answer import ANSWER_SCHEMA
from memclaw_etl.interview.model_batch import read_results, request_line, split_lines
from memclaw_etl.interview.model_chunk import cache_key, stored_answer
from memclaw_etl.interview.model_client import RemoteBatches, open_batches
from memclaw_etl.interview.model_prompt import PROMPT_VERSION, Message, messages_for
from memclaw_etl.interview.model_purse import cost_of
from memclaw_etl.interview.model_request import RawAnswer, request_body
from memclaw_etl.lake.ledger import Stage, Window, model_jobs, reinterviews, results, windows
from memclaw_etl.lake.ledger.identifiers import sha1_hex
from memclaw_etl.lake.ledger.model_jobs import Job, JobRequest, JobState
from memclaw_etl.lake.ledger.spending import Spent
from memclaw_etl.stages.bench import Bench
from memclaw_etl.stages.mask import read_chunks
from memclaw_etl.stages.sitting import keystones_of, stamp_of
from memclaw_etl.stages.spending import add_spent


@dataclass(frozen=True, slots=True)
class _Prompt:
    request: JobRequest
    messages: tuple[Message, ...]

    @property
    def custom_id(self) -> str:
        """The request's name in a file; each tenant has its own answers."""
        return _custom_id(self.request)


def _custom_id(request: JobRequest) -> str:
    return f"{sha1_hex(request.tenant_id)[:12]}-{request.cache_key}"


def submit(bench: Bench, chosen: Sequence[Window]) -> list[str]:
    """Hand in what the cache does not hold of these windows' prompts; returns the jobs' ids.

    Raises:
        EndpointError: the endpoint is down; the jobs are written down, `advance` goes on with them.
    """
    missing = [prompt for prompt in _prompts(bench, chosen) if not _is_answered(bench, prompt)]
    jobs = [_write_down(bench, part) for part in _parts(bench, missing)]
    advance(bench)
    return jobs


def is_answered(bench: Bench, window: Window) -> bool:
    """Whether the cache holds an answer to every prompt of a window."""
    return all(_is_answered(bench, prompt) for prompt in _prompts(bench, [window]))


def _is_answered(bench: Bench, prompt: _Prompt) -> bool:
    cache = bench.responses(prompt.request.tenant_id)
    return stored_answer(cache, prompt.request.cache_key) is not None


def _prompts(bench: Bench, chosen: Iterable[Window]) -> Iterator[_Prompt]:
    for window in chosen:
        with bench.ledger.read() as tx:
            file = results.current(tx, [window.window_id], Stage.MASKED_CHUNKS)
        for chunk in read_chunks(bench, file[window.window_id]):
            messages = messages_for(chunk, keystones=keystones_of(bench, window))
            key = cache_key(messages, bench.settings.model)
            yield _Prompt(
                JobRequest(key, window.tenant_id, window.window_id, chunk.index), messages
            )


def _parts(bench: Bench, prompts: Sequence[_Prompt]) -> Iterator[list[_Prompt]]:
    by_id: defaultdict[str, list[_Prompt]] = defaultdict(list)
    for prompt in prompts:
        by_id[prompt.custom_id].append(prompt)
    lines = ((name, _line(bench, alike[0])) for name, alike in by_id.items())
    for part in split_lines(lines):
        yield [prompt for name, _ in part for prompt in by_id[name]]


def _line(bench: Bench, prompt: _Prompt) -> bytes:
    able = bench.model_interviewer.memory.recall()
    model = bench.settings.model
    body = request_body(
        model, prompt.messages, ANSWER_SCHEMA, mode=able.mode,
        temperature=model.temperature if able.takes_temperature else None,
    )  # fmt: skip
    return request_line(prompt.custom_id, body)


def _write_down(bench: Bench, prompts: Sequence[_Prompt]) -> str:
    model = bench.settings.model
    job = Job(
        job_id=uuid.uuid4().hex, endpoint=model.resource, model=model.name,
        prompt_version=PROMPT_VERSION, state=JobState.PREPARED, file_id=None, remote_id=None,
        requests=len({prompt.custom_id for prompt in prompts}), answered=0, error=None,
        created_at=bench.ledger.now(), polled_at=None, ended_at=None,
    )  # fmt: skip
    with bench.ledger.write() as tx:
        model_jobs.add(tx, job, [prompt.request for prompt in prompts])
    return job.job_id


def advance(bench: Bench) -> list[Job]:
    """Take every open job as far as it gets now; returns them as they stand then.

    A job of another endpoint or model than the settings name is left alone.

    Raises:
        EndpointError: the endpoint is down; whatever was reached is written down.
    """
    model = bench.settings.model
    with bench.ledger.read() as tx:
        mine = [
            job
            for job in model_jobs.open_jobs(tx)
            if (job.endpoint, job.model) == (model.resource, model.name)
        ]
    if not mine:
        return []
    with open_batches(model) as remote:
        return [_Errand(bench, remote, job).run() for job in mine]


@dataclass
class _Errand:
    """One job, taken from state to state."""

    bench: Bench
    remote: RemoteBatches
    job: Job

    def run(self) -> Job:
        steps = {
            JobState.PREPARED: self._upload,
            JobState.UPLOADED: self._submit,
            JobState.SUBMITTED: self._look,
        }
        while (step := steps.get(JobState(self.job.state))) is not None:
            before = self.job.state
            try:
                step()
            except EndpointError as error:
                self._change(error=str(error), polled_at=self.bench.ledger.now())
                raise
            if self.job.state == before:
                break
        return self.job

    def _change(self, **values: object) -> None:
        with self.bench.ledger.write() as tx:
            model_jobs.change(tx, self.job.job_id, **values)
            self.job = model_jobs.get(tx, self.job.job_id)

    def _requests(self) -> list[JobRequest]:
        with self.bench.ledger.read() as tx:
            return model_jobs.requests_of(tx, self.job.job_id)

    def _upload(self) -> None:
        wanted = {(one.window_id, one.cache_key) for one in self._requests()}
        with self.bench.ledger.read() as tx:
            chosen = windows.by_ids(tx, sorted({window_id for window_id, _ in wanted}))
        lines = {
            prompt.custom_id: _line(self.bench, prompt)
            for prompt in _prompts(self.bench, chosen)
            if (prompt.request.window_id, prompt.request.cache_key) in wanted
        }
        if not lines:  # masked anew, or another prompt, since it was prepared
            self._end(JobState.FAILED, "its prompts are no longer those that would be asked")
            return
        content = b"".join(lines[name] for name in sorted(lines))
        name = f"memclaw-{self.job.job_id[:12]}.jsonl"
        self._change(state=JobState.UPLOADED, file_id=self.remote.upload(content, name=name))

    def _submit(self) -> None:
        job_id = self.job.job_id
        found = self.remote.find(job_id)
        if found is None:
            found = self.remote.submit(str(self.job.file_id), job_id=job_id)
        self._change(state=JobState.SUBMITTED, remote_id=found)

    def _look(self) -> None:
        remote = self.remote.look(str(self.job.remote_id))
        self._change(polled_at=self.bench.ledger.now(), error=None)
        if not remote.ended:
            return
        answered = sum(self._fetch(file_id) for file_id in remote.file_ids)
        self._blame()
        if answered:
            self._end(JobState.FETCHED, None, answered=answered)
        else:
            self._end(JobState.FAILED, f"the batch {remote.status} without an answer")

    def _fetch(self, file_id: str) -> int:
        """Put a file's answers into the cache; those that it holds already cost nothing more."""
        by_id = {_custom_id(one): one for one in self._requests()}
        answers = [
            (by_id[name], answer)
            for name, answer in read_results(self.remote.fetch(file_id))
            if name in by_id
        ]
        new = [answer for request, answer in answers if self._keep(request, answer)]
        model = self.bench.settings.model
        prompt = sum(answer.prompt_tokens for answer in new)
        completion = sum(answer.completion_tokens for answer in new)
        cost = cost_of(
            model, prompt_tokens=prompt, completion_tokens=completion, share=model.batch_price_share
        )
        if new:
            add_spent(self.bench, Spent(
                calls=len(new), prompt_tokens=prompt, completion_tokens=completion, cost=cost,
            ))  # fmt: skip
        return len(answers)

    def _keep(self, request: JobRequest, answer: RawAnswer) -> bool:
        cache = self.bench.responses(request.tenant_id)
        if stored_answer(cache, request.cache_key) is not None:
            return False
        cache.put(request.cache_key, answer.model_dump_json().encode())
        return True

    def _blame(self) -> None:
        """Windows that the batch did not answer: their attempts are counted, as in a run."""
        missing = {
            request.window_id
            for request in self._requests()
            if stored_answer(self.bench.responses(request.tenant_id), request.cache_key) is None
        }
        target = self.bench.model_interviewer
        with self.bench.ledger.write() as tx:
            for window in windows.by_ids(tx, sorted(missing)):
                reinterviews.count_failure(
                    tx, window.window_id, stamp_of(self.bench, window, target).target,
                    code="AnswerMissing", now=self.bench.ledger.now(),
                )  # fmt: skip

    def _end(self, state: JobState, error: str | None, *, answered: int = 0) -> None:
        self._change(state=state, error=error, answered=answered, ended_at=self.bench.ledger.now())


def fetched(bench: Bench) -> list[tuple[str, list[Window]]]:
    """Jobs whose answers are in the cache, with the windows that can run without a call now."""
    with bench.ledger.read() as tx:
        jobs = [job for job in model_jobs.open_jobs(tx) if job.state == JobState.FETCHED]
        found = {
            job.job_id: windows.by_ids(
                tx, sorted({one.window_id for one in model_jobs.requests_of(tx, job.job_id)})
            )
            for job in jobs
        }
    return [
        (job_id, [window for window in its if is_answered(bench, window)])
        for job_id, its in found.items()
    ]


def finish(bench: Bench, job_ids: Sequence[str]) -> None:
    """The windows of these jobs have been asked for."""
    with bench.ledger.write() as tx:
        for job_id in job_ids:
            model_jobs.change(tx, job_id, state=JobState.DONE)


def count_open(bench: Bench) -> int:
    """How many jobs are not at their end."""
    with bench.ledger.read() as tx:
        return len(model_jobs.open_jobs(tx))
