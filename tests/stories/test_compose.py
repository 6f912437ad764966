"""docker-compose.yml works: its services run here as processes on this machine, as it says, and the
demo's story passes. tests/e2e/test_compose.py has what the file says.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.runtime.service.embedded import find_binary
from tests.e2e.otlp import Receiver
from tests.e2e.running import CHECKOUT, HALTPOINT, answers, script_for
from tests.support import PATIENCE, wait_until
from tests.support.compose import SERVICES, environment

OURS = ("planner", "executor", "tool-worker", "gateway")
KEY = "a-key-chosen-by-the-operator"
CHOSEN = {"HALTPOINT_GATEWAY__ADMIN_KEY": KEY, "COMPOSE_PROFILES": "obs"}


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
