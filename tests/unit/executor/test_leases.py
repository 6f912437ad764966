"""Leases of partitions: what is held is read."""

import pytest

from haltpoint_executor.leases import Leases


async def test_a_partition_whose_reader_did_not_start_is_tried_again() -> None:
    reading: list[int] = []
    fails = True

    async def yes(_: int) -> bool:
        return True

    async def nothing(_: int) -> None: ...

    async def one() -> int:
        return 1

    async def start(partition: int) -> None:
        if fails:
            raise ConnectionError("the server went away just now")
        reading.append(partition)

    leases = Leases("me", 2, yes, nothing, one, start, nothing)
    with pytest.raises(ConnectionError):
        await leases.tick()
    assert leases.held == ()

    fails = False
    await leases.tick()
    assert sorted(reading) == [0, 1]
    assert sorted(leases.held) == [0, 1]
