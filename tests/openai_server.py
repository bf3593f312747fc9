"""A scripted OpenAI-compatible server on loopback: real HTTP for the real SDK.

Without a script it reports honestly on what stands in the prompt: one decision for every event of
the chunk, citing it. `planned` replies come first, one a call; `script` decides every call.

    python -m tests.openai_server LATENCY_S      serves until it is killed, prints its URL
"""

import asyncio
import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from typing import Any

from tests.embedding_desk import EmbeddingDesk

EVENT = re.compile(
    r"\[\[(?P<mark>\w{12}) event (?P<label>[\d.]+) \| (?P<role>\w+) \| (?P<at>[^\]]+)\]\]\n"
    r"(?P<text>.*?)(?=\n\[\[(?P=mark) )",
    re.DOTALL,
)


@dataclass(frozen=True)
class Call:
    """One request for a chat completion."""

    body: dict[str, Any]
    number: int

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def mode(self) -> str:
        kind = self.body.get("response_format", {}).get("type", "text")
        return {"json_schema": "schema", "json_object": "json"}.get(kind, "text")

    @property
    def prompt(self) -> str:
        """What is asked, however it is asked: the messages behind the first."""
        return hashlib.sha256(json.dumps(self.body["messages"][1:]).encode()).hexdigest()

    @property
    def events(self) -> list[dict[str, str]]:
        return [found.groupdict() for found in EVENT.finditer(self.user)]


@dataclass(frozen=True)
class Reply:
    """What the server does with a call."""

    text: str | None = None
    status: int = 200
    finish: str = "stop"
    refusal: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    hang: bool = False
    cut: bool = False
    """Close the connection in the middle of the body."""
    raw: bytes | None = None


def report(**sections: list[dict[str, Any]]) -> str:
    """An answer in the form; missing fields are filled in."""
    optional: dict[str, Any] = {"ts": None, "importance": "normal", "evidence": []}
    own: dict[str, dict[str, Any]] = {
        "worked_on": {"ts_end": None},
        "decisions": {"rationale": None, "alternative": None},
        "outcomes": {"result": None},
    }
    names = (
        "worked_on", "decisions", "outcomes", "blockers", "open_questions", "preferences_learned",
    )  # fmt: skip
    return json.dumps(
        {
            name: [optional | own.get(name, {}) | note for note in sections.get(name, [])]
            for name in names
        }
    )


def honest(call: Call) -> Reply:
    """One decision for every event: its first 150 characters, cited, with its time."""
    notes = [
        {
            "summary": event["text"][:150],
            "evidence": [event["label"]],
            "ts": None if event["at"] == "no time" else event["at"],
        }
        for event in call.events
    ]
    return Reply(report(decisions=notes))


class ModelServer:
    """Serves in a thread of its own."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.modes: tuple[str, ...] = ("schema", "json", "text")
        self.takes_temperature = True
        self.script: Callable[[Call], Reply] = honest
        self.planned: deque[Reply] = deque()
        self.down = False
        self.hold = threading.Event()
        """While it is set, calls are counted and not answered."""
        self.embeddings = EmbeddingDesk()
        self.calls: list[Call] = []
        self.refused = 0
        """Calls that were not taken: an unknown mode, or the server was down."""
        self.answered: Counter[str] = Counter()
        self.open = self.most_open = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.finish_batches = True
        self.requests: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event | None = None

    # --- running

    @contextmanager
    def running(self) -> Iterator["ModelServer"]:
        ready = threading.Event()
        thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve(ready)])
        thread.start()
        ready.wait(10)
        try:
            yield self
        finally:
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(10)
            self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await self._stop.wait()
        server.close()
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.02)  # transports close a turn later

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, _, lines = head.partition(b"\r\n")
        method, path, _ = first.decode().split(" ", 2)
        headers = BytesParser().parsebytes(lines)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.keys.add(headers.get("authorization", ""))
        route = f"{method} {path.partition('?')[0].removeprefix('/v1')}"
        self.requests[re.sub(r"(file|batch)-\w+", r"\1", route)] += 1
        if route == "POST /chat/completions":
            return await self._chat(json.loads(body), writer)
        if route == "POST /embeddings":
            return await self._embed(json.loads(body), writer)
        status, answer = self._other(route, headers, body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return self._send(writer, status, data, {})

    @staticmethod
    def _send(
        writer: asyncio.StreamWriter, status: int, data: bytes, headers: dict[str, str]
    ) -> bool:
        fields = {"content-type": "application/json", "content-length": str(len(data))} | headers
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + data)
        return True

    # --- chat

    async def _chat(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        call = Call(body, len(self.calls) + self.refused)
        refusal = self._refusal(call)
        if refusal is not None:
            self.refused += 1
            return self._send(writer, refusal.status, self._error(refusal), refusal.headers)
        self.calls.append(call)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency_s)
            while self.hold.is_set():  # noqa: ASYNC110 - set from another thread
                await asyncio.sleep(0.01)
            reply = self.planned.popleft() if self.planned else self.script(call)
            return await self._reply(call, reply, writer)
        finally:
            self.open -= 1

    async def _embed(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency_s)
            answer = self.embeddings.answer(body)
            if answer is None:
                await asyncio.sleep(3600)
                return False
            status, headers, data = answer
            return self._send(writer, status, data, headers)
        finally:
            self.open -= 1

    def _refusal(self, call: Call) -> Reply | None:
        if self.down:
            return Reply(status=503, error={"message": "down", "code": "unavailable"})
        if call.mode not in self.modes:
            wrong = {"message": "unknown response_format", "param": "response_format"}
            return Reply(status=400, error=wrong)
        if "temperature" in call.body and not self.takes_temperature:
            return Reply(status=400, error={"message": "no temperature", "param": "temperature"})
        return None

    @staticmethod
    def _error(reply: Reply) -> bytes:
        return json.dumps({"error": reply.error or {"message": "scripted"}}).encode()

    async def _reply(self, call: Call, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        if reply.hang:
            await asyncio.sleep(3600)
        if reply.raw is not None:
            return self._send(writer, reply.status, reply.raw, reply.headers)
        if reply.status != 200:
            return self._send(writer, reply.status, self._error(reply), reply.headers)
        data = json.dumps(self.completion(call, reply)).encode()
        if reply.cut:
            self._send(writer, 200, data[: len(data) // 2], {"content-length": str(len(data))})
            await writer.drain()
            return False
        self.answered[call.prompt] += 1
        return self._send(writer, 200, data, reply.headers)

    @staticmethod
    def completion(call: Call, reply: Reply) -> dict[str, Any]:
        sent = sum(len(one["content"]) for one in call.body["messages"])
        text = reply.text or ""
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 1,
            "model": call.body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reply.finish,
                    "message": {
                        "role": "assistant", "content": reply.text, "refusal": reply.refusal,
                    },
                }
            ],
            "usage": {
                "prompt_tokens": sent // 4,
                "completion_tokens": len(text) // 4,
                "total_tokens": sent // 4 + len(text) // 4,
            },
        }  # fmt: skip

    # --- files and batches

    def _other(self, route: str, headers: Message, body: bytes) -> tuple[int, Any]:
        if self.down:
            return 503, {"error": {"message": "down"}}
        if route == "POST /files":
            return 200, self._upload(headers, body)
        if route.startswith("GET /files/") and route.endswith("/content"):
            return 200, self.files[route.split("/")[2]]
        if route == "POST /batches":
            return 200, self._new_batch(json.loads(body))
        if route.startswith("GET /batches/"):
            return 200, self._batch(route.split("/")[2])
        every = list(self.batches.values())
        return 200, {"object": "list", "data": every, "has_more": False}

    def _upload(self, headers: Message, body: bytes) -> dict[str, Any]:
        whole = b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body
        parts = BytesParser().parsebytes(whole).get_payload()
        assert isinstance(parts, list)
        content = next(
            part.get_payload(decode=True)
            for part in parts
            if part.get_param("name", header="content-disposition") == "file"
        )
        return self._file(content)

    def _file(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {
            "id": name, "object": "file", "bytes": len(content), "created_at": 1,
            "filename": "notes.jsonl", "purpose": "batch", "status": "processed",
        }  # fmt: skip

    def _new_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {
            "id": name, "object": "batch", "endpoint": body["endpoint"], "status": "in_progress",
            "input_file_id": body["input_file_id"], "completion_window": "24h",
            "created_at": int(time.time()), "metadata": body.get("metadata"),
        }  # fmt: skip
        return self.batches[name]

    def _batch(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        if self.finish_batches and batch["status"] == "in_progress":
            good, bad = self._work_off(self.files[batch["input_file_id"]])
            batch["status"] = "completed"
            batch["output_file_id"] = self._file(good)["id"] if good else None
            batch["error_file_id"] = self._file(bad)["id"] if bad else None
        return batch

    def _work_off(self, content: bytes) -> tuple[bytes, bytes]:
        good, bad = [], []
        for line in content.splitlines():
            row = json.loads(line)
            call = Call(row["body"], len(self.calls))
            reply = self.planned.popleft() if self.planned else self.script(call)
            answer = {"id": "r", "custom_id": row["custom_id"], "error": None}
            if reply.status == 200:
                self.answered[call.prompt] += 1
                answer["response"] = {
                    "status_code": 200, "request_id": "r", "body": self.completion(call, reply),
                }  # fmt: skip
                good.append(json.dumps(answer))
            else:
                answer["response"] = {"status_code": reply.status, "body": {"error": {}}}
                bad.append(json.dumps(answer))
        return "\n".join(reversed(good)).encode(), "\n".join(bad).encode()


def main() -> None:
    """Serve until killed."""
    server = ModelServer(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0)
    with server.running():
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
