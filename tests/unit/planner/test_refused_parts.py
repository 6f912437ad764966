"""What a server refuses of a question is found out, also by a server that is in trouble again and
again.
"""

import time
from contextlib import suppress
from itertools import count

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.exchange import Prompt, Reply
from haltpoint_planner.model import Port
from haltpoint_planner.servers import PassingError, Server

SETTINGS = ModelSettings(base_url="http://model", name="big")
SERVER = Server(SETTINGS)
FORM = {"type": "object", "properties": {"to": {"type": "string", "pattern": "@"}}}
PROMPT = Prompt(
    messages=({"role": "user", "content": "Hello"},),
    tools=({"type": "function", "function": {"name": "send", "parameters": FORM}},),
)


class Strict:
    """A server that refuses a part without saying which, and fails at every so many questions."""

    def __init__(self, part: str, status: int, every: int) -> None:
        self.part = part
        self.status = status
        self.every = every
        self.numbers = count(1)
        self.asked = 0

    async def send(self, body: JsonObject, _: ThoughtRequest) -> Reply:
        self.asked = next(self.numbers)
        if self.asked % self.every == 0:
            raise self.failure(self.status)
        if self.part in str(body):
            raise self.failure(400)
        return Reply("Hello.")

    def failure(self, status: int) -> Exception:
        return SERVER.failure(status, [{"error": {"message": "No."}}], "No.", 0)


async def asked_again_and_again(port: Port) -> Reply:
    """As the planner does it: a thought rests while there is trouble, and is asked again."""
    now = int(time.time() * 1000)
    request = ThoughtRequest(thought_id="c.a.t1.1", kind=ThoughtKind.ACT, deadline=now + 60_000)
    for _ in range(20):
        with suppress(PassingError):
            return await port.ask("big", lambda _: PROMPT, request)
    raise AssertionError("there is no reply")


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("part", ["temperature", "stream_options", "pattern", "tool_choice"])
@pytest.mark.parametrize("every", [2, 3, 1000])
async def test_m6_a_refused_part_is_found_whatever_trouble_comes_between(
    part: str, status: int, every: int
) -> None:
    server = Strict(part, status, every)
    port = Port(SETTINGS, SERVER, server.send)
    assert (await asked_again_and_again(port)).content == "Hello."
    (learned,) = port.refused["big"]
    assert learned.what == part
    assert server.asked <= 20
    before = server.asked
    await asked_again_and_again(port)
    assert server.asked <= before + 2, "what is learned is not asked for again"
