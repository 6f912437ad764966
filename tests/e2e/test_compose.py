"""docker-compose.yml names commands and settings that work: its services run here as processes, as
it says.
"""

import asyncio
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from haltpoint.cli.local.system import free_port
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.topology import Topology
from tests.e2e.running import CHECKOUT, HALTPOINT
from tests.support import PATIENCE, wait_until
from tests.support.compose import COMPOSE

SERVICES = ("planner", "executor", "tool-worker", "gateway")


def environment(name: str, changed: dict[str, str]) -> dict[str, str]:
    """The service's own settings, with what cannot be the same outside a container changed."""
    named = {
        key: value
        for key, value in COMPOSE["services"][name].get("environment", {}).items()
        if key not in changed
    }
    plain = {key: str(value) for key, value in named.items() if "${" not in str(value)}
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HALTPOINT_", "OTEL_", "COV_"))
    }
    return {**clean, **plain, **{key: value for key, value in changed.items() if value}}


def test_all_four_services_and_the_job_come_from_one_image() -> None:
    images = {COMPOSE["services"][name]["image"] for name in (*SERVICES, "init")}
    assert len(images) == 1
    assert all("container_name" not in service for service in COMPOSE["services"].values())
    assert {
        name
        for name, service in COMPOSE["services"].items()
        if "obs" in service.get("profiles", [])
    } == {
        "collector",
        "jaeger",
    }


async def test_the_commands_of_the_services_run_and_all_get_ready(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server, ExitStack() as stack:
        changed = {
            "HALTPOINT_REDIS_URL": server.url,
            "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
            "HALTPOINT_GATEWAY__PORT": str(free_port()),
            "HALTPOINT_GATEWAY__ADMIN_KEY": "a-key-chosen-by-the-operator",
            "HALTPOINT_MODEL__BASE_URL": "http://127.0.0.1:9/v1",
            "HALTPOINT_MODEL__NAME": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "",
        }
        # The test's machine is no container network: the gateway listens on this machine only.
        changed["HALTPOINT_GATEWAY__HOST"] = "127.0.0.1"
        log = stack.enter_context((tmp_path / "log").open("wb"))

        def start(name: str) -> subprocess.Popen[bytes]:
            command = [*HALTPOINT, *COMPOSE["services"][name]["command"]]
            return subprocess.Popen(
                command, env=environment(name, changed), cwd=CHECKOUT, stdout=log, stderr=log
            )

        assert await asyncio.to_thread(start("init").wait, PATIENCE) == 0, (
            tmp_path / "log"
        ).read_text()
        started = [start(name) for name in SERVICES]
        for process in started:
            stack.callback(process.wait, PATIENCE)
            stack.callback(process.terminate)
        async with connect(server.url) as redis:

            async def are_ready() -> bool:
                assert not any(process.poll() for process in started), (
                    tmp_path / "log"
                ).read_text()[-3000:]
                return sorted(one["name"] for one in await alive(redis, Topology(4))) == sorted(
                    SERVICES
                )

            await wait_until(are_ready)


@pytest.mark.parametrize("name", ["collector", "valkey"])
def test_the_files_that_the_compose_file_mounts_are_there(name: str) -> None:
    for volume in COMPOSE["services"][name]["volumes"]:
        if volume.startswith("./"):
            assert (CHECKOUT / volume.split(":")[0]).is_file()
