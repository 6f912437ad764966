"""What the doctor finds beside the server: each fault with what to do."""

import socket
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from haltpoint.cli.local import diagnosis
from haltpoint.cli.local.diagnosis import Scene, look_around
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config.settings import GatewaySettings, ModelSettings, Settings
from haltpoint.runtime.service.preflight import Check
from haltpoint.runtime.streams.presence import Presence, alive
from haltpoint.runtime.streams.topology import Topology
from haltpoint.testing.script_model import ScriptedModel
from tests.integration.planning import script

TOOLS = {name: ToolSpec(name=name, queue="shop") for name in ("find", "find~undo")}


@pytest.fixture
async def topology(redis: Redis) -> Topology:
    topology = Topology(2)
    await topology.ensure(redis, ["shop"])
    return topology


async def looked(redis: Redis, topology: Topology, folder: Path, **given: Any) -> dict[str, Check]:
    settings = Settings(partitions=2, state_dir=folder, allow_unsafe=True, **given)
    scene = Scene(settings, topology, redis, TOOLS, await alive(redis, topology))
    return {one.check: one for one in await look_around(scene)}


async def test_a_deployment_that_is_not_started_has_no_fault(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    checks = await looked(redis, topology, tmp_path / "not-there-yet")
    assert [name for name, check in checks.items() if not check.ok] == []
    assert checks["tools"].what == "workers serve 1 tool; the settings name no module"
    assert checks["services"].what == "none runs: haltpoint up starts them"
    assert checks["questions"].what == "0 questions open: haltpoint inbox shows them"


async def test_a_model_that_answers_and_one_that_is_away(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    async with ScriptedModel(script()) as model:
        there = ModelSettings(base_url=model.base_url, name="scripted")
        checks = await looked(redis, topology, tmp_path, model=there)
        assert checks["model"].ok, checks["model"]
    away = (await looked(redis, topology, tmp_path, model=there))["model"]
    assert (away.ok, away.code, away.why) == (False, "HP-302", "it does not answer")
    named = ModelSettings(base_url="http://ann:hush-hush@127.0.0.1:1/v1", name="m")
    away = (await looked(redis, topology, tmp_path, model=named))["model"]
    assert away.what == "m at http://ann:***@127.0.0.1:1/v1"


async def test_tools_that_cannot_be_imported_and_a_port_in_use(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway = GatewaySettings(port=taken.getsockname()[1])
        given = {"tools": ("no.such.module",), "gateway": gateway}
        checks = await looked(redis, topology, tmp_path, **given)
    assert (checks["tools"].ok, checks["tools"].code) == (False, "HP-030")
    assert (checks["port"].ok, checks["port"].code) == (False, "HP-003")
    any_port = await looked(redis, topology, tmp_path, gateway=GatewaySettings(port=0))
    assert any_port["port"].what.startswith(diagnosis.NONE)


async def test_a_rule_of_the_policy_file_that_is_about_no_tool(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[approvals]]\nid = "ask"\ntools = ["fnd", "f*"]\n')
    policy = (await looked(redis, topology, tmp_path, policy_file=file))["policy"]
    assert (policy.ok, policy.code) == (False, "HP-004")
    assert policy.why == "'ask' names 'fnd', but no tool has such a name; did you mean find?"
    file.write_text('[[approvals]]\nid = "ask"\ntools = ["f*"]\n')
    assert (await looked(redis, topology, tmp_path, policy_file=file))["policy"].ok


async def test_a_service_that_is_missing_beside_others(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    for name in ("gateway", "planner", "executor"):
        await Presence(topology, name, f"{name}-1", 0).renew(redis, {})
    services = (await looked(redis, topology, tmp_path))["services"]
    assert (services.ok, services.what) == (False, "1 executor, 1 gateway, 1 planner")
    assert (services.why, services.fix) == (
        "tool-worker does not run",
        "Start it: haltpoint up tool-worker",
    )


async def test_a_reader_that_is_gone_and_holds_messages(
    redis: Redis, topology: Topology, tmp_path: Path
) -> None:
    stream = topology.stream(1, Stream.TOOLS, "shop")
    await redis.xadd(stream, {"x": "y"})
    await redis.xreadgroup(GROUP[Stream.TOOLS].value, "worker-that-died", {stream: ">"})
    checks = await looked(redis, topology, tmp_path)
    gone = checks["consumers"]
    assert (gone.ok, gone.what) == (False, "1 message under way")
    assert gone.why == "worker-that-died does not run and holds 1 message"


async def test_a_disk_that_is_nearly_full(
    redis: Redis, topology: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "_ROOM", 1 << 60)
    disk = (await looked(redis, topology, tmp_path))["disk"]
    assert not disk.ok
    assert disk.why == "less than 1 GiB is free"
