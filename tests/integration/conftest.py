"""What the tests over a real server share: a deployment without services, and a planner's board."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from haltpoint.runtime.service.embedded import EmbeddedServer
from tests.integration.deciding import Bed, bed_at
from tests.integration.planning import Board, board_at


@pytest.fixture
async def bed(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Bed]:
    async with bed_at(server, redis) as bed:
        yield bed


@pytest.fixture
async def board(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Board]:
    async with board_at(server, redis) as board:
        yield board
