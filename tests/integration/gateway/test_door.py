"""The gateway's door, and the health port of a service: raw bytes over real connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from typing import Final
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import Response

from haltpoint.contracts.base import MAX_BODY
from haltpoint.runtime.config.settings import GatewaySettings, Settings
from haltpoint.runtime.service import address, door
from haltpoint.runtime.service.http import HttpServer, health_app
from tests.integration.gateway.conftest import ADMIN, System
from tests.support import PATIENCE

KEY: Final = f"Authorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n"
TASK: Final = '{"goal": "Find John"}'


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the port of an address."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    with closing(writer):
        yield reader, writer


async def sent(url: str, data: bytes) -> bytes:
    """All that comes back for these bytes until the server hangs up, which it does for each that is
    refused or says `Connection: close`.
    """
    async with connected(url) as (reader, writer):
        writer.write(data)
        async with asyncio.timeout(PATIENCE):
            return await reader.read()


def statuses(answer: bytes) -> list[int]:
    return [int(part.split(b" ", 1)[0]) for part in answer.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture
async def health() -> AsyncIterator[str]:
    """The address of a service's health port."""
    names = Settings(hosts=("planner",)).own_names
    http = HttpServer(health_app(lambda: True), "127.0.0.1", 0, names=names)
    await http.start()
    yield http.url
    await http.stop()


def post(*lines: str, end: str = "\r\n", body: str = TASK, host: str = "localhost") -> bytes:
    """A task, with these lines at the end of its head."""
    first = ["POST /v1/tasks HTTP/1.1", f"Host: {host}", *KEY.split("\r\n")[:2]]
    return (end.join([*first, "Connection: close", *lines, "", ""]) + body).encode()


LENGTH: Final = f"Content-Length: {len(TASK)}"
CHUNKS: Final = f"{len(TASK):x}\r\n{TASK}\r\n0\r\n\r\n"


REQUESTS: Final = {
    "one length": (post(LENGTH), 202),
    "chunks": (post("Transfer-Encoding: chunked", body=CHUNKS), 202),
    "CL.TE": (post(LENGTH, "Transfer-Encoding: chunked", body=CHUNKS), 400),
    "TE.CL": (post("Transfer-Encoding: chunked", LENGTH, body=CHUNKS), 400),
    "tE": (post("tRANSFER-eNCODING: chunked", "x: y", LENGTH, body=CHUNKS), 400),
    "TE identity": (post("Transfer-Encoding: identity", LENGTH), 400),
    "TE gzip": (post("Transfer-Encoding: gzip, chunked", body=CHUNKS), 400),
    "space and colon": (post("Transfer-Encoding : chunked", body=CHUNKS), 400),
    "vertical tab": (post("Transfer-Encoding:\x0bchunked", body=CHUNKS), 400),
    "same length twice": (post(LENGTH, LENGTH), 400),
    "two lengths": (post(LENGTH, "Content-Length: 1"), 400),
    "a list of lengths": (post(f"{LENGTH}, {len(TASK)}"), 400),
    "signed length": (post("Content-Length: +21"), 400),
    "bare LF everywhere": (post(LENGTH, end="\n"), 400),
    "one bare LF": (post(f"X: a\n{LENGTH}"), 400),
    "bare CR": (post(LENGTH, "X: a\rY: b"), 400),
    "folded by a tab": (post("X: a", "\tb", LENGTH), 400),
    "folded": (post("X: a", " Transfer-Encoding: chunked", LENGTH), 400),
    "NUL": (post(LENGTH, "X: a\0b"), 400),
    "two hosts": (post(LENGTH, "Host: localhost"), 400),
    "announced too large": (post(f"Content-Length: {MAX_BODY + 1}"), 413),
    "chunks of HTTP/1.0": (
        post("Transfer-Encoding: chunked", body=CHUNKS).replace(b"HTTP/1.1", b"HTTP/1.0"),
        400,
    ),
    "headers behind the body": (
        post("Transfer-Encoding: chunked", body=f"{CHUNKS[:-2]}X: a\n\n"),
        400,
    ),
    "an upgrade": (post(LENGTH, "Connection: upgrade", "Upgrade: websocket"), 202),
    "long head": (post(LENGTH, f"X: {'a' * 20_000}"), 400),
}


async def test_a_request_has_one_meaning_or_is_refused(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, (data, status) in REQUESTS.items():
        answer = await sent(url, data)
        assert statuses(answer) == [status], (name, answer)
    assert "pip install" not in caplog.text


async def test_what_follows_a_request_on_its_connection_is_looked_at_too(url: str) -> None:
    ask = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    whole = post(LENGTH).replace(b"Connection: close\r\n", b"")
    assert statuses(await sent(url, ask + whole + post(LENGTH))) == [200, 202, 202]
    assert statuses(await sent(url, ask + whole + post(LENGTH, LENGTH))) == [200, 202, 400]
    early = post("Content-Length: 300000", body="x" * 300_000)
    refused = early.replace(b"Connection: close\r\n", b"")
    assert statuses(await sent(url, refused + post(LENGTH, LENGTH))) == [413, 400]


async def test_the_body_of_a_request_is_bounded_before_it_is_parsed(url: str) -> None:
    chunk = f"{1 << 16:x}\r\n{'[' * (1 << 16)}\r\n" * 5
    answer = await sent(url, post("Transfer-Encoding: chunked", body=f"{chunk}0\r\n\r\n"))
    assert statuses(answer) == [413]


FOREIGN: Final = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "gateway")


@pytest.mark.parametrize("path", ["/livez", "/", "/v1/tools", "/metrics"])
@pytest.mark.parametrize("host", FOREIGN)
async def test_a_foreign_host_is_refused(url: str, path: str, host: str) -> None:
    headers = {"Host": f"{host}:{urlsplit(url).port}"}
    async with httpx.AsyncClient(trust_env=False) as client:
        reply = await client.get(url + path, headers=headers)
    assert reply.status_code == 421
    assert reply.json()["code"] == "unknown_host"
    assert host in reply.json()["detail"]


@pytest.mark.parametrize(
    "host", ["a@localhost", "localhost,evil.example", "localhost/x", "[::1", "loc\u00e4lhost", " "]
)
async def test_a_host_that_is_none_is_refused(url: str, host: str) -> None:
    assert statuses(await sent(url, post(LENGTH, host=host))) == [421]


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:1",
        "shop.localhost.",
        "127.0.0.1:80",
        "[::1]:80",
        "[fe80::1%25eth0]:80",
        "10.1.2.3",
    ],
)
async def test_this_machine_and_addresses_need_no_listing(url: str, host: str) -> None:
    assert statuses(await sent(url, post(LENGTH, host=host))) == [202]


async def test_a_health_port_knows_its_names_too(health: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for host, status in (
            ("planner:8701", 200),
            ("Planner.:1", 200),
            ("10.1.2.3", 200),
            ("evil.example", 421),
        ):
            reply = await client.get(f"{health}/metrics", headers={"Host": host})
            assert reply.status_code == status


def test_the_public_name_and_those_of_the_setting_are_own() -> None:
    about = GatewaySettings(public_url="https://Agents.example.com:8443/x", host="10.0.0.1")
    names = Settings(gateway=about, hosts=("Gateway", "gateway.svc")).own_names
    assert names == {"agents.example.com", "10.0.0.1", "127.0.0.1", "gateway", "gateway.svc"}


async def drip(url: str, data: bytes) -> bytes:
    """Send a byte a second until the server hangs up; what it answered."""
    async with connected(url) as (reader, writer):
        answer = asyncio.create_task(reader.read())
        for byte in data:
            writer.write(bytes([byte]))
            await asyncio.wait([answer], timeout=1.0)
            if answer.done():
                break
        async with asyncio.timeout(PATIENCE):
            return await answer


@pytest.mark.parametrize("where", ["gateway", "health"])
async def test_slow_connections_stop_nobody_and_are_ended(
    url: str, health: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 4.0)
    url = url if where == "gateway" else health
    head = f"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {'y' * 500}".encode()
    slow = [asyncio.create_task(drip(url, head)) for _ in range(200)]
    answered = 0
    async with httpx.AsyncClient(trust_env=False) as client:
        while not any(each.done() for each in slow):
            assert (await client.get(f"{url}/livez")).status_code == 200
            answered += 1
    assert answered > 3
    for answer in await asyncio.gather(*slow):
        assert statuses(answer) == [408]


@pytest.mark.parametrize("body", ["", TASK[:3]], ids=["no body", "a body that stops"])
async def test_a_body_that_does_not_come_is_not_awaited(
    url: str, body: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.5)
    assert statuses(await sent(url, post(LENGTH, body=body))) == [408]
    assert "a request failed" not in caplog.text


async def test_a_refused_request_cannot_go_on_for_ever(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.5)
    nobody = post("Content-Length: 9999", body="[" * 9999).replace(ADMIN.encode(), b"wrong")
    answer = await drip(url, nobody.replace(b"Connection: close\r\n", b"")[:-9000])
    assert statuses(answer) in ([401], [408])


async def test_a_connection_that_says_nothing_is_ended(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.5)
    assert statuses(await sent(url, b"")) == [408]


@pytest.mark.parametrize("pause", [0, 2], ids=["slow", "never"])
async def test_an_answer_that_is_not_read_is_not_kept(
    pause: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "UNREAD", 500)
    http = HttpServer(Response(b"x" * (24 << 20)), "127.0.0.1", 0)
    await http.start()
    ask = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    read = 0
    async with connected(http.url) as (reader, writer):
        writer.write(ask)
        await asyncio.sleep(pause)
        with suppress(ConnectionError):
            while piece := await reader.read(1 << 20):
                read += len(piece)
                await asyncio.sleep(len(piece) / (24 << 20))  # a second in all
    await http.stop()
    assert (read > 24 << 20) == (pause == 0)


@pytest.mark.parametrize(("most", "of_one"), [(12, 6)])
async def test_one_address_has_half_of_the_connections_and_others_the_rest(
    url: str, most: int, of_one: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = urlsplit(url)
    monkeypatch.setattr(door, "CONNECTIONS", most)
    ask = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    async def from_address(address: str) -> int:
        reader, writer = await asyncio.open_connection(
            place.hostname, place.port, local_addr=(address, 0)
        )
        with closing(writer):
            writer.write(ask)
            return statuses(await reader.read())[0]

    async with AsyncExitStack() as stack:
        for _ in range(of_one):
            await stack.enter_async_context(connected(url))
        assert await from_address("127.0.0.1") == 503
        assert await from_address("127.0.0.2") == 200


async def test_an_event_stream_stays_open(
    system: System, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.5)
    chain = await system.submit()
    headers = {"Authorization": f"Bearer {ADMIN}", "Accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
        client.stream("GET", f"{url}/v1/chains/{chain}/events", headers=headers) as seen,
    ):
        for _ in range(2):  # longer than a request may take
            assert statuses(await sent(url, b"")) == [408]
        await system.end(chain)
        assert "chain.completed" in "".join([line async for line in seen.aiter_lines()])
