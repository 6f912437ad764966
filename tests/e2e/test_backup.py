"""docs/operations/backup.md, followed to the letter: a system is backed up while it runs, and is
there again after its data were lost.
"""

import asyncio
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.runtime.service import embedded
from tests.e2e.agents import AGENTS_FILE
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.running import CHECKOUT, Running

VALKEY_CLI = f"""#!{sys.executable}
import sys
from redis import Redis
_, option, url, *words = sys.argv
assert option == "-u"
reply = Redis.from_url(url, decode_responses=True).execute_command(*words)
for name, text in (reply.items() if isinstance(reply, dict) else [("", reply)]):
    print(f"{{name}}:{{text}}" if name else text)
"""
"""As much of it as the page needs: not every machine has one."""


def commands(heading: str) -> str:
    """The shell commands of a section of the page."""
    page = (CHECKOUT / "docs/operations/backup.md").read_text()
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    (block,) = re.findall(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return str(block)


def follow(heading: str, folder: Path, url: str = "") -> None:
    """Do what the section says."""
    cli = folder / "bin/valkey-cli"
    cli.parent.mkdir(exist_ok=True)
    cli.write_text(VALKEY_CLI)
    cli.chmod(0o755)
    variables = {
        "PATH": f"{cli.parent}:{os.environ['PATH']}",
        "URL": url,
        "DATA": str(folder / "state/data"),
        "BACKUP": str(folder / "backup"),
    }
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands(heading)], env=variables, check=True)


def address(system: Running) -> str:
    found = embedded.running(system.state_dir / "data")
    assert found is not None
    return found


@dataclass
class Chains:
    """Before the backup one is done and one asks which `request` is meant; one comes later."""

    done: str
    waits: str
    request: str
    later: str


async def back_up(system: Running, folder: Path) -> Chains:
    async with Client(system.url, system.key) as client:
        done = await client.run("Tell Jane hello")
        assert (await done.result()).status == "completed"
        waits = await client.run("Tell John I'm running late")
        request = await waits.expects_request("clarification")
        follow("Back up", folder, address(system))
        later = await client.run("Tell Jane good night")
        assert (await later.result()).status == "completed"
        return Chains(done.id, waits.id, request.id, later.id)


async def look(system: Running, chains: Chains) -> None:
    async with Client(system.url, system.key) as client:
        assert (await client.chain(chains.done)).status == "completed"
        with pytest.raises(GatewayError, match="chain"):
            await client.chain(chains.later)
        await client.answer(chains.request, option_id="user_abc123")
        assert (await client.attach(chains.waits).result()).status == "completed"
    assert [sent.to for sent in system.sent(chains.waits)] == ["user_abc123"]
    assert len(system.sent(chains.done)) == 1


def test_a_backup_of_a_running_system_brings_its_chains_and_questions_back(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text(AGENTS_FILE)
    with run_system(tmp_path, Receiver()) as system:
        chains = asyncio.run(back_up(system, tmp_path))
    follow("Restore", tmp_path)
    with run_system(tmp_path, Receiver()) as system:
        assert system.command("init").returncode == 0
        asyncio.run(look(system, chains))
