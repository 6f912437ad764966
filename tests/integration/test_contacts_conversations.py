"""The cases of the contacts example with executor, planner and a scripted model: careless ones end like good ones."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.people.humans import Answer, RequestKind
from haltpoint.contracts.results import Clarification, ErrorType, NextAction, Option, Outcome
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.inbox import Inbox, Taken
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from haltpoint_executor.app import run as execute
from tests.integration.planning import LOOKUP, SEND, Board
from tests.support import wait_until
from tests.support.builders import OK, failed
from tests.support.recording_worker import recording_worker
from tests.support.stored import Stored

BOOK = {
    "john": ("user_abc123", "user_def456", "user_ghi789"),
    "jane": ("user_jane01",),
    "j": ("user_abc123", "user_jane01"),
}


@dataclass
class Town:
    board: Board
    inbox: Inbox
    sent: list[dict[str, Any]] = field(default_factory=list)
    lookups: int = 0

    def act(self, request: ToolRequested, arguments: str) -> tuple[Outcome, str]:
        """The two tools, over three Johns, one Jane and nobody called Zorgblort."""
        given = json.loads(arguments)
        if request.data.tool == "send_message":
            self.sent.append(given)
            return Outcome(success=True, next_action=NextAction.COMPLETE), '{"message_id": "m1"}'
        self.lookups += 1
        found = BOOK.get(given["query"].lower(), ())
        if not found:
            return failed(ErrorType.NOT_FOUND, f"nobody is called {given['query']}"), "{}"
        if len(found) == 1:
            return OK, json.dumps({"contact_id": found[0]})
        options = tuple(Option(id=one, title=one, value={"contact_id": one}) for one in found)
        question = Clarification(type="contact_selection", question="Which one?", options=options)
        return Outcome(success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=question), "{}"

    async def status(self, chain: str) -> ChainStatus:
        return ChainStatus((await self.board.redis.hget(self.board.topology.key_of("chain", chain), "status")).decode())

    async def reach(self, chain: str, status: ChainStatus) -> None:
        async def reached() -> bool:
            now = await self.status(chain)
            assert now is status or not now.final, f"{chain} is {now}: {await self.log(chain)}"
            return now is status

        await wait_until(reached)

    async def log(self, chain: str) -> list[Any]:
        lines = await Stored(self.board.redis, self.board.topology).log(chain)
        return [fact for line in lines for fact in line["facts"]]

    async def ask(self, goal: str, style: Style = Style.PLAN) -> str:
        submitted = await Store(self.board.calls, self.board.topology).submit(Task(goal=goal, style=style))
        return submitted.chain_id

    async def choose(self, chain: str, option: str) -> None:
        answer = Answer(kind=RequestKind.CLARIFICATION, option_id=option)
        assert isinstance(await self.inbox.answer(f"{chain}.r1", answer, by="test"), Taken)


@pytest.fixture(params=["contacts_good", "contacts_careless"])
async def town(request: pytest.FixtureRequest, server: EmbeddedServer, redis: Redis) -> AsyncIterator[Town]:
    topology = Topology(1)
    await topology.ensure(redis, [])
    async with AsyncExitStack() as stack:
        calls = await stack.enter_async_context(AutoPipeline(redis))
        board = Board(server.url, redis, topology, calls)
        here = Town(board, Inbox(calls, topology))
        model = await stack.enter_async_context(ScriptedModel(Script.read(Path(request.param))))
        await stack.enter_async_context(recording_worker(server.url, topology, LOOKUP, SEND, act=here.act))
        await stack.enter_async_context(board.planner(model))
        executor = asyncio.create_task(execute(Settings(redis_url=server.url, partitions=1, executor_lease=1.0)))

        async def executing() -> bool:
            assert not executor.done(), "the executor ended"
            return any(one["name"] == Party.EXECUTOR.value for one in await presence.alive(redis, topology))

        await wait_until(executing)
        try:
            yield here
        finally:
            executor.cancel()
            await executor


@pytest.mark.parametrize("style", Style)
async def test_three_johns_stop_the_chain_and_the_chosen_one_gets_the_message(town: Town, style: Style) -> None:
    chain = await town.ask("Tell John I'm running late", style)
    await town.reach(chain, ChainStatus.AWAITING_CLARIFICATION)
    assert town.sent == []
    await town.choose(chain, "user_def456")
    await town.reach(chain, ChainStatus.COMPLETED)
    assert town.sent == [{"recipient_id": "user_def456", "content": "I'm running late"}]
    assert town.lookups == 1


@pytest.mark.parametrize("style", Style)
async def test_the_one_jane_gets_the_message_at_once(town: Town, style: Style) -> None:
    chain = await town.ask("Tell Jane hello", style)
    await town.reach(chain, ChainStatus.COMPLETED)
    assert town.sent == [{"recipient_id": "user_jane01", "content": "hello"}]


async def test_nobody_is_called_zorgblort_and_nobody_is_asked(town: Town) -> None:
    chain = await town.ask("Tell Zorgblort hello")
    await town.reach(chain, ChainStatus.COMPLETED)
    assert town.sent == []
    assert "request.opened" not in [kind for kind, _ in await town.log(chain)]


async def test_a_vague_name_stops_the_chain(town: Town) -> None:
    chain = await town.ask("Tell J hello")
    await town.reach(chain, ChainStatus.AWAITING_CLARIFICATION)
    await town.choose(chain, "user_jane01")
    await town.reach(chain, ChainStatus.COMPLETED)
    assert town.sent == [{"recipient_id": "user_jane01", "content": "hello"}]
