"""The proxy variables of a shell: they lead to other machines, never to this one, and no key goes
through a proxy.
"""

import asyncio
import json
import os
from importlib.util import find_spec
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider

from haltpoint.client import Client
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.agents import Agents, ModelEndpoint
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.observability import telemetry
from haltpoint.runtime.service.http import HttpServer, health_app
from haltpoint_planner import providers
from haltpoint_planner.connections import Connections
from haltpoint_planner.exchange import Prompt
from haltpoint_planner.models import Models
from haltpoint_planner.servers import Server
from tests.support.listener import Listener

VARIABLES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
SOCKS = "socks5://127.0.0.1:9"
REPLY = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Done."}}]}).encode()
PROMPT = Prompt(({"role": "user", "content": "Say it."},))


@pytest.fixture(params=["listening", "SOCKS"])
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A proxy that listens, or one of a kind that nobody can use here, in all of the variables."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with Listener(REPLY) as listener:
        for variable in VARIABLES:
            monkeypatch.setenv(variable, SOCKS if request.param == "SOCKS" else listener.url)
        yield listener


def thought() -> ThoughtRequest:
    return ThoughtRequest(
        thought_id="c.answer.1", kind=ThoughtKind.ANSWER, deadline=2**42, attempt=1
    )


async def ask(base_url: str, section: str | None = None) -> str:
    agents = Agents(models={"own": ModelEndpoint(name="m", base_url=base_url)})
    async with Connections() as connections:
        models = Models(ModelSettings(base_url=base_url, name="m"), agents, connections)
        reply = await models.port_to(section).ask("m", lambda _: PROMPT, thought())
    return reply.content


@pytest.mark.parametrize("section", [None, "own"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1"])
async def test_a_model_on_this_machine_is_asked_directly(
    proxy: Listener, host: str, section: str | None
) -> None:
    with Listener(REPLY) as model:
        assert await ask(f"http://{host}:{model.port}/v1", section) == "Done."
    assert len(model.lines) == 1
    assert not proxy.lines


@pytest.mark.skipif(find_spec("socksio") is not None, reason="SOCKS proxies work here")
async def test_a_socks_proxy_names_the_package_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", SOCKS)
    async with Connections() as connections:
        with pytest.raises(HaltpointError) as caught:
            connections.to("https://models.example.com/v1")
        connections.to("http://127.0.0.1:18080/v1")
    assert (caught.value.code, "httpx[socks]" in caught.value.fix) == ("HP-302", True)


async def test_a_provider_on_this_machine_is_made_without_proxies(
    proxy: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their clients read the environment when they are made."""
    made: list[httpx.AsyncClient] = []

    class Provider:
        def __init__(self, **_: str) -> None:
            made.append(httpx.AsyncClient())
            raise TypeError("seen")

    monkeypatch.setattr("pydantic_ai.providers.infer_provider_class", lambda _: Provider)
    before = dict(os.environ)
    given = ModelSettings(name="m", provider="ollama", base_url="http://localhost:11434/v1")
    with pytest.raises(HaltpointError, match="seen"):
        providers.provided(given, Server(given))
    (client,) = made
    assert not client._mounts
    assert dict(os.environ) == before
    await client.aclose()


async def test_no_program_shows_its_key_to_a_proxy(proxy: Listener) -> None:
    gateway = HttpServer(health_app(lambda: True), "127.0.0.1", 0)
    await gateway.start()
    try:
        async with Client(f"http://127.0.0.1:{gateway.port}", "hp_key") as client:
            reply = await client._http.get("/livez")
    finally:
        await gateway.stop()
    assert reply.text == "alive\n"
    assert not proxy.lines


async def test_a_key_for_a_gateway_elsewhere_goes_through_no_proxy_either(
    proxy: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haltpoint.connection._PATIENCE", 0.0)
    async with Client("http://gateway.invalid", "hp_key") as client:
        with pytest.raises(Exception, match="does not answer"):
            await client.chains()
    assert not proxy.lines


async def test_traces_for_this_machine_go_there_directly(
    proxy: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Listener() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        tracing = telemetry.start_tracing("gateway")
        assert isinstance(tracing._provider, TracerProvider)
        assert tracing._tracer is not None
        tracing._tracer.start_span("x").end()
        await asyncio.to_thread(tracing.close)
    assert receiver.lines == ["POST /v1/traces HTTP/1.1"]
    assert not proxy.lines
