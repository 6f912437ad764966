"""A server that speaks like OpenAI's chat completions and says what a script says: for the demo,
and for tests.

    async with ScriptedModel(Script.read(Path("contacts_good"))) as model:
        settings = ModelSettings(base_url=model.base_url, name="scripted")
        ...
        assert [asked.talk.thought for asked in model.requests] == ["plan", "act", "act", "answer"]

POST /v1/chat/completions, GET /v1/models.
"""

import asyncio
import json
import signal
import time
from collections import deque
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from faststream.asgi import AsgiResponse
from faststream.asgi.request import AsgiRequest

from haltpoint.runtime.service.http import HttpServer
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Following, SaidCall, Say, Script, Speaker, Trouble

_REMEMBERED: Final = 1000

_CUT: Final = AsgiResponse(b'{"choices": [', 200, {"content-length": "1000"})
"""It promises more bytes than it has: uvicorn then closes the connection in the middle of the
answer.
"""

_MALFORMED: Final = AsgiResponse(b'{"choices": [{"message": {"content": "and the')

Json = dict[str, Any]


class ServedRequest(NamedTuple):
    """One request: as rules see it, the chain that it is for, and its body."""

    talk: Conversation
    chain: str | None
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
            response = await self._serve(f"{scope['method']} {scope['path']}", request)
            await response(scope, receive, send)

        self._http = HttpServer(app, host, port)

    @property
    def base_url(self) -> str:
        """What HALTPOINT_MODEL__BASE_URL has to be."""
        return f"{self._http.url}/v1"

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
            case _:
                return _error(404, "there is POST /v1/chat/completions and GET /v1/models")

    async def _complete(self, headers: dict[str, str], text: bytes) -> AsgiResponse:
        try:
            body = json.loads(text)
            talk = Conversation.of(headers, body)
        except (ValueError, AttributeError, RecursionError) as error:
            return _error(400, f"this is not a chat completion request: {error}")
        self.requests.append(ServedRequest(talk, headers.get("x-haltpoint-chain"), body))
        try:
            rule = self._speaker.next(talk)
        except KeyError as error:
            words = f"the template {{{{{error.args[0]}}}}} refers to nothing in this conversation"
            return _error(404, words)
        if rule is None:
            return _error(404, f"no rule of the script fits this {talk.thought}{self._known}")
        await self._wait(rule.delay)
        if rule.fault:
            return _trouble(rule.fault)
        return self._answer(rule.say or Say(), body)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def _answer(self, say: Say, body: Json) -> AsgiResponse:
        message = _message(say)
        prompt = _tokens(body)
        completion = _tokens(message)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        about = {"id": f"chatcmpl-{len(self.requests)}", "model": self._speaker.model}
        if body.get("stream"):
            return _stream(about, message, usage)
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"object": "chat.completion", "created": int(time.time()), "choices": [choice]}
        usage["total_tokens"] = prompt + completion
        return _json(200, about | answer | {"usage": usage})


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


def _message(say: Say) -> Json:
    said = say.content if say.plan is None else say.plan
    content = None if said is None else _text(said)
    message: Json = {"role": "assistant", "content": content}
    if say.calls:
        message["tool_calls"] = [_tool_call(*each) for each in enumerate(say.calls)]
    return message


def _tool_call(number: int, call: SaidCall) -> Json:
    function = {"name": call.name, "arguments": _text(call.arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _stream(about: Json, message: Json, usage: Json) -> AsgiResponse:
    """An answer as a stream: its words, its calls one by one, how it ended, the tokens."""
    deltas = [{"role": "assistant", "content": message["content"]}]
    for number, call in enumerate(message.get("tool_calls", [])):
        deltas.append({"tool_calls": [call | {"index": number}]})
    events: list[Json] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append({"choices": [], "usage": usage})
    about = about | {"object": "chat.completion.chunk"}
    body = ""
    for event in events:
        body += f"data: {json.dumps(about | event)}\n\n"
    body += "data: [DONE]\n\n"
    return AsgiResponse(body.encode(), 200, {"content-type": "text/event-stream"})


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
