"""Versions of the agents file in Redis: one counts, and the one before stays for the chains that began with it."""

from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.runtime.streams.agent_versions import AgentVersions
from haltpoint.runtime.streams.topology import Topology
from tests.support.desk import Desk

ONE = Agents(agents=(Agent(name="one", description="the first"),))
TWO = Agents(agents=(Agent(name="two", description="the second"),))


def versions(desk: Desk) -> AgentVersions:
    return AgentVersions(desk.calls, Topology(2))


async def test_without_a_file_there_is_no_version(desk: Desk) -> None:
    assert await versions(desk).current() == ("", Agents())


async def test_a_version_counts_from_when_it_is_applied_and_a_repeat_changes_nothing(desk: Desk) -> None:
    assert await versions(desk).apply(ONE, 100)
    assert not await versions(desk).apply(ONE, 100)
    assert await versions(desk).current() == (ONE.digest, ONE)
    assert await desk.redis.ttl(f"hp:{{0}}:agents:{ONE.digest}") == -1


async def test_the_version_before_is_kept_for_the_chains_that_began_with_it(desk: Desk) -> None:
    await versions(desk).apply(ONE, 100)
    await versions(desk).apply(TWO, 100)
    reader = versions(desk)
    assert await reader.current() == (TWO.digest, TWO)
    assert await reader.version(ONE.digest) == ONE
    assert 90 < await desk.redis.ttl(f"hp:{{0}}:agents:{ONE.digest}") <= 100
    assert await desk.redis.ttl(f"hp:{{0}}:agents:{TWO.digest}") == -1
    await versions(desk).apply(ONE, 100)
    assert await desk.redis.ttl(f"hp:{{0}}:agents:{ONE.digest}") == -1


async def test_a_version_whose_text_is_gone_is_there_again_when_it_is_applied_again(desk: Desk) -> None:
    await versions(desk).apply(ONE, 100)
    await desk.redis.delete(f"hp:{{0}}:agents:{ONE.digest}")
    assert await versions(desk).current() == (ONE.digest, Agents())
    assert not await versions(desk).apply(ONE, 100)
    assert await versions(desk).current() == (ONE.digest, ONE)


async def test_what_was_read_is_remembered_and_what_is_forgotten_says_nothing(desk: Desk) -> None:
    reader = versions(desk)
    await reader.apply(ONE, 100)
    assert await reader.version(ONE.digest) == ONE
    await desk.redis.flushdb()
    assert await reader.version(ONE.digest) == ONE
    assert await versions(desk).version(ONE.digest) == Agents()
