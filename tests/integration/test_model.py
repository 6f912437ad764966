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
from haltpoint_planner.model import ATTEMPTS, Model
from haltpoint_planner.parsing.replies import NativeCall, Reply
from haltpoint_planner.prompting.prompts import Prompt

Answer = tuple[int, str | Sequence[str | float]]
"""A status, and a body or its parts; a number is a pause of so many seconds."""
Server = Callable[[dict[str, Any]], Answer]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
PROMPT = Prompt(messages=({"role": "user", "content": "hi"},), tools=(TOOL,), force=True, schema={"type": "object"})
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
        self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
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
    """Answers once none of these parameters is in the question; until then it refuses the first, in these words."""

    def server(body: dict[str, Any]) -> Answer:
        for name, words in refused.items():
            if name in body:
                return 400, words
        return 200, WHOLE

    return server


def openai(message: str, param: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "x"}})


async def test_max_tokens_becomes_max_completion_tokens_and_nothing_else_is_lost() -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    async with served(refusing(max_tokens=openai(words, "max_tokens"))) as (model, asked):
        for _ in range(2):
            await model.ask("o9", PROMPT, thought())
    first, *others = asked.bodies
    assert set(first) == ALL
    assert [set(body) for body in others] == [ALL - {"max_tokens"} | {"max_completion_tokens"}] * 2
    assert others[0]["max_completion_tokens"] == first["max_tokens"]
    assert others[0]["tool_choice"] == "required"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("temperature", openai("Unsupported value: 'temperature' does not support 0 with this model.", "temperature")),
        ("response_format", openai("'strict' is not known here", "response_format.json_schema.strict")),
        ("tool_choice", openai("`tool_choice` must be auto")),
        ("tool_choice", json.dumps({"object": "error", "message": "tool_choice is not implemented", "param": None})),
        ("response_format", "response_format is not supported"),
        (
            "max_tokens",
            json.dumps({"detail": [{"loc": ["body", "max_tokens"], "msg": "Extra", "input": {"temperature": 0}}]}),
        ),
        ("temperature", json.dumps({"message": {"detail": [{"loc": ["body", "temperature"], "msg": "forbidden"}]}})),
    ],
)
async def test_a_refused_parameter_is_left_out_alone_from_then_on(name: str, words: str) -> None:
    async with served(refusing(**{name: words})) as (model, asked):
        for _ in range(2):
            await model.ask("m", PROMPT, thought())
    assert [set(body) for body in asked.bodies] == [ALL, ALL - {name}, ALL - {name}]


async def test_several_refused_parameters_are_left_out_one_after_the_other() -> None:
    refused = refusing(temperature="no temperature", max_tokens="no max_tokens")
    async with served(refused) as (model, asked):
        await model.ask("m", PROMPT, thought())
    assert [set(body) for body in asked.bodies] == [ALL, ALL - {"temperature"}, ALL - {"temperature", "max_tokens"}]


async def test_what_one_model_refuses_another_still_gets() -> None:
    def server(body: dict[str, Any]) -> Answer:
        return (400, "no temperature") if body["model"] == "small" and "temperature" in body else (200, WHOLE)

    async with served(server) as (model, asked):
        for name in ("small", "large", "small"):
            await model.ask(name, PROMPT, thought())
    assert [(body["model"], "temperature" in body) for body in asked.bodies] == [
        ("small", True),
        ("small", False),
        ("large", True),
        ("small", False),
    ]


async def test_a_refusal_without_a_name_costs_the_parameters_of_one_question_only() -> None:
    answers = iter([(400, "bad request"), (200, WHOLE), (200, WHOLE)])
    async with served(lambda _: next(answers)) as (model, asked):
        for _ in range(2):
            await model.ask("m", PROMPT, thought())
    assert [set(body) for body in asked.bodies] == [ALL, {"model", "messages", "tools"}, ALL]


@pytest.mark.parametrize(
    "words",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 2048. The model's maximum context length is 8192 tokens",
        "max_tokens: 2048 > 1024, which is the maximum allowed number of output tokens",
        "Range of max_tokens should be [1, 1024]",
    ],
)
async def test_a_limit_that_is_too_large_for_one_question_is_not_left_out_of_the_next(words: str) -> None:
    answers = iter([(400, openai(words)), (200, WHOLE), (200, WHOLE)])
    async with served(lambda _: next(answers)) as (model, asked):
        for _ in range(2):
            await model.ask("m", PROMPT, thought())
    assert [set(body) for body in asked.bodies] == [ALL, ALL - {"max_tokens"}, ALL]


@pytest.mark.parametrize("error", [{"message": "overloaded,  wait"}, "overloaded, wait"])
async def test_an_error_in_place_of_a_reply_is_tried_again_and_told_in_the_servers_words(error: Any) -> None:
    answers = iter([(200, json.dumps({"error": error})), (200, WHOLE)])
    async with served(lambda _: next(answers)) as (model, asked):
        await model.ask("m", PROMPT, thought())
    assert len(asked.bodies) == 2
    async with served(lambda _: (200, json.dumps({"error": error}))) as (model, asked):
        with pytest.raises(HaltpointError, match=r"HP-305.*overloaded, wait"):
            await model.ask("m", PROMPT, thought())
    assert len(asked.bodies) == ATTEMPTS


async def test_a_refusal_of_something_else_is_told_and_nothing_is_learned() -> None:
    words = openai("tools[0].function.parameters: 'temperature' is no schema")
    async with served(lambda _: (400, words)) as (model, asked):
        for _ in range(2):
            with pytest.raises(HaltpointError, match=r"HP-304.*is no schema"):
                await model.ask("m", PROMPT, thought())
    assert set(asked.bodies[len(asked.bodies) // 2]) == ALL


# ---- streams


def events(*data: Any) -> Iterator[str]:
    for one in data:
        yield f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n"


def delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index: int | None, name: str | None, arguments: Any, id: str | None = None) -> dict[str, Any]:
    part: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    part |= {} if index is None else {"index": index}
    return part | ({} if id is None else {"id": id})


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


async def reply_to(*parts: str | float, **settings: Any) -> Reply:
    async with served(lambda _: (200, list(parts)), **settings) as (model, _):
        return await model.ask("m", PROMPT, thought(5))


async def test_a_server_that_only_streams_is_asked_for_a_stream() -> None:
    def server(body: dict[str, Any]) -> Answer:
        if not body.get("stream"):
            return 400, openai("This model only supports stream mode, please enable the stream parameter.")
        if "stream_options" in body:
            return 400, openai("unknown parameter", "stream_options")
        return 200, list(events(delta(content="hel"), delta("stop", content="lo"), "[DONE]"))

    async with served(server) as (model, asked):
        replies = [await model.ask("m", PROMPT, thought()) for _ in range(2)]
    assert [reply.content for reply in replies] == ["hello", "hello"]
    assert [body.get("stream") for body in asked.bodies] == [None, True, True, True]
    assert set(asked.bodies[-1]) == ALL | {"stream"}


async def test_a_stream_that_nobody_asked_for_is_read() -> None:
    found = await reply_to(
        ": keep-alive\r\n\r\n",
        *events(
            delta(role="assistant", content="hel"),
            delta(content=[{"type": "text", "text": "lo"}, {"type": "thinking", "thinking": []}]),
            delta(tool_calls=[call(0, "find", '{"a', "x"), call(1, "send", '{"b": ', "y")]),
            delta(tool_calls=[call(1, None, "2}")]),
            delta("tool_calls", tool_calls=[call(0, None, '": 1}')]),
            USAGE,
            "[DONE]",
        ),
    )
    assert found.content == "hello"
    assert found.calls == (NativeCall("find", '{"a": 1}'), NativeCall("send", '{"b": 2}'))
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.model) == (7, 3, "m")
    assert not found.cut


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([call(None, "find", "{}"), call(None, "send", '{"a"'), call(None, None, ": 1}")], ["{}", '{"a": 1}']),
        ([call(0, "find", "{}", "x"), call(0, "send", "{}", "y")], ["{}", "{}"]),
        ([call(0, "find", '{"a"', "x"), call(0, "find", ": 1}", "x")], ['{"a": 1}']),
        ([call(0, "find", {"a": 1})], [{"a": 1}]),
    ],
)
async def test_calls_of_servers_that_count_differently(parts: list[Any], calls: list[Any]) -> None:
    found = await reply_to(*events(*(delta(tool_calls=[part]) for part in parts), delta("stop"), "[DONE]"))
    assert [called.arguments for called in found.calls] == calls


async def test_a_whole_message_in_one_event_is_read() -> None:
    found = await reply_to(*events(json.loads(WHOLE)))
    assert found.content == "hello"


async def test_a_stream_cut_by_the_limit_of_tokens_is_a_cut_reply() -> None:
    assert (await reply_to(*events(delta("length", content="hel"), "[DONE]"))).cut


async def test_a_server_that_keeps_the_connection_open_behind_the_end_is_not_waited_for() -> None:
    found = await reply_to(*events(delta(content="hello")), "data: [DO", "NE]\n\n", 60.0, timeout=30)
    assert found.content == "hello"


async def test_a_stream_that_breaks_off_is_asked_for_again() -> None:
    answers = iter([list(events(delta(content="hel"))), list(events(delta("stop", content="hello")))])
    async with served(lambda _: (200, next(answers))) as (model, asked):
        assert (await model.ask("m", PROMPT, thought())).content == "hello"
    assert len(asked.bodies) == 2


@pytest.mark.parametrize(("body", "why"), [('{"error":{"message":"broken"}}', "broken"), ("", "it gave no reason")])
async def test_a_server_that_fails_is_told_with_its_status(body: str, why: str) -> None:
    async with served(lambda _: (500, body)) as (model, _):
        with pytest.raises(HaltpointError, match=rf"HP-305 the model's server \S+ answered HTTP 500: {why}\. Try"):
            await model.ask("m", PROMPT, thought())


async def test_an_error_in_a_stream_is_told() -> None:
    with pytest.raises(HaltpointError, match=r"HP-305 the model's server \S+ answered with an error: overloaded\. Try"):
        await reply_to(*events(delta(content="hel"), {"error": {"message": "overloaded"}}))


@pytest.mark.parametrize("event", ["{", "[1]", '"x"'])
async def test_a_stream_of_something_else_is_told(event: str) -> None:
    with pytest.raises(HaltpointError, match="HP-305"):
        await reply_to(*events(event, "[DONE]"))


# ---- time


async def test_a_server_that_drips_is_left_after_the_timeout() -> None:
    drops: list[str | float] = [part for event in events(*[delta(content="x")] * 1000) for part in (event, 0.05)]
    with pytest.raises(HaltpointError, match=r"HP-30[27]"):
        async with served(lambda _: (200, drops), timeout=0.3) as (model, _):
            await model.ask("m", PROMPT, thought(1))


# ---- who asks


@pytest.mark.parametrize(("headers", "told"), [("auto", True), ("always", True), ("never", False)])
async def test_our_headers_go_out_as_the_setting_says(headers: str, told: bool) -> None:
    async with served(lambda _: (200, WHOLE), headers=headers) as (model, asked):
        await model.ask("m", PROMPT, thought(step_id="find"))
    ours = {name: value for name, value in asked.headers[0].items() if name.startswith("x-haltpoint")}
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


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://localhost:8080/v1", True),
        ("http://model:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://192.168.1.4/v1", True),
        ("http://host.docker.internal/v1", True),
        ("http://llm.default.svc.cluster.local./v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("https://local.example.com/v1", False),
    ],
)
async def test_auto_tells_private_hosts_only(url: str, told: bool) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, text=WHOLE)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        await ChatCompletions(ModelSettings(base_url=url), http).ask("m", PROMPT, thought())
    assert ("x-haltpoint-chain" in seen[0].headers) is told
