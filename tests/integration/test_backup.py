"""docs/operations/backup.md, followed to the letter: a system is backed up while it runs, and is
there again after its data were lost.
"""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.base import request_id
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.rows import Head, Key
from tests.chaos.effects import provided
from tests.chaos.system import System, task, variables
from tests.support import wait_until

CHECKOUT = Path(__file__).parents[2]
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


def follow(heading: str, folder: Path, url: str = "") -> None:
    """Do what a section of the page says."""
    page = (CHECKOUT / "docs/operations/backup.md").read_text()
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    (commands,) = re.findall(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    cli = folder / "bin/valkey-cli"
    cli.parent.mkdir(exist_ok=True)
    cli.write_text(VALKEY_CLI)
    cli.chmod(0o755)
    variables = {
        "PATH": f"{cli.parent}:{os.environ['PATH']}",
        "URL": url,
        "DATA": str(folder / "data"),
        "BACKUP": str(folder / "backup"),
    }
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], env=variables, check=True)


def system_at(folder: Path, name: str) -> System:
    """A system on the data of this folder."""
    (own := folder / name).mkdir()
    return System(own, server=EmbeddedServer(folder / "data", grace=1.0))


async def come_up(system: System) -> None:
    for party in (Party.EXECUTOR, Party.WORKER):
        await system.host(party)


async def test_a_backup_of_a_running_system_brings_its_chains_and_questions_back(
    tmp_path: Path,
) -> None:
    before = system_at(tmp_path, "before")
    with before.server:
        async with before as system:
            await come_up(system)
            system.person.away = True
            done, waits = (
                await system.submit(task("send")),
                await system.submit(task("ask", "send")),
            )
            await wait_until(lambda: system.is_over(done))
            await wait_until(lambda: system.person.sees(request_id(waits, 1)))
            await asyncio.to_thread(follow, "Back up", tmp_path, system.server.url)
            later = await system.submit(task("send"))
            await wait_until(lambda: system.is_over(later))
    await asyncio.to_thread(follow, "Restore", tmp_path)
    after = system_at(tmp_path, "after")
    with after.server:
        init = await asyncio.to_thread(
            CliRunner().invoke, app, ["init"], env=variables(after.settings)
        )
        assert init.exit_code == 0
        async with after as system:
            await come_up(system)
            system.accepted = [done, waits]
            await system.settle()
            keys = [system.topology.key_of(Key.CHAIN, chain) for chain in (done, waits, later)]
            status = [await system.redis.hget(key, Head.STATUS) for key in keys]
            assert status == [b"completed", b"completed", None]
    effects = [effect.key for effect in provided(before.history) if effect.effects == "other"]
    assert effects == [f"{done}.s0.1", f"{later}.s0.1", f"{waits}.s1.1"]
