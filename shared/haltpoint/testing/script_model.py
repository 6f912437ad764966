"""A server that speaks like OpenAI's chat completions and says what a script says: for the demo,
and for tests.

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
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from faststream.asgi import AsgiResponse
from faststream.asgi.request import AsgiRequest

from haltpoint.runtime.service.http import HttpServer
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Following, Rule, Say, Script, Speaker, Trouble, fill

_REMEMBERED: Final = 1000

_CUT: Final = AsgiResponse(b'{"choices": [', 200, {"content-length": "1000"})
"""It promises more bytes than it has: uvicorn then closes the connection in the middle of the
answer.
"""

_MALFORMED: Final = AsgiResponse(b'{"choices": [{"message": {"content": "and the')

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request that was served."""

    thought: str | None
    chain: str | None
    step: str | None
    turn: int | None
    attempt: int | None
    # The number of the rule that answered, from 0; None: there was none.
    rule: int | None
    status: int
    at: float
    body: Json


class ScriptedModel:
    """The server of a script, or of a program that speaks in its place. `port` 0 takes a free one.

    Enter it, or call `start` and `stop`.
    """

    def __init__(self, script: Script | Speaker, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: deque[ServedRequest] = deque(maxlen=_REMEMBERED)
        self._speaker: Speaker = Following(script) if isinstance(script, Script) else script
        self._known = script.known if isinstance(script, Script) else ""
        self._stopping = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            request = AsgiRequest(scope, receive, send)
            route = f"{scope['method']} {scope['path']}"
            response = await self._serve(route, request)
            await response(scope, receive, send)

        self._http = HttpServer(app, host, port, chosen_by="--port")

    @property
    def base_url(self) -> str:
        """What HALTPOINT_MODEL__BASE_URL has to be."""
        host = self._http.host
        if ":" in host:
            host = f"[{host}]"
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

    async def _serve(self, route: str, request: AsgiRequest) -> AsgiResponse:
        match route:
            case "POST /v1/chat/completions":
                return await self._complete(request.headers, await request.body())
            case "GET /v1/models":
                model = {"id": self._speaker.model, "object": "model"}
                return _json(200, {"object": "list", "data": [model]})
            case "GET /requests":
                return _json(200, {"requests": list(map(asdict, self.requests))})
            case _:
                return _error(
                    404, "there is POST /v1/chat/completions, GET /v1/models and GET /requests"
                )

    async def _complete(self, headers: dict[str, str], text: bytes) -> AsgiResponse:
        try:
            body = json.loads(text)
            talk = Conversation.of(headers, body)
        except (ValueError, AttributeError, RecursionError) as error:
            words = f"this is not a chat completion request: {error}"
            return _error(400, words)
        spoken = self._speaker.next(talk)
        response = _error(404, f"no rule of the script fits this {talk.thought}{self._known}")
        if spoken:
            response = self._respond(spoken[1], spoken[2], body)
        served = ServedRequest(
            talk.thought,
            headers.get("x-haltpoint-chain"),
            talk.step,
            talk.turn,
            talk.attempt,
            spoken[0] if spoken else None,
            response.status_code,
            time.time(),
            body,
        )
        self.requests.append(served)
        if spoken:
            await self._wait(spoken[1].delay)
        return response

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def _respond(self, rule: Rule, values: Json, body: Json) -> AsgiResponse:
        if rule.fault:
            return _trouble(rule.fault)
        try:
            message = _message(rule.say or Say(), values)
        except KeyError as error:
            return _error(
                404, f"the template {{{{{error.args[0]}}}}} refers to nothing in this conversation"
            )
        answer = self._answer(message, body)
        return _stream(answer) if body.get("stream") else _json(200, answer)

    def _answer(self, message: Json, body: Json) -> Json:
        prompt = _tokens(body)
        completion = _tokens(message)
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._speaker.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }


def _trouble(fault: Trouble) -> AsgiResponse:
    if fault.cut:
        return _CUT
    if fault.malformed:
        return _MALFORMED
    headers = {}
    if fault.retry_after is not None:
        headers["retry-after"] = str(fault.retry_after)
    return _error(fault.status or 200, fault.words, **headers)


def run(script: Script, host: str = "127.0.0.1", port: int = 0) -> None:
    """Serve until SIGINT or SIGTERM; prints `ready http://...` once it listens. Raises
    HaltpointError HP-003.
    """
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(ScriptedModel(script, host, port)))


async def _run(model: ScriptedModel) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with model:
        print(f"ready {model.base_url}", flush=True)  # noqa: T201 - its starter waits for this line
        await stopped.wait()


def _message(say: Say, values: Json) -> Json:
    said = say.content if say.plan is None else say.plan
    content = None if said is None else _text(fill(said, values))
    functions = fill([call.model_dump() for call in say.calls], values)
    calls = [_tool_call(*each) for each in enumerate(functions)]
    message = {"role": "assistant", "content": content}
    return message | {"tool_calls": calls} if calls else message


def _tool_call(number: int, function: Json) -> Json:
    function["arguments"] = _text(function["arguments"])
    return {"id": f"call_{number}", "type": "function", "function": function}


def _stream(answer: Json) -> AsgiResponse:
    """A whole answer as a stream: its words, then each call in two pieces, then how it ended, then
    the tokens.
    """
    message = answer["choices"][0]["message"]
    deltas = [{"role": "assistant", "content": message["content"]}]
    for number, call in enumerate(message.get("tool_calls", [])):
        deltas += _halves(number, call)
    about = {"id": answer["id"], "object": "chat.completion.chunk", "model": answer["model"]}
    ends = [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": answer["usage"]},
    ]
    pieces = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    body = b""
    for piece in pieces + ends:
        event = json.dumps(about | piece)
        body += f"data: {event}\n\n".encode()
    return AsgiResponse(body + b"data: [DONE]\n\n", 200, {"content-type": "text/event-stream"})


def _halves(number: int, call: Json) -> list[Json]:
    arguments = call["function"]["arguments"]
    half = len(arguments) // 2
    begun = {"name": call["function"]["name"], "arguments": arguments[:half]}
    first = call | {"index": number, "function": begun}
    second = {"index": number, "function": {"arguments": arguments[half:]}}
    return [{"tool_calls": [first]}, {"tool_calls": [second]}]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _tokens(value: Json) -> int:
    """About as many as there are: a quarter of the characters."""
    return len(json.dumps(value)) // 4


def _error(status: int, words: str, **headers: str) -> AsgiResponse:
    return _json(status, {"error": {"message": words}}, **headers)


def _json(status: int, value: Json, **headers: str) -> AsgiResponse:
    body = json.dumps(value).encode()
    of_json = {"content-type": "application/json"}
    return AsgiResponse(body, status, of_json | headers)
