"""Random chains on a real server: a fresh load after each event gives the chain that the executor
remembers.
"""

from typing import Final

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.events import ActionProposed, Received, ToolCompleted
from haltpoint.runtime.store.committing import ChainCommit, Decided
from haltpoint.runtime.store.rows import Kind, Part, local
from haltpoint.runtime.store.store import CommitStatus
from haltpoint.runtime.streams.wire import encode
from tests.support.desk import Desk, desk_at
from tests.support.random_chain import Walk

CHAINS: Final = 30
EVENTS: Final = 60


async def record(desk: Desk, key: str, received: Received) -> None:
    """What a worker, or a planner, has written before its message comes."""
    message = received.message
    if isinstance(message, ToolCompleted):
        outcome = encode(message.data.outcome).decode()
        receipt = f"{local(message.data.action_id)}.{Part.RECEIPT}"
        await desk.redis.hset(key, receipt, f"{Kind.RECEIPT}\n{outcome}\n{received.body}")
    elif isinstance(message, ActionProposed):
        thought = f"{message.type}\n{encode(message.data).decode()}\n"
        await desk.redis.hsetnx(key, local(message.data.thought_id), thought)


@pytest.mark.parametrize("part", range(4))
async def test_a_fresh_load_is_what_the_executor_remembers(redis: Redis, part: int) -> None:
    async with desk_at(redis) as desk:
        for seed in range(part * CHAINS, (part + 1) * CHAINS):
            walk = Walk(seed)
            story = walk.story
            chain_id = await desk.submit(story.chain.task)
            loaded = (await desk.store.load([chain_id]))[chain_id]
            story.first = story.chain = loaded.chain
            story.now = loaded.chain.created_at
            for _ in range(EVENTS):
                walk.step()
                received, now = story.log[-1]
                if not walk.repeat:
                    await record(desk, desk.key("data", chain_id), received)
                commit = ChainCommit(loaded, [Decided(received, story.last, now)], [])
                [committed] = (await desk.store.commit(0, [commit])).chains
                assert committed.status is CommitStatus.OK
                assert committed.loaded is not None
                loaded = committed.loaded
                if story.chain.status.final:
                    break
                fresh = (await desk.store.load([chain_id]))[chain_id].chain
                assert fresh == loaded.chain, f"seed {seed}"
