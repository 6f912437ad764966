"""What a running system is to a test."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import httpx
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.examples.contacts.outbox import Message, Outbox
from haltpoint.runtime.service.embedded import running
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.presence import alive
from haltpoint.runtime.streams.topology import Topology
from tests.e2e.tools import diary
from tests.support import PATIENCE, wait_until

HALTPOINT = (sys.executable, "-m", "haltpoint")
CHECKOUT = Path(__file__).parents[2]
MODELS = {"well-behaved": "Tell", "careless": "Message"}


def finished(
    words: Sequence[str], environment: Mapping[str, str], within: float = PATIENCE
) -> "subprocess.CompletedProcess[str]":
    """A command that has run to its end."""
    return subprocess.run(
        words,
        env=environment,
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )


async def answers(url: str) -> bool:
    """Whether a GET of this is answered well."""
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            return (await http.get(url)).is_success
        except httpx.HTTPError:
            return False


@dataclass(frozen=True)
class Running:
    """A system that is up. `environment` is what a command needs to find it."""

    url: str
    key: str
    state_dir: Path
    outbox: Outbox
    environment: dict[str, str]

    @property
    def redis_url(self) -> str:
        """Where its server is: that of a topology, or the embedded one."""
        url = self.environment.get("HALTPOINT_REDIS_URL") or running(self.state_dir / "data")
        assert url is not None
        return url

    def sent(self, chain_id: str) -> list[Message]:
        """What this chain has sent."""
        return [message for message in self.outbox.read() if message.key.startswith(f"{chain_id}.")]

    def written(self, chain_id: str) -> list[str]:
        """What the tools of this chain, and of those that it called, have done, as the diary
        tells.
        """
        kept = diary(self.outbox.path)
        lines = kept.read_text().splitlines() if kept.exists() else []
        return [
            line.partition(" ")[2]
            for line in lines
            if line.startswith((f"{chain_id}.", f"{chain_id}~"))
        ]

    def release(self, action_id: str) -> None:
        """Let a waiting `note_down` end."""
        diary(self.outbox.path).with_name(action_id).touch()

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `haltpoint` with these words as a person would beside this system, but in this
        process: it is quicker.
        """
        done = CliRunner().invoke(app, words, env=self.environment, prog_name="haltpoint")
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    async def typed(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same from a test that has an event loop."""
        return await asyncio.to_thread(self.command, *words)

    def process(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """The same in a process of its own, with more environment variables."""
        return finished([*HALTPOINT, *words], {**self.environment, **variables})


async def services(system: Running) -> list[JsonObject]:
    """What the services that are ready say of themselves."""
    topology = Topology(int(system.environment.get("HALTPOINT_PARTITIONS", "4")))
    async with connect(system.redis_url) as redis:
        return await alive(redis, topology)


@asynccontextmanager
async def executors_killed(system: Running, party: Party = Party.EXECUTOR) -> AsyncIterator[None]:
    """Kill the executors, or the processes of another service, at once; at the end wait until one
    is back.
    """
    redis = connect(system.redis_url)
    topology = Topology(int(system.environment.get("HALTPOINT_PARTITIONS", "4")))

    async def living() -> set[str]:
        return {
            one["instance"] for one in await alive(redis, topology) if one["name"] == party.value
        }

    async def kill() -> bool:
        """Whether one was there to be killed: who died a moment ago is still listed."""
        gone = await living() - before
        before.update(gone)
        killed = 0
        for instance in gone:
            with suppress(ProcessLookupError):
                os.kill(int(instance.split("-")[-2]), signal.SIGKILL)
                killed += 1
        return killed > 0

    async def back() -> bool:
        return bool(await living() - before)

    before: set[str] = set()
    try:
        await wait_until(kill)
        yield
        await wait_until(back)
    finally:
        await redis.aclose()


def script_for(word: str, name: str) -> list[JsonObject]:
    """The rules of one of the example's scripts, for goals that begin with `word` only."""
    text = (resources.files("haltpoint.testing") / "scripts" / f"{name}.json").read_text()
    rules: list[JsonObject] = json.loads(text.replace("(?:tell|message)", word.lower()))["rules"]
    for rule in rules:
        rule["when"].setdefault("goal", f"(?i)^{word}")
    return rules
