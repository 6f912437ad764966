"""The model's port over HTTP, against servers that refuse, stream, drip and break off."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.service.http import HttpServer
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.exchange import Prompt
from haltpoint_planner.model import Model

Answer = tuple[int, str | Sequence[str | float]]
"""A status, and a body or its parts; a number is a pause of so many seconds."""
Server = Callable[[dict[str, Any]], Answer]

TOOL = {
    "type": "function",
    "function": {"name": "find", "parameters": {"type": "object", "properties": {}}},
}
PROMPT = Prompt(
    messages=({"role": "user", "content": "hi"},),
    tools=(TOOL,),
    force=True,
    schema={"type": "object"},
)
WHOLE = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
ALL = {"model", "messages", "tools", "tool_choice", "response_format", "temperature", "max_tokens"}


def thought(seconds: float = 60.0, **more: Any) -> ThoughtRequest:
    deadline = int((time.time() + seconds) * 1000)
    return ThoughtRequest(thought_id="c.find.t1.1", kind=ThoughtKind.ACT, deadline=deadline, **more)


class Asked:
    """A server and what it was asked."""

    def __init__(self, server: Server) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._server = server

    async def app(
        self,
        scope: Any,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        text = b""
        while (message := await receive()).get("more_body"):
            text += message["body"]
        self.bodies.append(json.loads(text + message["body"]))
        self.headers.append({name.decode(): told.decode() for name, told in scope["headers"]})
        status, answer = self._server(self.bodies[-1])
        await send({"type": "http.response.start", "status": status, "headers": []})
        for part in [answer] if isinstance(answer, str) else answer:
            if isinstance(part, str):
                await send({"type": "http.response.body", "body": part.encode(), "more_body": True})
            else:
                await asyncio.sleep(part)
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def served(server: Server, **settings: Any) -> AsyncIterator[tuple[Model, Asked]]:
    asked = Asked(server)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asked.app(scope, receive, send)

    http_server = HttpServer(app, "127.0.0.1", 0)
    await http_server.start()
    try:
        async with httpx.AsyncClient() as http:
            url = f"http://127.0.0.1:{http_server.port}/v1"
            yield ChatCompletions(ModelSettings(base_url=url, **settings), http, pause=0.001), asked
    finally:
        await http_server.stop()


def refusing(**refused: str) -> Server:
    """Answers once none of these parameters is in the question; until then it refuses the first, in
    these words.
    """

    def server(body: dict[str, Any]) -> Answer:
        for name, words in refused.items():
            if name in body:
                return 400, words
        return 200, WHOLE

    return server


def openai(message: str, param: str | None = None) -> str:
    return json.dumps(
        {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": param,
                "code": "x",
            }
        }
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "temperature",
            openai(
                "Unsupported value: 'temperature' does not support 0 with this model.",
                "temperature",
            ),
        ),
        (
            "response_format",
            openai("'strict' is not known here", "response_format.json_schema.strict"),
        ),
        ("tool_choice", openai("`tool_choice` must be auto")),
        (
            "tool_choice",
            json.dumps(
                {"object": "error", "message": "tool_choice is not implemented", "param": None}
            ),
        ),
        ("response_format", "response_format is not supported"),
        (
            "max_tokens",
            json.dumps(
                {
                    "detail": [
                        {"loc": ["body", "max_tokens"], "msg": "Extra", "input": {"temperature": 0}}
                    ]
                }
            ),
        ),
        (
            "temperature",
            json.dumps(
                {"message": {"detail": [{"loc": ["body", "temperature"], "msg": "forbidden"}]}}
            ),
        ),
    ],
)
async def test_a_refused_parameter_is_left_out_alone_from_then_on(name: str, words: str) -> None:
    async with served(refusing(**{name: words})) as (model, asked):
        for _ in range(2):
            await model.ask("m", PROMPT, thought())
    assert [set(body) for body in asked.bodies] == [ALL, ALL - {name}, ALL - {name}]


# ---- streams


def events(*data: Any) -> Iterator[str]:
    for one in data:
        yield f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n"


def delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def test_a_server_that_only_streams_is_asked_for_a_stream() -> None:
    def server(body: dict[str, Any]) -> Answer:
        if not body.get("stream"):
            return 400, openai(
                "This model only supports stream mode, please enable the stream parameter."
            )
        if "stream_options" in body:
            return 400, openai("unknown parameter", "stream_options")
        return 200, list(events(delta(content="hel"), delta("stop", content="lo"), "[DONE]"))

    async with served(server) as (model, asked):
        replies = [await model.ask("m", PROMPT, thought()) for _ in range(2)]
    assert [reply.content for reply in replies] == ["hello", "hello"]
    assert [body.get("stream") for body in asked.bodies] == [None, True, True, True]
    assert set(asked.bodies[-1]) == ALL | {"stream"}


# ---- time


async def test_a_server_that_drips_is_left_after_the_timeout() -> None:
    drops: list[str | float] = [
        part for event in events(*[delta(content="x")] * 1000) for part in (event, 0.05)
    ]
    with pytest.raises(HaltpointError, match=r"HP-30[27]"):
        async with served(lambda _: (200, drops), timeout=0.3) as (model, _):
            await model.ask("m", PROMPT, thought(1))


# ---- who asks


@pytest.mark.parametrize(("headers", "told"), [("auto", True), ("always", True), ("never", False)])
async def test_our_headers_go_out_as_the_setting_says(headers: str, told: bool) -> None:
    async with served(lambda _: (200, WHOLE), headers=headers) as (model, asked):
        await model.ask("m", PROMPT, thought(step_id="find"))
    ours = {
        name: value for name, value in asked.headers[0].items() if name.startswith("x-haltpoint")
    }
    assert ours == (
        {
            "x-haltpoint-thought": "act",
            "x-haltpoint-chain": "c",
            "x-haltpoint-step": "find",
            "x-haltpoint-turn": "1",
            "x-haltpoint-attempt": "1",
        }
        if told
        else {}
    )
