"""What a running system is to a test."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from examples.contacts.outbox import Message, Outbox
from haltpoint.cli.main import app

HALTPOINT = (sys.executable, "-m", "haltpoint")
CHECKOUT = Path(__file__).parents[2]
MODELS = {"well-behaved": "Tell", "careless": "Message"}


@dataclass(frozen=True)
class Running:
    """A system that is up. `environment` is what a command needs to find it."""

    url: str
    key: str
    state_dir: Path
    outbox: Outbox
    environment: dict[str, str]

    def sent(self, chain_id: str) -> list[Message]:
        """What this chain has sent."""
        return [message for message in self.outbox.read() if message.key.startswith(f"{chain_id}.")]

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `haltpoint` with these words as a person would beside this system, but in this process: it is quicker."""
        done = CliRunner().invoke(app, words, env=self.environment, prog_name="haltpoint")
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    async def typed(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same from a test that has an event loop."""
        return await asyncio.to_thread(self.command, *words)

    def process(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same in a process of its own."""
        return subprocess.run(
            [*HALTPOINT, *words],
            env=self.environment,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=45,
            check=False,
        )


def script_for(word: str, name: str) -> list[dict[str, Any]]:
    """The rules of one of the example's scripts, for goals that begin with `word` only."""
    text = (resources.files("haltpoint.testing") / "scripts" / f"{name}.json").read_text()
    rules: list[dict[str, Any]] = json.loads(text.replace("(?:tell|message)", word.lower()))["rules"]
    for rule in rules:
        rule["when"].setdefault("goal", f"(?i)^{word}")
    return rules
