"""The library beside its successor, the catalogue, the topology's check."""

from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Final

import pytest
from redis.asyncio import Redis

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.presence import Presence
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.streams.topology import FORM, LIBRARY, PREFIX, Topology
from tests.support.builders import literal_task, spec
from tests.support.catalogue import silence
from tests.support.desk import Desk

SUCCESSOR: Final = library.source().replace(LIBRARY, "haltpoint_3").replace(PREFIX, "hp3_")


@pytest.fixture
async def functions(redis: Redis) -> AsyncIterator[Redis]:
    """A server whose functions may be changed; the library is as it was afterwards."""
    yield redis
    await redis.function_flush()
    await library.load(redis)


async def test_the_library_is_loaded_and_checked(functions: Redis) -> None:
    await functions.function_flush()
    with pytest.raises(HaltpointError, match=r"HP-014 .*haltpoint init"):
        await library.check(functions)
    await library.load(functions)
    await library.load(functions)
    await library.check(functions)


async def test_two_versions_live_side_by_side_on_the_same_data(
    functions: Redis, desk: Desk
) -> None:
    await functions.function_load(SUCCESSOR, replace=True)
    order = await desk.order_of(literal_task(1, "send"))
    args = (
        desk.topology.stream(0, Stream.EVENTS),
        "tools:default",
        order.ref.entry,
        order.action,
    )
    (claimed, *_) = await functions.fcall("hp3_claim", 1, *args, "one", "new")
    assert claimed == [b"go", 1]
    assert (await desk.claim(order)).status == "in_doubt"
    assert await names(functions) == {LIBRARY, "haltpoint_3"}


async def names(redis: Redis) -> set[str]:
    """The libraries on the server."""
    return {one[b"library_name"].decode() for one in await redis.function_list()}


async def test_a_library_goes_when_no_service_uses_it_any_more(
    functions: Redis, desk: Desk
) -> None:
    await functions.function_load(SUCCESSOR, replace=True)
    events = desk.topology.stream(0, Stream.EVENTS)
    counted = [desk.topology.key(0, name, "hp3_") for name in ("seq", "terms")]
    await functions.fcall("hp3_miss", 1, events)
    service = Presence(desk.topology, "executor", "one", 0)
    for says in ("haltpoint_3", None):  # None: a release that does not say
        await service.renew(functions, {"library": says})
        await library.remove_unused(functions, desk.topology)
        assert await names(functions) == {LIBRARY, "haltpoint_3"}
    await service.leave(functions)
    await library.remove_unused(functions, desk.topology)
    assert await names(functions) == {LIBRARY}
    assert all([0 < await functions.ttl(key) <= 86_400 for key in counted])

    await functions.function_load(SUCCESSOR)  # a service of it was only silent
    await functions.fcall("hp3_miss", 1, events)
    assert [await functions.ttl(key) for key in counted] == [-1, -1]


def test_the_library_is_named_after_its_text() -> None:
    parts = [*files("haltpoint.runtime.store").joinpath("lua").iterdir()]
    texts = {part.name: part.read_text() for part in parts}
    assert all(text in library.source() for text in texts.values()), "a file is in no library"
    assert LIBRARY.startswith(f"haltpoint_{FORM}_")
    assert f"#!lua name={LIBRARY}\n" in library.source()


def test_the_functions_know_the_groups_of_the_catalogue() -> None:
    lines = {
        f"{stream.value} = '{GROUP[stream].value}'"
        for stream in Stream
        if stream is not Stream.TOOLS
    }
    assert all(line in library.source() for line in lines)
    assert f"local WORKERS = '{GROUP[Stream.TOOLS].value}'" in library.source()


async def test_streams_and_groups_begin_at_the_first_entry(redis: Redis) -> None:
    topology = Topology(3)
    await redis.xadd(topology.stream(2, Stream.TOOLS, "contacts"), {"early": "bird"})
    await topology.ensure(redis, ["contacts"])
    await topology.ensure(redis, ["contacts", "mail"])
    for partition in range(3):
        for stream, queue in (
            (Stream.EVENTS, ""),
            (Stream.PLANS, ""),
            (Stream.HUMANS, ""),
            (Stream.TOOLS, "mail"),
        ):
            (group,) = await redis.xinfo_groups(topology.stream(partition, stream, queue))
            assert group["name"].decode() == GROUP[stream]
    (early,) = await redis.xreadgroup(
        GROUP[Stream.TOOLS], "one", {topology.stream(2, Stream.TOOLS, "contacts"): ">"}
    )
    assert early


async def test_another_number_of_partitions_is_refused(redis: Redis) -> None:
    with pytest.raises(HaltpointError, match=r"HP-015 .*haltpoint init"):
        await Topology(4).check(redis)
    await Topology(4).ensure(redis)
    await Topology(4).check(redis)
    with pytest.raises(HaltpointError, match=r"HP-016 .*HALTPOINT_PARTITIONS=4"):
        await Topology(8).ensure(redis)
    assert await redis.exists(Topology(8).stream(7, Stream.EVENTS)) == 0


async def test_chains_of_the_release_before_are_drained_first(redis: Redis) -> None:
    """Its deployment does not say how rows are stored. Chains that have ended do not matter."""
    topology = Topology(4)
    await topology.ensure(redis)
    await redis.hdel("hp:{0}:deployment", "rows")
    waiting = topology.key(3, "index", "status", "awaiting_input")
    await redis.zadd(waiting, {"c1": 1})
    await redis.zadd(topology.key(2, "index", "status", "completed"), {"c2": 1})
    with pytest.raises(
        HaltpointError,
        match=r"HP-022 this Redis has 1 chain of another release .* Run that release until",
    ):
        await topology.ensure(redis)
    assert await redis.hkeys("hp:{0}:deployment") == [b"partitions"]
    await redis.delete(waiting)
    await topology.ensure(redis)
    await redis.zadd(waiting, {"c3": 1})
    await topology.ensure(redis)


async def test_r10_chains_that_are_begun_again_on_an_empty_server_are_ours(redis: Redis) -> None:
    topology = Topology(4)
    await redis.zadd(topology.key(3, "index", "status", "awaiting_input"), {"c1": 1})
    await topology.ensure(redis)
    await topology.check(redis)


async def test_c15_a_tool_that_no_worker_has_named_for_a_minute_is_gone_until_the_next_beat(
    desk: Desk,
) -> None:
    topology = Topology(2)
    catalogue = ToolCatalogue(desk.calls, topology)
    await catalogue.announce([spec("note"), spec("send")])

    async def gone() -> list[str]:
        return [name for name, one in (await catalogue.read()).items() if one.gone]

    await silence(desk.redis, topology, "send", 45)
    assert await gone() == []
    await silence(desk.redis, topology, "send", 20)
    assert await gone() == ["send"]
    await catalogue.announce([spec("send")])
    assert await gone() == []
