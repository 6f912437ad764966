"""docker-compose.yml names commands, settings and checks that work: its services run here as
processes on this machine, as it says, and the demo's story passes.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import yaml
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.contracts.base import JsonObject
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.runtime.service.embedded import find_binary
from haltpoint.runtime.streams.topology import PREFIX
from tests.e2e.otlp import Receiver
from tests.e2e.running import CHECKOUT, HALTPOINT, answers, script_for
from tests.support import PATIENCE, wait_until
from tests.support.compose import COMPOSE, SERVICES, environment, interpolated

OURS: Final = ("planner", "executor", "tool-worker", "gateway")
OBSERVERS: Final = {"jaeger", "prometheus"}
KEY: Final = "a-key-chosen-by-the-operator"
CHOSEN: Final = {"HALTPOINT_GATEWAY__ADMIN_KEY": KEY, "COMPOSE_PROFILES": "obs"}


@dataclass
class Machine:
    """The containers as processes: an address inside of the container network is one of this
    machine.
    """

    folder: Path
    variables: dict[str, str]
    addresses: dict[str, str]
    """By `host:port` of the network."""
    ports: dict[str, int] = field(default_factory=dict)
    """Of the checks, by service: in containers each may have the same."""

    def environment(self, service: str) -> dict[str, str]:
        """What Compose gives to the container, on this machine."""
        clean = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("HALTPOINT_", "OTEL_", "COV_"))
        }
        given = {
            name: self.here(text) for name, text in environment(service, self.variables).items()
        }
        gateway = service == "gateway"
        port = "HALTPOINT_GATEWAY__PORT" if gateway else "HALTPOINT_HEALTH_PORT"
        own = {port: str(self.ports[service])} if service in self.ports else {}
        state = {
            "HALTPOINT_STATE_DIR": str(self.folder / "state"),
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        return {**clean, **given, **own, **state}

    def here(self, text: str) -> str:
        """A text with the addresses of this machine."""
        for there, address in self.addresses.items():
            text = text.replace(there, address)
        return "127.0.0.1" if text == "0.0.0.0" else text

    def start(self, service: str) -> "subprocess.Popen[bytes]":
        """The command of a service."""
        with (self.folder / f"{service}.log").open("wb") as log:
            return subprocess.Popen(
                [*HALTPOINT, *SERVICES[service]["command"]],
                env=self.environment(service),
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    async def is_healthy(self, service: str) -> bool:
        """What the health check of a service says."""
        kind, program, *words = SERVICES[service]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        port = "8700" if service == "gateway" else "8701"
        words = [word.replace(f":{port}/", f":{self.ports[service]}/") for word in words]
        check = await asyncio.create_subprocess_exec(
            sys.executable, *words, stderr=asyncio.subprocess.DEVNULL
        )
        return await check.wait() == 0


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """The command of the service `valkey`, on a free port."""
    program, config = SERVICES["valkey"]["command"]
    mounts = dict(reversed(volume.split(":")[:2]) for volume in SERVICES["valkey"]["volumes"])
    port = free_port()
    assert program == "valkey-server"
    process = subprocess.Popen(
        [find_binary(), CHECKOUT / mounts[config], "--port", str(port), "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def play(script: Path, port: int) -> "subprocess.Popen[bytes]":
    """The model that the compose file expects on the host."""
    words = ["script-model", str(script), "--port", str(port)]
    return subprocess.Popen([*HALTPOINT, *words], stdout=subprocess.DEVNULL)


@asynccontextmanager
async def running(folder: Path, receiver: Receiver) -> AsyncIterator[Machine]:
    """All of the compose file that is ours, started in its order; stopped as `docker stop` does."""
    script = folder / "script.json"
    script.write_text(json.dumps({"model": "local", "rules": script_for("Tell", "contacts_good")}))
    model = free_port()
    with ExitStack() as stack:
        addresses = {
            "valkey:6379": f"127.0.0.1:{stack.enter_context(server(folder))}",
            "host.docker.internal:18080": f"127.0.0.1:{model}",
            "jaeger:4318": f"127.0.0.1:{receiver.port}",
        }
        ports = {service: free_port() for service in OURS}
        machine = Machine(folder, CHOSEN, addresses, ports)

        def stop(process: "subprocess.Popen[bytes]") -> None:
            process.terminate()
            assert process.wait(PATIENCE) == 0

        async def reached() -> bool:
            async with Redis.from_url(f"redis://{addresses['valkey:6379']}") as redis:
                try:
                    return bool(await redis.ping())
                except RedisConnectionError:
                    return False

        stack.callback(stop, play(script, model))
        await wait_until(reached)
        assert await asyncio.to_thread(machine.start("init").wait, PATIENCE) == 0
        for service in OURS:
            stack.callback(stop, machine.start(service))
        await wait_until(lambda: answers(f"http://127.0.0.1:{model}/v1/models"))
        yield machine


async def test_what_the_compose_file_starts_gets_healthy_and_tells_the_right_john(
    tmp_path: Path,
) -> None:
    receiver = Receiver()
    traces = receiver.start()
    try:
        async with running(tmp_path, receiver) as machine:
            for service in OURS:
                await wait_until(partial(machine.is_healthy, service))
            url = f"http://127.0.0.1:{machine.ports['gateway']}"
            async with Client(url, KEY) as client:
                run = await client.run("Tell John I'm running late")
                request = await run.expects_request("clarification")
                await client.answer(request.id, option_id="user_abc123")
                assert (await run.result()).status == "completed"
            (sent,) = Outbox(tmp_path / "outbox/outbox.jsonl").read()
            assert (sent.to, sent.content) == ("user_abc123", "I'm running late")
            await wait_until(lambda: bool(receiver.of_chain(run.id)))
    finally:
        traces.shutdown()
        traces.server_close()


def test_all_services_and_the_job_come_from_one_image_and_none_is_root_or_writes_to_it() -> None:
    for name in (*OURS, "init"):
        service = SERVICES[name]
        assert service["image"] == SERVICES["init"]["image"]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    assert all("container_name" not in service for service in SERVICES.values())
    last = (CHECKOUT / "deploy/Dockerfile").read_text().rpartition("FROM ")[2]
    assert int(re.findall(r"^USER (\d+)$", last, re.MULTILINE)[-1]) > 0


def test_each_service_has_a_health_check_and_waits_for_what_it_needs() -> None:
    for name, service in SERVICES.items():
        check = service["healthcheck"]
        assert check == {"disable": True} if name == "init" else "test" in check, name
    for name in OURS:
        assert SERVICES[name]["depends_on"] == {
            "init": {"condition": "service_completed_successfully"}
        }
    assert SERVICES["init"]["depends_on"] == {"valkey": {"condition": "service_healthy"}}


def test_only_the_profile_brings_observers_and_sends_traces_to_one_of_them() -> None:
    assert {name for name, each in SERVICES.items() if each.get("profiles") == ["obs"]} == OBSERVERS
    quiet = environment("executor", {})
    assert quiet["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
    assert environment("executor", CHOSEN)["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://jaeger:4318"
    assert interpolated(SERVICES["jaeger"]["image"], {}).startswith("jaegertracing/jaeger:2.")


def test_the_operator_chooses_the_admin_key_which_only_the_gateway_gets() -> None:
    with pytest.raises(LookupError, match="openssl rand"):
        environment("gateway", {})
    seen = [name for name in OURS if KEY in environment(name, CHOSEN).values()]
    assert seen == ["gateway"]


@pytest.mark.parametrize(
    ("variable", "service"),
    [
        ("HALTPOINT_REDIS_URL", "executor"),
        ("HALTPOINT_TOOLS", "tool-worker"),
        ("HALTPOINT_MODEL__BASE_URL", "planner"),
        ("HALTPOINT_MODEL__NAME", "planner"),
        ("HALTPOINT_MODEL__API_KEY", "planner"),
        ("HALTPOINT_GATEWAY__TRUSTED_PROXY", "gateway"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "gateway"),
    ],
)
def test_what_an_operator_exports_counts(variable: str, service: str) -> None:
    assert environment(service, {**CHOSEN, variable: "mine"})[variable] == "mine"


def test_ports_are_open_to_this_machine_alone() -> None:
    ports = [port for each in SERVICES.values() for port in each.get("ports", ())]
    assert len(ports) == 3
    assert all(interpolated(port, {}).startswith("127.0.0.1:") for port in ports)


def test_each_service_has_a_user_of_its_own_where_that_is_chosen(tmp_path: Path) -> None:
    users = yaml.safe_load((CHECKOUT / "deploy/acl/compose.yml").read_text())["services"]
    filled = subprocess.run(
        ["sh", "deploy/acl/fill", "deploy/acl/users.acl"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    passwords = dict(line.split("=") for line in filled.stderr.splitlines())
    for name in (*OURS, "init"):
        (url,) = users[name]["environment"].values()
        login = urlsplit(interpolated(url, passwords))
        assert login.username == ("operator" if name == "init" else name)
        assert f"user {login.username} on >{login.password} " in filled.stdout
        assert f"+fcall|{PREFIX}claim " in filled.stdout
        with pytest.raises(LookupError, match="fill"):
            interpolated(url, {})
    (mount,) = users["valkey"]["volumes"]
    assert mount.split(":")[1] == users["valkey"]["command"][-1]
    assert mount.split(":")[0].removeprefix("./") in (CHECKOUT / ".gitignore").read_text()


def test_the_files_that_the_compose_file_mounts_are_there() -> None:
    mounts = [volume for each in SERVICES.values() for volume in each.get("volumes", ())]
    files = [volume.split(":")[0] for volume in mounts if volume.startswith("./")]
    assert len(files) == 3
    assert all((CHECKOUT / file).is_file() for file in files)
    named = {volume.split(":")[0] for volume in mounts if not volume.startswith("./")}
    assert named == set(COMPOSE["volumes"])


def test_the_image_installs_dependencies_before_it_sees_the_code() -> None:
    text = (CHECKOUT / "deploy/Dockerfile").read_text()
    installed = text.index("--requirement wanted.txt")
    sources = re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE)
    before = re.findall(r"^COPY (?!--)(.+) \S+$", text[:installed], re.MULTILINE)
    assert before == ["requirements.lock pyproject.toml deploy/dependencies.py"]
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    for source in " ".join(sources).split():
        assert f"!{source}" in ignored
        assert (CHECKOUT / source).exists()


def test_the_dependencies_of_the_image_are_those_of_the_project() -> None:
    printed = subprocess.run(
        [sys.executable, "deploy/dependencies.py", "notices"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = printed.stdout.splitlines()
    wanted: JsonObject = {line.split(">=")[0]: line for line in lines}
    assert {"redis[hiredis]", "apprise", "standardwebhooks"} <= set(wanted)
    assert "pydantic-ai-slim" not in printed.stdout
