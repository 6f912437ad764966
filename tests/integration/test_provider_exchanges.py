"""Exchanges with providers, as they send them, through the real planner over HTTP.

`tests/data/providers/*.yaml` holds them. Each is a task in front of a model whose replies are
recorded or written as a provider's are. An executor that is moved by hand decides, and a worker
that is one as well gives results. An exchange has

    name      what it is about
    kind      M1 to M19, or another word: what may go wrong. M20 (something to await inside of a
              result) and M21 (readers that are gone) are no exchanges: test_mistakes.py of
              tests/unit/tool_worker, test_delivery.py and test_diagnosis.py have them
    provider  whose form it is
    task      goal, style (react), due (tools that must succeed), plan (literal fields of a task);
              all may be left out
    tools     name: {parameters (JSON Schema), read_only, provenance ...}; without any,
              `find(name)`, which reads, and `send(to, text?)`
    replies   in order: {message, finish_reason, usage} of a chat completion; or {body}, as it is;
              {events} as a stream of chunks; {status, body} for a refusal; `say` for words;
              `call` for one call, as {tool: arguments}.
              Behind the last one the model says "That is all."
    results   by tool: a list of results in order, {data} or {error}; without any, {"done": true}
    settings  of the model
    path      of its address; without it, /v1
    env       variables of the planner's shell
    then      what must come out:
      calls       [tool: arguments] that ran, in order
      strikes     how many violations were counted
      corrected   pieces that the corrections have
      answer      a piece of the final answer
      status      of the chain
      error       pieces of why it failed
      tokens      [least, most] that the chain has spent
      asked       how many questions people got
      sent        by the number of a request: {message: a message that is in it, whole},
                  {has: pieces of its JSON}, {lacks: pieces}, {keys: keys of the body},
                  {without: keys that it has not}
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from redis.asyncio import Redis

from haltpoint.chain.checks.core_tools import END_SPEC, HUMAN_SPEC
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import ErrorInfo, ErrorType, NextAction, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.runtime.config.settings import ModelSettings, Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.service.http import HttpServer
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint_planner.app import run
from tests.support import wait_until
from tests.support.builders import OK
from tests.support.desk import Desk, desk_at

FOLDER = Path(__file__).parents[1] / "data" / "providers"
Exchange = JsonObject
FILES = {
    path.stem: yaml.load(path.read_text(), yaml.CSafeLoader)
    for path in sorted(FOLDER.glob("*.yaml"))
}
EXCHANGES = [
    pytest.param(exchange, id=f"{stem}: {exchange['name']}")
    for stem, exchanges in FILES.items()
    for exchange in exchanges
]
TEXT = {"type": "string"}
TOOLS: Exchange = {
    "find": {
        "read_only": True,
        "parameters": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    },
    "send": {
        "parameters": {
            "type": "object",
            "properties": {"to": TEXT, "text": TEXT},
            "required": ["to"],
        }
    },
}
LAST = {"message": {"role": "assistant", "content": "That is all."}}


@dataclass
class Provider:
    """A model's server that gives the replies of an exchange, one after the other."""

    replies: list[Exchange]
    bodies: list[JsonObject] = field(default_factory=list)

    async def app(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        text = b""
        more = True
        while more:
            part = await receive()
            text += part.get("body", b"")
            more = part.get("more_body", False)
        self.bodies.append(json.loads(text))
        status, answer = answer_of(self.replies.pop(0) if self.replies else LAST)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": answer.encode()})


def answer_of(reply: Exchange) -> tuple[int, str]:
    """Status and body of one reply."""
    if "events" in reply:
        events = [*map(json.dumps, reply["events"]), "[DONE]"]
        return 200, "".join(f"data: {event}\n\n" for event in events)
    if "say" in reply:
        return answer_of(reply_with(reply, content=reply["say"]))
    if "call" in reply:
        ((name, arguments),) = reply["call"].items()
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        return answer_of(reply_with(reply, content=None, tool_calls=calls))
    body = reply.get("body")
    if body is None:
        choice = {"index": 0, "finish_reason": "stop"} | {
            name: value for name, value in reply.items() if name in ("message", "finish_reason")
        }
        usage = reply.get("usage", {"prompt_tokens": 10, "completion_tokens": 5})
        body = {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage}
    return reply.get("status", 200), body if isinstance(body, str) else json.dumps(body)


def reply_with(reply: Exchange, **message: Any) -> Exchange:
    rest = {name: value for name, value in reply.items() if name not in ("say", "call")}
    return {**rest, "message": {"role": "assistant", **message}}


@dataclass
class Played:
    """What came of an exchange."""

    calls: list[JsonObject]
    facts: list[tuple[str, JsonObject]]
    chain: Any
    bodies: list[JsonObject]


@asynccontextmanager
async def planner(url: str, model: str, **settings: Any) -> AsyncIterator[None]:
    given = Settings(
        redis_url=url,
        partitions=1,
        lease=5.0,
        heartbeat=1.0,
        model=ModelSettings(base_url=model, **{"name": "model-1", **settings}),
    )
    task = asyncio.create_task(run(given))
    try:
        yield
    finally:
        task.cancel()
        await task


async def play(desk: Desk, url: str, exchange: Exchange) -> Played:
    provider = Provider(list(exchange["replies"]))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await provider.app(scope, receive, send)

    http = HttpServer(app, "127.0.0.1", 0)
    await http.start()
    specs = tools_of(exchange)
    desk.tools = {spec.name: spec for spec in (*specs, HUMAN_SPEC, END_SPEC)}
    await ToolCatalogue(desk.calls, desk.topology).announce(specs)
    chain_id = await desk.submit(task_of(exchange))
    results = {name: list(given) for name, given in exchange.get("results", {}).items()}
    calls: list[JsonObject] = []

    async def settled() -> bool:
        await desk.store.fire_due(0)
        await desk.decide_all()
        for order in await desk.orders():
            calls.append({order.data.tool: json.loads(order.body or "{}")})
            await finish(desk, order, (results.get(order.data.tool) or [{}]).pop(0))
        chain = await desk.chain(chain_id)
        return chain.status.final or bool(chain.requests)

    try:
        model = f"http://127.0.0.1:{http.port}{exchange.get('path', '/v1')}"
        async with planner(url, model, **exchange.get("settings", {})):
            await wait_until(settled, 20)
    finally:
        await http.stop()
    lines = await desk.stored.log(chain_id)
    facts = [(name, about) for line in lines for name, about in line["facts"]]
    return Played(calls, facts, await desk.chain(chain_id), provider.bodies)


def tools_of(exchange: Exchange) -> list[ToolSpec]:
    declared = exchange.get("tools", TOOLS)
    return [msgspec.convert({"name": name, **about}, ToolSpec) for name, about in declared.items()]


def task_of(exchange: Exchange) -> Task:
    about = dict(exchange.get("task", {}))
    due = tuple(about.pop("due", ()))
    optional = tuple(spec.name for spec in tools_of(exchange) if spec.name not in due)
    bounds = Bounds(
        required_tools=due, optional_tools=optional, ask_before=(), forbidden=(), conditions=()
    )
    style = Style(about.pop("style", "react"))
    about |= {} if style is Style.PLAN else {"bounds": bounds}
    return Task(goal=about.pop("goal", "Tell John that I am late"), style=style, **about)


async def finish(desk: Desk, order: Any, result: Exchange) -> None:
    epoch = 0
    if not order.data.repeatable:
        epoch = (await desk.claim(order)).epoch
    outcome = OK
    if "error" in result:
        fault = ErrorInfo(ErrorType(result["error"]), "it failed", recoverable=True)
        outcome = Outcome(success=False, next_action=NextAction.ERROR, error=fault)
    await desk.finish(order, outcome, json.dumps(result.get("data", {"done": True})), epoch=epoch)


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_c9_exchanges_with_providers(
    exchange: Exchange,
    redis: Redis,
    server: EmbeddedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in exchange.get("env", {}).items():
        monkeypatch.setenv(name, value)
    async with desk_at(redis) as desk:
        played = await play(desk, server.url, exchange)
    then = exchange["then"]
    violations = [about for name, about in played.facts if name == "contract.violated"]
    words = " ".join(str(about.get("message")) + str(about.get("form")) for about in violations)
    if "calls" in then:
        assert played.calls == then["calls"], words
    assert len(violations) == then.get("strikes", 0), words
    for piece in then.get("corrected", ()):
        assert piece in words
    if "answer" in then:
        assert then["answer"] in (played.chain.end.answer or ""), played.chain.end
    for piece in then.get("error", ()):
        assert piece in str(played.chain.end.error)
    least, most = then.get("tokens", (0, 100_000))
    assert least <= played.chain.spent.tokens <= most
    assert played.chain.status is ChainStatus(then.get("status", "completed"))
    assert played.chain.asked == then.get("asked", 0)
    for body in played.bodies:
        assert_every_server_takes(body["messages"])
    for number, wanted in then.get("sent", {}).items():
        look_at(played.bodies[number - 1], wanted)


def assert_every_server_takes(messages: list[JsonObject]) -> None:
    """Mistral takes no words of the user behind a result, and some templates want the user and the
    model in turn.
    """
    roles = [message["role"] for message in messages]
    pairs = set(pairwise(roles))
    assert pairs.isdisjoint({("tool", "user"), ("user", "user"), ("system", "assistant")}), roles
    assert roles[-1] in ("user", "tool")
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    called = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    assert answered == called, "each call has its result, in order"


def look_at(body: JsonObject, wanted: Exchange) -> None:
    """Whether a request has what it must have."""
    text = json.dumps(body, ensure_ascii=False)
    messages = wanted.get("messages", [wanted["message"]] if "message" in wanted else [])
    for message in messages:
        assert message in body["messages"], body["messages"]
    for piece in wanted.get("has", ()):
        assert piece in text
    for piece in wanted.get("lacks", ()):
        assert piece not in text
    for key in wanted.get("keys", ()):
        assert key in body
    for key in wanted.get("without", ()):
        assert key not in body


def test_the_exchanges_are_many_and_each_has_a_name_of_its_own() -> None:
    names = [exchange["name"] for exchanges in FILES.values() for exchange in exchanges]
    assert len(set(names)) == len(names) >= 80
    kinds = [exchange["kind"] for exchanges in FILES.values() for exchange in exchanges]
    assert {f"M{number}" for number in range(1, 20)} <= set(kinds)
    providers = {exchange["provider"] for exchanges in FILES.values() for exchange in exchanges}
    assert len(providers) >= 10
