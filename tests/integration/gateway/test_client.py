import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import EventView
from haltpoint.runs import NotEndedError
from haltpoint.runtime.config.key_origin import recall
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.sync_client import SyncClient
from tests.integration.gateway.conftest import ADMIN, System, task
from tests.support import wait_until


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with Client(url, ADMIN) as client:
        yield client


async def test_a_run_is_watched_asked_answered_and_ends(system: System, client: Client) -> None:
    run = await client.run(task=task())
    seen: list[str] = []

    async def watch() -> None:
        async for event in run.events():
            seen.append(event.type)  # noqa: PERF401 - it is looked at meanwhile

    watcher = asyncio.create_task(watch())
    request_id = await system.ask(run.id)
    request = await run.expects_request("clarification")
    assert request.id == request_id
    await wait_until(lambda: "request.opened" in seen)
    answered = await client.answer(request_id, option_id="u1")
    assert answered.answer is not None
    assert answered.answer.answer.option_id == "u1"
    await system.end(run.id)
    result = await run.result()
    assert (result.status, result.answer.text.splitlines()[0]) == ("completed", "Done.")
    await watcher
    assert seen == ["step.started", "request.opened", "chain.completed"]


async def test_a_stream_that_breaks_is_taken_up_where_it_broke(system: System, url: str) -> None:
    chain_id = await system.submit()
    for _ in range(4):
        await system.tell(chain_id, FactType.STEP_STARTED, FactType.STEP_STARTED)
    await system.end(chain_id)
    async with Client(url, ADMIN, transport=_Cutting()) as client:
        ids = [event.id async for event in client.attach(chain_id).events()]
    assert ids == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0"]


async def test_a_watcher_counts_lost_connections_and_not_quiet_ones(
    system: System, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its patience is over many times before anything happens."""
    monkeypatch.setattr("haltpoint.connection._PATIENCE", 0.2)
    chain_id = await system.submit()
    seen: list[str] = []

    async def watch(client: Client) -> None:
        async for event in client.attach(chain_id).events():
            seen.append(event.type)  # noqa: PERF401 - it is looked at meanwhile

    breaking = _Breaking()
    async with Client(url, ADMIN, transport=breaking) as client:
        watcher = asyncio.create_task(watch(client))
        await wait_until(lambda: breaking.streams > 5)
        await system.end(chain_id)
        await watcher
    assert seen[-1] == "chain.completed"


class _Breaking(httpx.AsyncHTTPTransport):
    """Streams break at once, the first few times; all else is answered."""

    streams = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            self.streams += 1
            if self.streams < 8:
                raise httpx.ReadError("reset")
        return await super().handle_async_request(request)


async def test_problems_come_with_code_and_hint(system: System, client: Client) -> None:
    with pytest.raises(GatewayError) as error:
        await client.chain("nope")
    assert (error.value.status, error.value.code) == (404, "no_such_chain")
    assert error.value.hint
    request_id = await system.ask(await system.submit(), RequestKind.IN_DOUBT)
    with pytest.raises(GatewayError) as error:
        await client.answer(request_id, decision="approve")
    assert error.value.problem["allowed"]["decisions"] == [
        "abort",
        "failed",
        "happened",
        "not_happened",
    ]


async def test_a_task_survives_a_server_that_is_away_for_a_moment(
    system: System, client: Client, server: EmbeddedServer
) -> None:
    server.kill()
    try:
        submitting = asyncio.create_task(client.run("x", idempotency_key="k"))
        await asyncio.sleep(0)
    finally:
        server.start()
    run = await submitting
    assert (await client.run("x", idempotency_key="k")).id == run.id


async def test_without_an_event_loop(system: System, url: str) -> None:
    chain_id = await system.submit()
    await system.end(chain_id)

    def use() -> tuple[str, list[EventView], str]:
        with SyncClient(url, ADMIN) as client:
            run = client.run(task=task(), idempotency_key="sync")
            events = list(client.attach(chain_id).events())
            return run.id, events, client.attach(chain_id).result().status

    run_id, events, status = await asyncio.to_thread(use)
    assert (await system.http.get(f"/v1/chains/{run_id}")).status_code == 200
    assert [event.type for event in events] == ["chain.completed"]
    assert status == "completed"


async def test_a_result_that_waits_for_a_person_names_the_question_and_how_to_answer_it(
    system: System, client: Client, url: str
) -> None:
    run = await client.run(task=task())
    with pytest.raises(NotEndedError, match=r"has not ended yet$") as slow:
        await run.result(timeout=0.05)
    assert slow.value.requests == ()
    request_id = await system.ask(run.id)
    with pytest.raises(TimeoutError, match=re.escape(f"client.answer('{request_id}', ...)")):
        await run.result(timeout=0.05)

    def use() -> tuple[str, str]:
        with SyncClient(url, ADMIN) as other:
            held = other.attach(run.id)
            with pytest.raises(NotEndedError, match="waits for a person") as asked:
                held.result()
            with pytest.raises(NotEndedError, match=f"haltpoint answer {request_id}"):
                held.result(timeout=0.05)
            other.answer(request_id, option_id="u1")
            asyncio.run_coroutine_threadsafe(system.end(run.id), loop).result()
            return asked.value.requests[0].id, held.result().status

    loop = asyncio.get_running_loop()
    assert await asyncio.to_thread(use) == (request_id, "completed")


class _Cutting(httpx.AsyncHTTPTransport):
    """Breaks every event stream after its second event."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Cut(response.stream)  # type: ignore[arg-type]
        return response


class _Cut(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        events = b""
        async for chunk in self._stream:
            for byte in (chunk[i : i + 1] for i in range(len(chunk))):
                events += byte
                yield byte
                if events.count(b"\n\n") == 2:
                    raise httpx.ReadError("the line is cut")

    async def aclose(self) -> None:
        await self._stream.aclose()


@pytest.mark.parametrize("no_id", ["../stats?days=1#", "x y", "..", "", "a/events", "a?b=c", "bäd"])
async def test_an_id_is_an_id_whatever_stands_in_it(client: Client, no_id: str) -> None:
    """Nobody gets to another address of the gateway by an id."""
    calls = (
        client.chain(no_id),
        client.cancel(no_id),
        client.request(no_id),
        client.attach(no_id).result(),
    )
    for call in calls:
        with pytest.raises(GatewayError) as caught:
            await call
        assert caught.value.status == 404
        assert repr(no_id) in caught.value.detail


def test_a_gateway_writes_down_where_its_key_may_be_sent(url: str, tmp_path: Path) -> None:
    assert recall(tmp_path, ADMIN) == url
