"""A planner in this process, its model a scripted server, and the questions that an executor would
ask, put by hand.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from redis.asyncio import Redis

from haltpoint.chain.checks.agents import assigned_to
from haltpoint.contracts.base import JsonObject, chain_of
from haltpoint.contracts.catalogue import Party, Stream
from haltpoint.contracts.commands import (
    ActionRequested,
    AnswerRequested,
    PlanRequested,
    ThoughtRequest,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.settings import ModelSettings, Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.rows import Data, Key
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams import presence
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.views import Views
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from haltpoint_planner.app import run
from tests.support import wait_until
from tests.support.stored import Stored

TEXT = {"type": "string"}
LOOKUP = ToolSpec(
    name="lookup_contacts",
    description="Find a contact.",
    parameters={"type": "object", "properties": {"query": TEXT}, "required": ["query"]},
    read_only=True,
    may_clarify=True,
)
SEND = ToolSpec(
    name="send_message",
    description="Send a message.",
    parameters={
        "type": "object",
        "properties": {"recipient_id": TEXT, "content": TEXT},
        "required": ["recipient_id", "content"],
    },
    provenance={"recipient_id": ("lookup_contacts.contact_id",)},
)
KINDS = {ThoughtKind.PLAN: PlanRequested, ThoughtKind.ANSWER: AnswerRequested}


GOOD_PLAN = {
    "say": {
        "plan": {
            "steps": [{"id": "find", "description": "x", "required_tools": ["lookup_contacts"]}]
        }
    }
}


def script(*rules: JsonObject) -> Script:
    return Script.model_validate({"rules": rules})


@dataclass
class Board:
    """Chains whose thoughts a test asks for itself, without an executor."""

    url: str
    redis: Any
    topology: Topology
    calls: AutoPipeline
    agents: Agents = field(default_factory=Agents)

    @property
    def stored(self) -> Stored:
        return Stored(self.redis, self.topology)

    async def chain(self, task: Task | None = None, plan: Plan | None = None) -> str:
        task = task or Task(goal="Tell John hi")
        given = (
            task if task.agent is None else assigned_to(task, self.agents)
        )  # as an executor begins it
        submitted = await Store(self.calls, self.topology).submit(given)
        if plan is not None:
            stored = encode({"plan": plan})
            await self.redis.hset(
                self.topology.key_of(Key.DATA, submitted.chain_id), Data.PLAN, stored
            )
        return submitted.chain_id

    async def ask(self, chain: str, kind: ThoughtKind = ThoughtKind.PLAN, **more: Any) -> str:
        """Put a question on the planner's stream; returns the thought's id."""
        deadline = int(time.time() * 1000) + 60_000
        defaults: JsonObject = {
            "thought_id": f"{chain}.plan.t0.1",
            "kind": kind,
            "deadline": deadline,
        }
        request = ThoughtRequest(**(defaults | more))
        message = KINDS.get(kind, ActionRequested)(
            id=request.thought_id,
            source="haltpoint/executor",
            subject=chain,
            traceparent="00-11111111111111111111111111111111-2222222222222222-01",
            data=request,
        )
        key = self.topology.stream(self.topology.partition(chain), Stream.PLANS)
        await self.redis.xadd(key, {"__data__": encode(message)})
        return request.thought_id

    async def replies(self, thought: str) -> list[JsonObject]:
        """The messages that the executor got about this thought."""
        key = self.topology.stream(self.topology.partition(thought), Stream.EVENTS)
        messages = [json.loads(fields[b"__data__"]) for _, fields in await self.redis.xrange(key)]
        return [one for one in messages if one["data"].get("thought_id") == thought]

    async def reply(self, thought: str) -> JsonObject:
        """The one message about this thought, once its question is off the stream."""
        await wait_until(lambda: self.idle(chain_of(thought)))
        (reply,) = await self.replies(thought)
        return reply

    async def idle(self, chain: str) -> bool:
        """Whether the planner has nothing to do; thoughts that have rested are asked for again."""
        partition = self.topology.partition(chain)
        await self.store.fire_due(partition)
        waiting = await self.redis.xlen(self.topology.stream(partition, Stream.PLANS))
        return int(waiting) == 0 and not await self.resting(chain)

    async def resting(self, chain: str) -> bool:
        """Whether thoughts of the chain's partition rest."""
        key = self.topology.key(self.topology.partition(chain), "resting")
        return bool(await self.redis.zcard(key))

    async def view(self, chain: str) -> ChainView:
        views = Views(self.redis, self.calls, self.topology)
        view = await views.chain(chain, lambda _: True)
        assert view is not None
        return view

    async def tried(self, chain: str, times: int) -> bool:
        """Whether a model that is away was asked for the chain so many times."""
        await self.store.fire_due(self.topology.partition(chain))
        rest = (await self.view(chain)).waits_for_model
        return rest is not None and rest.tries >= times

    @property
    def store(self) -> Store:
        return Store(self.calls, self.topology)

    async def know(self, *tools: ToolSpec) -> None:
        await ToolCatalogue(self.calls, self.topology).announce(tools)

    @asynccontextmanager
    async def planner(
        self, model: ScriptedModel | None = None, **more: Any
    ) -> AsyncIterator[Settings]:
        """A planner from ready to stopped. Its lease is 0.6 s."""
        settings = Settings(
            redis_url=self.url,
            partitions=self.topology.partitions,
            lease=0.6,
            heartbeat=0.1,
            model=ModelSettings(
                base_url=model.base_url if model else None, **({"name": "scripted"} | more)
            ),
        )
        before = {one["instance"] for one in await presence.alive(self.redis, self.topology)}
        with mock.patch("haltpoint.runtime.config.agents_file.read", return_value=self.agents):
            task = asyncio.create_task(run(settings))
            await asyncio.sleep(0)  # it reads the file first

        async def ready() -> bool:
            assert not task.done(), "the planner ended"
            alive = await presence.alive(self.redis, self.topology)
            return any(
                one["name"] == Party.PLANNER.value and one["instance"] not in before
                for one in alive
            )

        try:
            await wait_until(ready)
            yield settings
        finally:
            task.cancel()
            await task


@asynccontextmanager
async def board_at(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Board]:
    topology = Topology(2)
    await topology.ensure(redis, [])
    async with AutoPipeline(redis) as calls:
        board = Board(server.url, redis, topology, calls)
        await board.know(LOOKUP, SEND)
        yield board
