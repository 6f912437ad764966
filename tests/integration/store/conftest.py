from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from tests.support.desk import Desk, desk_at


@pytest.fixture
async def desk(redis: Redis) -> AsyncIterator[Desk]:
    async with desk_at(redis) as desk:
        yield desk
