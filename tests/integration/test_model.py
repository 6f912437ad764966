"""The model's port over HTTP, against servers that refuse, stream, drip and break off."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from email.utils import formatdate
from itertools import combinations
from typing import Any

import httpx
import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.service.http import HttpServer
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.exchange import Finish, NativeCall, Prompt, Reply
from haltpoint_planner.model import Port
from haltpoint_planner.servers import PassingError
from haltpoint_planner.servers import Server as Named

Answer = tuple[int, str | Sequence[str | float]]
"""A status, and a body or its parts; a number is a pause of so many seconds."""
Server = Callable[[JsonObject], Answer]


def tool(name: str, **parameters: Any) -> JsonObject:
    return {"name": name, "parameters": {"type": "object", "properties": {}, **parameters}}


PROMPT = Prompt(
    messages=({"role": "user", "content": "hi"},),
    tools=(tool("find"),),
    force=True,
    schema={"type": "object"},
)
WHOLE = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
ALL = {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "response_format",
    "temperature",
    "max_tokens",
    "stream",
    "stream_options",
}


def thought(seconds: float = 60.0, **more: Any) -> ThoughtRequest:
    deadline = int((time.time() + seconds) * 1000)
    return ThoughtRequest(thought_id="c.find.t1.1", kind=ThoughtKind.ACT, deadline=deadline, **more)


class Asked:
    """A server and what it was asked."""

    def __init__(self, server: Server) -> None:
        self.bodies: list[JsonObject] = []
        self.headers: list[dict[str, str]] = []
        self.reply_headers: list[tuple[bytes, bytes]] = []
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
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": self.reply_headers,
        }
        await send(start)
        for part in [answer] if isinstance(answer, str) else answer:
            if isinstance(part, str):
                await send({"type": "http.response.body", "body": part.encode(), "more_body": True})
            else:
                await asyncio.sleep(part)
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def served(server: Server, **settings: Any) -> AsyncIterator[tuple[Port, Asked]]:
    asked = Asked(server)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asked.app(scope, receive, send)

    http_server = HttpServer(app, "127.0.0.1", 0)
    await http_server.start()
    try:
        async with httpx.AsyncClient() as http:
            yield port(f"http://127.0.0.1:{http_server.port}/v1", http, **settings), asked
    finally:
        await http_server.stop()


def port(url: str, http: httpx.AsyncClient, **settings: Any) -> Port:
    given = ModelSettings(base_url=url, **settings)
    named = Named(given)
    return Port(given, named, ChatCompletions(given, http, named).send)


async def ask(model: Port, prompt: Prompt = PROMPT) -> Reply:
    return await model.ask("m", lambda _: prompt, thought())


def openai(message: str, param: str | None = None) -> str:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": "x"}
    return json.dumps({"error": error})


# ---- what a server refuses is learnt


def refusing(refused: Callable[[JsonObject], bool], words: str) -> Server:
    return lambda body: (400, words) if refused(body) else (200, WHOLE)


UNNAMED = openai("bad request")
OPTIONAL = ["temperature", "tool_choice", "response_format", "stream_options", "stream"]


@pytest.mark.parametrize("name", OPTIONAL)
async def test_a_refused_part_is_left_out_alone_from_then_on(name: str) -> None:
    server = refusing(lambda body: name in body, openai(f"`{name}` is not supported", name))
    async with served(server) as (model, asked):
        for _ in range(2):
            await ask(model)
    left_out = {name, "stream_options"} if name == "stream" else {name}
    assert set(asked.bodies[0]) == ALL
    assert set(asked.bodies[-1]) == ALL - left_out
    assert len(asked.bodies) == 3


@pytest.mark.parametrize("name", ["temperature", "tool_choice", "response_format"])
@pytest.mark.parametrize("words", [UNNAMED, "no", ""])
async def test_a_refused_part_without_a_name_is_left_out_alone(name: str, words: str) -> None:
    async with served(refusing(lambda body: name in body, words)) as (model, asked):
        for _ in range(2):
            await ask(model)
    assert set(asked.bodies[-1]) == ALL - {name}
    assert len(asked.bodies) <= 6


async def test_each_refusal_is_read_for_itself() -> None:
    """The reasoning models of OpenAI refuse one parameter after the other."""

    def server(body: JsonObject) -> Answer:
        if "max_tokens" in body:
            return 400, openai("Use 'max_completion_tokens' instead.", "max_tokens")
        return (
            (400, openai("Unsupported", "temperature")) if "temperature" in body else (200, WHOLE)
        )

    async with served(server) as (model, asked):
        for _ in range(3):
            await ask(model)
    assert len(asked.bodies) == 5, "both are known after the first question"
    assert set(asked.bodies[-1]) == ALL - {"temperature", "max_tokens"} | {"max_completion_tokens"}


async def test_what_is_learnt_on_the_way_outlives_an_outage() -> None:
    """A free tier takes one request at a time."""
    numbers = iter(range(100))

    def server(body: JsonObject) -> Answer:
        if next(numbers) % 2:
            return 429, "{}"
        return (400, UNNAMED) if "temperature" in body else (200, WHOLE)

    async with served(server) as (model, _):
        for _ in range(2):
            with pytest.raises(PassingError):
                await ask(model)
        assert (await ask(model)).content == "hello"
    assert list(map(str, model.refused["m"].parts)) == ["temperature"]


async def test_the_timeout_is_for_each_request() -> None:
    def server(body: JsonObject) -> Answer:
        return (400, [0.5, UNNAMED]) if "temperature" in body else (200, [0.5, WHOLE])

    async with served(server, timeout=1.0) as (model, asked):
        assert (await ask(model)).content == "hello"
    assert len(asked.bodies) > 2


THREE = [*combinations(["temperature", "tool_choice", "response_format", "max_tokens"], 3)]


@pytest.mark.parametrize("names", THREE)
async def test_refused_parts_without_a_name_are_learnt_one_a_question(
    names: tuple[str, ...],
) -> None:
    server = refusing(lambda body: not body.keys().isdisjoint(names), UNNAMED)
    async with served(server) as (model, asked):
        for _ in range(4):
            await ask(model)
    assert set(asked.bodies[-1]) - {"max_completion_tokens"} == ALL - {*names}
    assert len(asked.bodies) <= 13


NESTED = {
    "properties": {"where": {"$ref": "#/$defs/Place"}, "note": {"type": "string", "default": ""}},
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "within": {"$ref": "#/$defs/Place"}},
        }
    },
}


def schemas(body: JsonObject) -> dict[str, JsonObject]:
    functions = (each["function"] for each in body.get("tools", ()))
    return {function["name"]: function.get("parameters") for function in functions}


def mentions(word: str, of_tool: str) -> Callable[[JsonObject], bool]:
    return lambda body: word in json.dumps(schemas(body).get(of_tool))


@pytest.mark.parametrize("words", [openai("Invalid schema for function 'go'"), UNNAMED])
async def test_a_tools_references_are_written_out_for_that_tool_alone_once_refused(
    words: str,
) -> None:
    tools = (tool("stay", **NESTED), tool("go", **NESTED), tool("rest", **NESTED))
    prompt = Prompt(messages=PROMPT.messages, tools=tools)
    async with served(refusing(mentions("$ref", "go"), words)) as (model, asked):
        for _ in range(2):
            await ask(model, prompt)
    assert schemas(asked.bodies[0])["go"] == tools[1]["parameters"]
    sent = schemas(asked.bodies[-1])
    assert (sent["stay"], sent["rest"]) == (
        tools[0]["parameters"],
        tools[2]["parameters"],
    )
    inner = sent["go"]["properties"]["where"]["properties"]
    assert inner["city"] == {"type": "string"}
    assert inner["within"]["properties"]["city"] == {"type": "string"}
    assert sent["go"]["properties"]["note"] == {"type": "string", "default": ""}


async def test_a_refused_word_of_a_schema_is_left_out_for_that_tool_alone() -> None:
    words = openai("tool 'go': unknown keyword default")
    tools = (tool("stay", **NESTED), tool("go", **NESTED))
    prompt = Prompt(messages=PROMPT.messages, tools=tools)
    async with served(refusing(mentions('"default"', "go"), words)) as (model, asked):
        for _ in range(2):
            await ask(model, prompt)
        await ask(model, Prompt(PROMPT.messages, schema=NESTED))
    assert asked.bodies.pop()["response_format"]["json_schema"]["schema"] == NESTED
    sent = schemas(asked.bodies[-1])
    assert sent["stay"] == tools[0]["parameters"]
    assert sent["go"]["properties"]["note"] == {"type": "string"}
    assert sent["go"]["properties"]["where"]["properties"]["city"] == {"type": "string"}


async def test_a_tool_whose_schema_is_refused_in_every_form_goes_with_none() -> None:
    tools = (tool("stay", **NESTED), tool("go", **NESTED))
    prompt = Prompt(messages=PROMPT.messages, tools=tools)
    words = openai("go: no property may be called so")
    async with served(refusing(mentions("where", "go"), words)) as (model, asked):
        for _ in range(2):
            await ask(model, prompt)
    assert schemas(asked.bodies[-1]) == {
        "stay": tools[0]["parameters"],
        "go": None,
    }


WORDS = {
    "an object": openai("no such model"),
    "a list": json.dumps([{"error": {"code": 400, "message": "no such model"}}]),
    "a text": json.dumps({"error": "no such model"}),
    "details": json.dumps({"detail": [{"loc": ["body"], "msg": "no such model"}]}),
    "bare": "no such model",
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
async def test_a_refusal_of_all_is_told_in_the_providers_words_with_the_settings(
    words: str,
) -> None:
    async with served(lambda _: (400, words)) as (model, asked):
        with pytest.raises(HaltpointError) as caught:
            await ask(model)
    assert caught.value.code == "HP-304"
    assert caught.value.why == "HTTP 400 no such model"
    assert "HALTPOINT_MODEL__NAME" in caught.value.fix
    assert len(asked.bodies) <= 8


TOO_LONG = {
    "openai": "This model's maximum context length is 8192 tokens. However, you requested 9300.",
    "mistral": "Prompt contains 20000 tokens, too large for model with 8192 maximum context length",
    "anthropic": "input length and `max_tokens` exceed context limit: 9000 + 2048 > 10000",
    "groq": "Please reduce the length of the messages or completion.",
}


@pytest.mark.parametrize("words", TOO_LONG.values(), ids=TOO_LONG)
async def test_the_room_of_a_prompt_is_learnt_when_a_shorter_one_is_taken(words: str) -> None:
    def size(body: JsonObject) -> int:
        return len(body["messages"][0]["content"]) // 4

    def prompt(tokens: int) -> Prompt:
        return Prompt(messages=({"role": "user", "content": "four" * min(tokens, 12_000)},))

    server = refusing(lambda body: size(body) > 7000, openai(words))
    async with served(server, max_tokens=2000) as (model, _):
        assert model.room("m") == 30_000
        await model.ask("m", prompt, thought())
        assert 4_000 < model.room("m") <= 7_000
        await ask(model, prompt(10))
        assert 4_000 < model.room("m") <= 7_000
        assert model.room("other") == 30_000


async def test_what_cannot_fit_has_its_own_code_and_teaches_no_part() -> None:
    def make(room: int) -> Prompt:
        if room < 20_000:
            raise HaltpointError("HP-312", "the prompt does not fit", "it is long", "Shorten it")
        return long

    long = replace(PROMPT, messages=({"role": "user", "content": "four" * 12_000},))
    async with served(lambda _: (413, "")) as (model, asked):
        with pytest.raises(HaltpointError, match="HP-312"):
            await model.ask("m", make, thought())
        assert len(asked.bodies) == 1
        with pytest.raises(HaltpointError, match="HP-304"):
            await ask(model, long)
    assert not model.refused["m"].parts


async def test_a_model_that_knows_no_tools_is_asked_in_words() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Looking.", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    prompt = Prompt(
        messages=(*PROMPT.messages, said, result), tools=PROMPT.tools, schema=PROMPT.schema
    )
    words = openai("registry.ollama.ai/library/gemma:2b does not support tools")
    async with served(refusing(lambda body: "tools" in body, words)) as (model, asked):
        await ask(model, replace(prompt, messages=PROMPT.messages))
        await ask(model, prompt)
    body = asked.bodies[-1]
    assert set(body) == ALL - {"tools", "tool_choice"}
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == 'Looking.\n{"name": "find", "arguments": "{}"}'


async def test_a_model_that_has_called_tools_is_never_learnt_to_know_none() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look."}]}
    messages = (*PROMPT.messages, {**said, "tool_calls": [call]})
    prompt = Prompt(messages=messages, tools=PROMPT.tools)
    server = refusing(lambda body: "tool_calls" in str(body["messages"]), UNNAMED)
    async with served(server) as (model, asked):
        with pytest.raises(HaltpointError, match="bad request"):
            await ask(model, prompt)
        await ask(model)
    assert set(asked.bodies[-1]) == ALL


# ---- streams


def events(*data: Any) -> list[str | float]:
    return [f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in data]


def delta(finish: str | None = None, **delta: Any) -> JsonObject:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index: int | None, name: str, arguments: str, call_id: str = "") -> JsonObject:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


async def streamed(*chunks: Any) -> Any:
    async with served(lambda _: (200, events(*chunks, "[DONE]"))) as (model, _):
        return await ask(model)


async def test_what_a_provider_streams_beside_words_and_calls_is_kept_whole() -> None:
    reply = await streamed(
        delta(role="assistant", reasoning_content="let "),
        delta(reasoning_content="me see"),
        delta(reasoning_details=[{"index": 0, "type": "text", "text": "a"}]),
        delta(reasoning_details=[{"index": 0, "type": "text", "text": "b", "signature": "s"}]),
        delta(content="hel"),
        delta(content="lo"),
        delta(tool_calls=[piece(0, "f", "", "call_1") | {"extra_content": {"g": {"t": "x"}}}]),
        delta(tool_calls=[piece(0, "ind", '{"a":')]),
        delta(tool_calls=[piece(0, "", "1}")]),
        delta("tool_calls", tool_calls=[piece(1, "find", "{}", "call_2")]),
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
    )
    assert reply.content == "hello"
    assert reply.calls == (
        NativeCall("find", '{"a":1}'),
        NativeCall("find", "{}"),
    )
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 4)
    assert not reply.usage.estimated
    assert reply.message is not None
    assert reply.message["reasoning_content"] == "let me see"
    assert reply.message["reasoning_details"] == [
        {"index": 0, "type": "text", "text": "ab", "signature": "s"}
    ]
    assert reply.message["tool_calls"][0]["extra_content"] == {"g": {"t": "x"}}


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, "find", "{}", "x"), piece(0, "find", "{}", "y")],
        [piece(0, "find", "{}"), piece(0, "find", "{}")],
        [piece(None, "find", "{", "x"), piece(None, "", "}"), piece(None, "find", "{}", "y")],
        [piece(0, "find", "{", "x"), piece(0, "find", "}", "x"), piece(1, "find", "{}", "y")],
        [piece(0, "find", "{", "x"), piece(1, "", "}", "x"), piece(2, "find", "{}", "y")],
    ],
)
async def test_two_calls_are_two_whatever_index_and_id_a_stream_gives_them(
    pieces: list[JsonObject],
) -> None:
    reply = await streamed(*[delta(tool_calls=[each]) for each in pieces], delta("tool_calls"))
    assert [(call.name, call.arguments) for call in reply.calls] == [("find", "{}")] * 2


@pytest.mark.parametrize(
    "again",
    [
        piece(0, "find", "", "x"),
        piece(0, "find", '{"a": 1}', "x"),
        piece(1, "find", '{"a":1}', "x"),
        piece(0, "find", json.dumps('{"a":1}'), "x"),
    ],
)
async def test_a_call_that_is_said_again_under_its_id_is_one_call(again: JsonObject) -> None:
    pieces = [piece(0, "find", '{"a":', "x"), piece(0, "", "1}"), again]
    reply = await streamed(*[delta(tool_calls=[each]) for each in pieces], delta("tool_calls"))
    assert [(call.name, call.arguments) for call in reply.calls] == [("find", '{"a":1}')]


HELLO = [json.dumps(delta(content="hel")), json.dumps(delta("stop", content="lo"))]
BESIDE = {
    "an empty event": "data:\n\n",
    "a comment": "data: : keep-alive\n\n",
    "a word": "event: ping\ndata: ping\n\n",
    "two lines": 'data: {"choices":\ndata:  []}\n\n',
    "two events without a blank line": 'data: {"choices": []}\ndata: ping\ndata: {"id": 1}\n\n',
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
async def test_a_stream_is_read_whole_whatever_is_between_its_events(beside: str) -> None:
    body = f"\ufeffdata: {HELLO[0]}\r\n\r\n{beside}data: {HELLO[1]}\n\ndata: [DONE]\n\n"
    async with served(lambda _: (200, body)) as (model, _):
        assert (await ask(model)).content == "hello"


LATER = {
    "an event that breaks off": f'data: {HELLO[0]}\n\ndata: {{"choi\n\ndata: [DONE]\n\n',
    "no choices": json.dumps({"object": "chat.completion", "choices": [], "usage": {}}),
    "a fault": json.dumps({"choices": [{"message": {}, "finish_reason": "network_error"}]}),
}


@pytest.mark.parametrize("body", LATER.values(), ids=LATER)
async def test_what_is_no_whole_reply_passes(body: str) -> None:
    async with served(lambda _: (200, body)) as (model, _):
        with pytest.raises(PassingError) as caught:
            await ask(model)
    assert caught.value.code == "HP-305"


async def test_a_reply_without_a_message_is_what_its_end_says() -> None:
    body = json.dumps({"choices": [{"message": None, "finish_reason": "content_filter"}]})
    async with served(lambda _: (200, body)) as (model, _):
        assert (await ask(model)).finish is Finish.FILTER


@pytest.mark.parametrize(
    ("why", "finish"),
    [
        ("model_context_window_exceeded", Finish.LENGTH),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", Finish.OTHER),
        ("blocklist", Finish.OTHER),
        ("eos_token", Finish.STOP),
    ],
)
async def test_only_known_reasons_mean_that_a_reply_is_whole(why: str, finish: Finish) -> None:
    assert (await streamed(delta(content="hel"), delta(why))).finish is finish


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("/v1/", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/d/gpt?api-version=1", "/d/gpt/chat/completions?api-version=1"),
    ],
)
async def test_an_address_may_be_whole_and_have_a_query(address: str, line: str) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.raw_path.decode())
        return httpx.Response(200, text=WHOLE)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        await ask(port(f"http://127.0.0.1:1{address}", http))
    assert asked == [line]


async def test_tokens_are_estimated_where_the_server_does_not_tell_them() -> None:
    prompt = Prompt(messages=({"role": "user", "content": "four" * 500},))
    async with served(lambda _: (200, WHOLE)) as (model, _):
        usage = (await ask(model, prompt)).usage
    assert usage.estimated
    assert 480 < usage.input_tokens < 560
    assert 0 < usage.output_tokens < 20


# ---- what passes


IN_A_WHILE = formatdate(time.time() + 9_000, usegmt=True).encode()


@pytest.mark.parametrize(
    ("header", "least"),
    [
        ((b"retry-after", b"7"), 7),
        ((b"retry-after-ms", b"7"), 0),
        ((b"retry-after", IN_A_WHILE), 8_000),
    ],
)
async def test_the_server_says_how_long_to_wait(header: tuple[bytes, bytes], least: int) -> None:
    async with served(lambda _: (429, "{}")) as (model, asked):
        asked.reply_headers = [header]
        with pytest.raises(PassingError) as caught:
            await ask(model)
    assert least <= caught.value.after < least + 1_000


async def test_a_connection_that_is_closed_while_it_is_opened_may_be_better_later() -> None:
    def closed(_: httpx.Request) -> httpx.Response:
        raise AttributeError("'NoneType' object has no attribute 'getpeername'")

    async with httpx.AsyncClient(transport=httpx.MockTransport(closed)) as http:
        with pytest.raises(PassingError):
            await ask(port("http://127.0.0.1:1/v1", http))


async def test_a_server_that_is_not_there_may_come() -> None:
    async with httpx.AsyncClient() as http:
        with pytest.raises(PassingError) as caught:
            await ask(port("http://127.0.0.1:1/v1", http))
    assert caught.value.code == "HP-302"
    assert "HALTPOINT_MODEL__BASE_URL" in caught.value.fix


@pytest.mark.parametrize("key", ["sk-\n1", "sk-\u20ac"])
async def test_a_key_that_cannot_be_sent_is_told_at_once(key: str) -> None:
    async with served(lambda _: (200, WHOLE), api_key=key) as (model, _):
        with pytest.raises(HaltpointError) as caught:
            await ask(model)
    assert caught.value.code == "HP-303"


# ---- time


async def test_silence_is_what_counts_and_not_length() -> None:
    drops: list[str | float] = []
    for event in events(*[delta(content="x")] * 10, delta("stop"), "[DONE]"):
        drops += [event, 0.1]
    async with served(lambda _: (200, drops), silence=0.5) as (model, _):
        assert (await ask(model)).content == "x" * 10


@pytest.mark.parametrize(
    ("limits", "setting"),
    [({"silence": 0.2}, "SILENCE"), ({"timeout": 0.2}, "TIMEOUT")],
)
async def test_a_server_that_is_too_slow_is_told_with_the_setting_that_helps(
    limits: dict[str, float], setting: str
) -> None:
    async with served(lambda _: (200, [1.0]), **limits) as (model, _):
        with pytest.raises(PassingError) as caught:
            await ask(model)
    assert caught.value.code == "HP-307"
    assert caught.value.fix == f"Raise HALTPOINT_MODEL__{setting}"


async def test_a_server_that_does_not_stream_may_be_silent_for_the_whole_time() -> None:
    def server(body: JsonObject) -> Answer:
        return (400, "no stream") if "stream" in body else (200, [0.5, WHOLE])

    async with served(server, silence=0.2) as (model, _):
        assert (await ask(model)).content == "hello"


# ---- who asks


@pytest.mark.parametrize(("headers", "told"), [("auto", True), ("always", True), ("never", False)])
async def test_our_headers_go_out_as_the_setting_says(headers: str, told: bool) -> None:
    async with served(lambda _: (200, WHOLE), headers=headers) as (model, asked):
        await model.ask("m", lambda _: PROMPT, thought(step_id="find"))
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
