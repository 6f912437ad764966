"""What a service looks at before it relies on a server, against a real one that is set wrong."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from haltpoint.runtime.config.errors import CATALOGUE, HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import preflight
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.service.preflight import Check
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.topology import Topology

TOPOLOGY = Topology(2)


async def failed(
    redis: Any, url: str = "unix:///x", partitions: int = 2, **settings: Any
) -> dict[str, Check]:
    """The checks that failed, by name."""
    checks = await preflight.examine(redis, Settings(**settings), Topology(partitions), url)
    assert all(check.code in CATALOGUE for check in checks)
    return {check.check: check for check in checks if not check.ok}


@pytest.fixture
async def fit(redis: Any) -> AsyncIterator[Any]:
    """A server on which everything is as it should be, and is again afterwards."""
    await TOPOLOGY.ensure(redis)
    yield redis
    await redis.config_set("maxmemory-policy", "noeviction")
    await redis.config_set("appendonly", "yes")
    await redis.config_set("appendfsync", "everysec")


async def test_the_embedded_server_is_fit(fit: Any) -> None:
    assert await failed(fit) == {}
    assert await failed(fit, profile="standard") == {}


async def test_a_server_that_evicts_is_refused_unless_that_is_wished(fit: Any) -> None:
    await fit.config_set("maxmemory-policy", "allkeys-lru")
    checks = await preflight.examine(fit, Settings(), TOPOLOGY, "unix:///x")
    with pytest.raises(HaltpointError, match=r"HP-012 .*allkeys-lru.*noeviction"):
        preflight.refuse(checks, allow_unsafe=False)
    assert [check.check for check in preflight.refuse(checks, allow_unsafe=True)] == ["eviction"]


@pytest.mark.parametrize(
    ("profile", "appendonly", "appendfsync", "fine"),
    [
        ("dev", "no", "everysec", True),
        ("standard", "no", "everysec", False),
        ("standard", "yes", "everysec", True),
        ("strict", "yes", "everysec", False),
        ("strict", "yes", "always", True),
    ],
)
async def test_durability_is_that_of_the_profile(
    fit: Any, profile: str, appendonly: str, appendfsync: str, fine: bool
) -> None:
    await fit.config_set("appendonly", appendonly)
    await fit.config_set("appendfsync", appendfsync)
    assert ("durability" not in await failed(fit, profile=profile)) is fine


@pytest.mark.parametrize(
    ("durability", "appendfsync", "fine"),
    [
        ("everysec", "everysec", True),
        ("always", "everysec", False),
        ("always", "always", True),
        ("wait:1", "always", False),
    ],
)
async def test_durability_is_what_started_calls_rest_on(
    fit: Any, durability: str, appendfsync: str, fine: bool
) -> None:
    await fit.config_set("appendfsync", appendfsync)
    assert ("durability" not in await failed(fit, durability=durability)) is fine


@pytest.mark.parametrize(
    ("profile", "url", "fine"),
    [
        ("dev", "redis://db", True),
        ("standard", "redis://db", False),
        ("standard", "rediss://db", True),
        ("strict", "unix:///run/valkey.sock", True),
    ],
)
async def test_connections_are_encrypted_outside_of_development(
    fit: Any, profile: str, url: str, fine: bool
) -> None:
    assert ("encryption" not in await failed(fit, url, profile=profile)) is fine


async def test_the_clock_of_the_test_kit_is_for_development_only(fit: Any) -> None:
    await fit.set(TOPOLOGY.key(1, "clock"), 1000)
    assert await failed(fit) == {}
    assert (await failed(fit, profile="standard"))["test clock"].vital


async def test_another_number_of_partitions_is_never_gone_on_with(fit: Any) -> None:
    found = await failed(fit, partitions=3)
    assert set(found) == {"deployment"}
    assert found["deployment"].fix == "Set HALTPOINT_PARTITIONS=2"
    with pytest.raises(HaltpointError, match="HP-016"):
        preflight.refuse(found.values(), allow_unsafe=True)


async def test_chains_of_another_release_are_named_and_never_gone_on_with(fit: Any) -> None:
    await fit.hdel("hp:{0}:deployment", "rows")
    assert await failed(fit) == {}
    await fit.zadd(TOPOLOGY.key(1, "index", "status", "executing"), {"c1": 1})
    found = await failed(fit)
    assert found["deployment"].what == "this Redis has 1 chain of another release under way"
    with pytest.raises(HaltpointError, match="HP-022"):
        preflight.refuse(found.values(), allow_unsafe=True)


@pytest.mark.parametrize(
    ("setting", "value", "back", "why"),
    [
        ("maxmemory", 1, 0, "its memory is full (OOM)"),
        (
            "min-replicas-to-write",
            1,
            0,
            "fewer replicas are connected than min-replicas-to-write asks for (NOREPLICAS)",
        ),
    ],
)
async def test_a_server_that_refuses_writes_is_found_out_by_one_that_changes_nothing(
    fit: Any, setting: str, value: int, back: int, why: str
) -> None:
    before = await fit.dbsize(), (await fit.info())["rdb_changes_since_last_save"]
    assert (await preflight.writes(fit, TOPOLOGY)).ok
    assert (await fit.dbsize(), (await fit.info())["rdb_changes_since_last_save"]) == before
    await fit.config_set(setting, value)
    try:
        check = await preflight.writes(fit, TOPOLOGY)
    finally:
        await fit.config_set(setting, back)
    assert (check.ok, check.code, check.why) == (False, "HP-021", why)
    assert check.fix


async def test_a_missing_or_foreign_library_is_never_gone_on_with(
    fit: Any, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "LIBRARY", "haltpoint_of_another_build")
    found = await failed(fit)
    assert found["functions"].fix == "Run: haltpoint init"
    with pytest.raises(HaltpointError, match="HP-014"):
        preflight.refuse(found.values(), allow_unsafe=True)
