"""A server that speaks like OpenAI's chat completions and says what a script says: for the demo, and for tests.

    async with ScriptedModel(Script.read(Path("contacts_good"))) as model:
        settings = ModelSettings(base_url=model.base_url, name="scripted")
        ...
        assert [seen.thought for seen in model.requests] == ["plan", "act", "act", "answer"]

POST /v1/chat/completions, GET /v1/models, GET /requests (the questions so far, the last thousand).
"""

import asyncio
import json
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from haltpoint.runtime.service.http import HttpServer
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Following, Rule, Say, Script, Speaker, fill

_REMEMBERED: Final = 1000
_MAX_BODY: Final = 8 * 1024 * 1024

_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request that was served. `rule` is the number of the rule that answered, from 0; None when there was none."""

    thought: str | None
    chain: str | None
    step: str | None
    turn: int | None
    attempt: int | None
    rule: int | None
    status: int
    at: float
    body: dict[str, Any]


class ScriptedModel:
    """The server of a script, or of a program that speaks in its place. `port` 0 takes a free one.

    Enter it, or call `start` and `stop`.
    """

    def __init__(self, script: Script | Speaker, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: deque[ServedRequest] = deque(maxlen=_REMEMBERED)
        self._speaker: Speaker = Following(script) if isinstance(script, Script) else script
        self._stopping = asyncio.Event()

        async def app(scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
            await self._serve(scope, receive, send)  # uvicorn does not know a bound method for what it is

        self._http = HttpServer(app, host, port, chosen_by="--port")

    @property
    def base_url(self) -> str:
        """What HALTPOINT_MODEL__BASE_URL has to be."""
        host = f"[{self._http.host}]" if ":" in self._http.host else self._http.host
        return f"http://{host}:{self._http.port}/v1"

    async def start(self) -> None:
        """Listen. Raises HaltpointError HP-003 when the address cannot be used."""
        await self._http.start()

    async def stop(self) -> None:
        """Give open answers at once and end."""
        self._stopping.set()
        await self._http.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _serve(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        route = (scope["method"], scope["path"])
        if route == ("POST", "/v1/chat/completions"):
            headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
            await self._complete(headers, await _read(receive), send)
        elif route == ("GET", "/v1/models"):
            models = [{"id": self._speaker.model, "object": "model"}]
            await _send_json(send, 200, {"object": "list", "data": models})
        elif route == ("GET", "/requests"):
            await _send_json(send, 200, {"requests": [asdict(seen) for seen in self.requests]})
        else:
            await _send_json(send, 404, _error("there is POST /v1/chat/completions, GET /v1/models and GET /requests"))

    async def _complete(self, headers: dict[str, str], text: bytes, send: _Send) -> None:
        try:
            body = json.loads(text)
            talk = Conversation.of(headers, body)
        except (ValueError, AttributeError, RecursionError) as error:
            await _send_json(send, 400, _error(f"this is not a chat completion request: {error}"))
            return
        found = self._speaker.next(talk)
        status, answer = (500, _error(_unmatched(talk))) if found is None else self._answer(found[1], found[2], text)
        self.requests.append(
            ServedRequest(
                talk.thought,
                headers.get("x-haltpoint-chain"),
                talk.step,
                talk.turn,
                talk.attempt,
                None if found is None else found[0],
                status,
                time.time(),
                body,
            )
        )
        rule = Rule(say=Say()) if found is None else found[1]
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), rule.delay)
        if rule.fault is not None and rule.fault.cut:
            await _cut(send)
        elif rule.fault is not None and rule.fault.malformed:
            await _send(send, 200, b'{"choices": [{"message": {"content": "and the')
        elif status == 200 and body.get("stream"):
            await _send(send, 200, _events(answer), {"content-type": "text/event-stream"})
        else:
            wait = None if rule.fault is None else rule.fault.retry_after
            await _send_json(send, status, answer, {} if wait is None else {"retry-after": str(wait)})

    def _answer(self, rule: Rule, values: dict[str, Any], text: bytes) -> tuple[int, dict[str, Any]]:
        if rule.say is None:
            fault = rule.fault
            return (fault.status or 200, _error(fault.words)) if fault is not None else (200, {})
        try:
            message = _message(rule.say, values)
        except KeyError as error:
            return 500, _error(f"the template {{{{{error.args[0]}}}}} refers to nothing in this conversation")
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(json.dumps(message)) // 4}
        return 200, {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._speaker.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage | {"total_tokens": sum(usage.values())},
        }


def run(script: Script, host: str = "127.0.0.1", port: int = 0) -> None:
    """Serve until SIGINT or SIGTERM; prints `ready http://...` once it listens. Raises HaltpointError HP-003."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(ScriptedModel(script, host, port)))


async def _run(model: ScriptedModel) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with model:
        print(f"ready {model.base_url}", flush=True)  # noqa: T201 - its starter waits for this line
        await stopped.wait()


def _message(say: Say, values: dict[str, Any]) -> dict[str, Any]:
    content = fill(say.content if say.plan is None else say.plan, values)
    calls = [{"name": call.name, "arguments": fill(call.arguments, values)} for call in say.calls]
    if calls and not say.native:
        content, calls = "\n".join(json.dumps(call) for call in calls), []
    message: dict[str, Any] = {"role": "assistant", "content": None if content is None else _text(content)}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {**call, "arguments": _text(call["arguments"])}}
            for number, call in enumerate(calls)
        ]
    return message


def _events(answer: dict[str, Any]) -> bytes:
    """A whole answer as a stream: its words, then each call in two pieces, then how it ended, then the tokens."""
    message = answer["choices"][0]["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message["content"]}]
    for number, call in enumerate(message.get("tool_calls", [])):
        name, arguments = call["function"].values()
        half = len(arguments) // 2
        begun = {**call, "index": number, "function": {"name": name, "arguments": arguments[:half]}}
        rest = {"index": number, "function": {"arguments": arguments[half:]}}
        deltas += [{"tool_calls": [piece]} for piece in (begun, rest)]
    about = {"id": answer["id"], "object": "chat.completion.chunk", "model": answer["model"]}
    told: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    told += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    told += [{"choices": [], "usage": answer["usage"]}]
    return b"".join(f"data: {json.dumps(about | one)}\n\n".encode() for one in told) + b"data: [DONE]\n\n"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _unmatched(talk: Conversation) -> str:
    results = ", ".join(tool for tool, _ in talk.results) or "none"
    return (
        f"no rule of the script fits: thought={talk.thought} step={talk.step} turn={talk.turn} attempt={talk.attempt} "
        f"goal={talk.goal[:200]!r} results={results}"
    )


def _error(words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "script"}}


async def _read(receive: _Receive) -> bytes:
    body = bytearray()
    more = True
    while more and len(body) <= _MAX_BODY:
        message = await receive()
        body += message.get("body", b"")
        more = bool(message.get("more_body"))
    return bytes(body)


async def _send_json(send: _Send, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
    await _send(send, status, json.dumps(value).encode(), headers)


async def _send(send: _Send, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    told = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    lines = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def _cut(send: _Send) -> None:
    """Promise more bytes than are sent: uvicorn then closes the connection in the middle of the answer."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
    await send({"type": "http.response.body", "body": b'{"choices": ['})


def serve_file(path: Path, host: str = "127.0.0.1", port: int = 0) -> None:
    """`haltpoint script-model FILE`: read the script and serve it. Raises HaltpointError HP-041 or HP-003."""
    run(Script.read(path), host, port)
