"""How long a client is patient."""

import asyncio

import httpx
import pytest

from haltpoint import connection
from haltpoint.client import Client, GatewayError


class Clock:
    """Moved by what takes time: requests and pauses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(connection, "monotonic", lambda: self.now)
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def problem(
        self, code: str, seconds: float, at_once: tuple[str, ...] = ()
    ) -> GatewayError:
        """What a submitter gets when each request takes `seconds` and is answered with 503."""

        def reply(_: httpx.Request) -> httpx.Response:
            self.now += seconds
            return httpx.Response(503, json={"code": code})

        async with Client(
            "http://x", "k", at_once=at_once, transport=httpx.MockTransport(reply)
        ) as client:
            with pytest.raises(GatewayError) as error:
                await client.run("hi")
        return error.value


@pytest.mark.parametrize("seconds", [0.0, 5.0, 29.0])
async def test_a_client_gives_up_after_30_seconds_with_what_its_requests_took(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock = Clock(monkeypatch)
    assert (await clock.problem("redis_refuses_writes", seconds)).code == "redis_refuses_writes"
    assert 30 <= clock.now <= 30 + seconds + 2


async def test_a_problem_that_is_wanted_at_once_is_not_waited_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    await clock.problem("redis_refuses_writes", 5, at_once=("redis_refuses_writes",))
    assert clock.now == 5
    await clock.problem("redis_unreachable", 5, at_once=("redis_refuses_writes",))
    assert clock.now > 35
