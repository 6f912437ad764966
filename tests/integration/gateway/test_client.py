import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs
from typer.testing import CliRunner

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.cli import main
from haltpoint.client import Client, GatewayError
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import EventView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import NotEndedError
from haltpoint.runtime.config.key_origin import recall
from haltpoint.runtime.config.settings import GatewaySettings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from haltpoint.sync_client import SyncClient
from haltpoint_gateway import app
from haltpoint_gateway.event_stream import HEARTBEAT
from tests.integration.gateway.conftest import ADMIN, System, bearer, task
from tests.support import PATIENCE, wait_until


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


async def test_the_fields_of_a_task_may_be_given_one_by_one(client: Client, url: str) -> None:
    run = await client.run("Tell John", mode="off", tools=["lookup_*"], max_turns=3)
    chain = await client.chain(run.id)
    assert (chain.goal, chain.mode) == ("Tell John", "off")
    with pytest.raises(GatewayError, match="tolls"):
        await client.run("Tell John", tolls=["lookup_*"])

    def sync() -> str:
        with SyncClient(url, ADMIN) as other:
            return str(other.chain(other.run("Tell John", mode="advisory").id).mode)

    assert await asyncio.to_thread(sync) == "advisory"


async def test_a_watcher_hears_at_once_not_at_the_next_heartbeat(system: System, client: Client) -> None:
    for _ in range(2):  # the second comes when nobody has watched for a moment
        run = await client.run("x")
        events = run.events()
        for _ in range(5):
            hearing = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            await system.tell(run.id, FactType.STEP_STARTED)
            await asyncio.wait_for(hearing, 0.9 * HEARTBEAT)
        await system.end(run.id)
        assert (await asyncio.wait_for(anext(events), 0.9 * HEARTBEAT)).type == "chain.completed"
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_a_stream_that_breaks_is_taken_up_where_it_broke(system: System, url: str) -> None:
    chain_id = await system.submit()
    for _ in range(4):
        await system.tell(chain_id, FactType.STEP_STARTED, FactType.STEP_COMPLETED)
    await system.end(chain_id)
    async with Client(url, ADMIN, transport=_Cutting()) as client:
        ids = [event.id async for event in client.attach(chain_id).events()]
    assert ids == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0"]


async def test_an_ended_chain_has_nothing_new_behind_its_last_event(system: System, client: Client) -> None:
    chain_id = await system.submit()
    await system.end(chain_id)
    events = [event async for event in client.attach(chain_id).events()]
    assert [event.type for event in events] == ["chain.completed"]
    assert [event async for event in client.attach(chain_id).events(after=events[-1].id)] == []


async def test_a_failed_chain_is_a_result(system: System, client: Client) -> None:
    run = await client.run(task=Task(goal="x"))
    await system.end(run.id, ChainStatus.FAILED)
    assert (await run.result()).status == "failed"


async def test_a_chain_that_ends_without_asking_is_said(system: System, client: Client) -> None:
    run = await client.run("x")
    await system.end(run.id)
    with pytest.raises(LookupError, match="without a request"):
        await run.expects_request()


async def test_problems_come_with_code_and_hint(system: System, client: Client) -> None:
    with pytest.raises(GatewayError) as error:
        await client.chain("nope")
    assert (error.value.status, error.value.code) == (404, "no_such_chain")
    assert error.value.hint
    request_id = await system.ask(await system.submit(), RequestKind.IN_DOUBT)
    with pytest.raises(GatewayError) as error:
        await client.answer(request_id, decision="approve")
    assert error.value.problem["allowed"]["decisions"] == ["abort", "failed", "happened", "not_happened"]


async def test_lists_tools_and_cancellation(system: System, client: Client) -> None:
    run = await client.run("x")
    await system.ask(await system.submit())
    assert [chain.id for chain in (await client.chains(status="accepted")).items] == [run.id]
    assert [request.kind for request in (await client.requests()).items] == [RequestKind.CLARIFICATION]
    assert [tool.name for tool in await client.tools()] == ["askHuman", "end_step", "lookup_contacts", "read_secret"]
    await run.cancel("enough")
    await system.end(run.id, ChainStatus.CANCELLED)
    with pytest.raises(GatewayError, match="has ended"):
        await run.cancel()


async def test_a_gateway_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("haltpoint.client._PATIENCE", 0.1)
    async with Client("http://127.0.0.1:9", ADMIN) as client:
        with pytest.raises(GatewayError, match="haltpoint up") as error:
            await client.chains()
    assert error.value.code == "unreachable"


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
    with pytest.raises(TimeoutError, match=re.escape(f"client.answer('{request_id}', option_id='u1')")):
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


async def test_the_log_calls_a_person_and_tells_nothing_of_what_is_asked(system: System, url: str) -> None:
    with capture_logs() as lines:
        request_id = await system.ask(await system.submit())
        await wait_until(lambda: any(line.get("request") == request_id for line in lines))
    (called,) = (line for line in lines if line.get("request") == request_id)
    assert "haltpoint inbox" in called["event"]
    assert not re.search("John|Which|u1", str(lines))
    humans = [system.topology.key(partition, "humans") for partition in range(2)]

    async def finished() -> bool:
        return not any([await system.redis.xlen(key) for key in humans])

    await wait_until(finished)


async def test_what_cannot_be_read_goes_to_the_dead_letters(system: System, url: str) -> None:
    newer = '{"id":"c.r1","subject":"c","type":"human.requested.v9"}'
    await system.redis.xadd(system.topology.key(1, "humans"), {"__data__": "{"})
    await system.redis.xadd(system.topology.key(1, "humans"), {"__data__": newer})
    letters: list[dict[bytes, bytes]] = []

    async def is_dead() -> bool:
        letters[:] = [fields for _, fields in cast("Any", await system.redis.xrange(system.topology.key(1, "dead")))]
        return len(letters) == 2

    await wait_until(is_dead)
    told = {(letter[b"reason"], letter[b"chain"]) for letter in letters}
    assert told == {(b"bad_json", b""), (b"unknown_version", b"c")}


async def test_readiness_over_a_real_port(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers=bearer(ADMIN)) as http:
        assert (await http.get("/readyz")).text == "ready\n"
        assert "python_info" in (await http.get("/metrics")).text


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
    calls = (client.chain(no_id), client.cancel(no_id), client.request(no_id), client.attach(no_id).result())
    for call in calls:
        with pytest.raises(GatewayError) as caught:
            await call
        assert caught.value.status == 404
        assert repr(no_id) in caught.value.detail


@pytest.mark.parametrize("no_key", ["", "bäd", "two words", "line\n"])
def test_what_cannot_be_a_key_is_refused_in_words(no_key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        Client("http://127.0.0.1:9", no_key)


@pytest.mark.parametrize("no_key", ["", "bäd", "two words", "line\n"])
async def test_a_task_is_submitted_under_what_can_be_a_key(system: System, client: Client, no_key: str) -> None:
    """An empty one too is refused, not replaced: every repeat would be another chain."""
    with pytest.raises(GatewayError, match="Idempotency-Key") as caught:
        await client.run("x", idempotency_key=no_key)
    assert caught.value.status == 422
    assert (await client.chains()).items == ()


async def test_an_answer_that_no_question_takes_is_refused_in_words(system: System, client: Client) -> None:
    request_id = await system.ask(await system.submit())
    with pytest.raises(GatewayError, match="text: ") as caught:
        await client.answer(request_id, decision="none", text="x" * 9000)
    assert caught.value.code == "invalid_answer"


def test_a_gateway_writes_down_where_its_key_may_be_sent(url: str, tmp_path: Path) -> None:
    assert recall(tmp_path, ADMIN) == url


async def test_a_gateway_with_a_chosen_key_needs_no_state_directory(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    (no_folder := tmp_path / "file").write_text("")
    settings = system.gateway.settings.model_copy(
        update={
            "redis_url": server.url,
            "state_dir": no_folder,
            "gateway": GatewaySettings(port=0, admin_key=SecretStr(ADMIN)),
        }
    )
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(app.run(settings))
        while not await presence.alive(system.redis, system.topology):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        running.cancel()


async def test_the_inbox_shows_every_open_question(system: System, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("haltpoint.cli.commands.inbox._PAGE", 2)
    asked = [await system.ask(await system.submit()) for _ in range(5)]
    words = ["inbox", "--json", "--url", url, "--key", ADMIN]
    done = await asyncio.to_thread(CliRunner().invoke, main.app, words)
    assert done.exit_code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]  # beside those of the gateway's log
    shown = [json.loads(line)["id"] for line in lines]
    assert sorted(shown) == sorted(asked)
