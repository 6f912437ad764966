"""Five hundred notices, by mail and by a webhook that fails, while the gateway is killed ten
times; and chains beside services that hang, fail or are gone.
"""

import asyncio
import os
import signal
import socket
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.results import Outcome
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams import presence
from tests.e2e.running import HALTPOINT
from tests.integration.gateway.conftest import ADMIN, LOOKUP, System, system
from tests.integration.gateway.test_notices import SECRET, Mailbox, Receiver, listening, rule
from tests.integration.gateway.test_with_executor import WHICH_JOHN
from tests.support import wait_until
from tests.support.builders import OK
from tests.support.recording_worker import recording_worker

__all__ = ["system"]

KILLS = 10
QUESTIONS = 25
"""Between two kills; each makes two notices."""


BLOCKS, CHAINS = 20, 25
"""Chains of a block run beside a gateway that sends notices, those of the next while it stands."""
LATER = 50.0
"""Milliseconds by which a chain may be later beside services that fail."""
EVERY = 0.1
"""Seconds from one question to the next meanwhile."""


@asynccontextmanager
async def killed(folder: Path, environment: dict[str, str], *services: str) -> AsyncIterator[int]:
    """A gateway, or other services, as a process of its own, until it is killed; its id."""
    with (folder / "services.log").open("a") as log:
        process = await asyncio.create_subprocess_exec(
            *HALTPOINT,
            *("up", *(services or ("gateway",))),
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def variables(server: EmbeddedServer, folder: Path, policy: str = "") -> dict[str, str]:
    """The environment of services with this policy file."""
    folder.mkdir(exist_ok=True)
    file = folder / "policy.toml"
    file.write_text(policy)
    return {
        **os.environ,
        "DESK_SECRET": SECRET,
        "HALTPOINT_REDIS_URL": server.url,
        "HALTPOINT_PARTITIONS": "2",
        "HALTPOINT_STATE_DIR": str(folder),
        "HALTPOINT_POLICY_FILE": str(file),
        "HALTPOINT_GATEWAY__PORT": "0",
        "HALTPOINT_GATEWAY__ADMIN_KEY": ADMIN,
    }


@pytest.mark.timeout(900)
async def test_every_notice_arrives_though_its_gateway_is_killed(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver, mailbox = Receiver(lambda nth: 503 if nth == 1 else 200), Mailbox()
    loop = asyncio.get_running_loop()
    mails = await loop.create_server(lambda: SMTP(mailbox, loop=loop), "127.0.0.1", 0)
    mail_url = f"mailto://127.0.0.1:{mails.sockets[0].getsockname()[1]}"
    mail = f'[[notify]]\nname = "mail"\nurl = "{mail_url}?from=a@x.com&to=b@x.com&mode=insecure"\n'
    asked: set[str] = set()

    async def ask() -> None:
        chain = await system.submit()
        for _ in range(QUESTIONS):
            asked.add(await system.ask(chain))

    async with mails, listening(receiver) as where:
        environment = variables(server, tmp_path, rule(where) + mail)
        for _ in range(KILLS):
            seen = len(receiver.tries)
            async with killed(tmp_path, environment):
                await ask()
                await wait_until(partial(_has_more, receiver, seen))
        async with killed(tmp_path, environment):
            await wait_until(lambda: len(receiver.ids()) == len(asked), timeout=300)
            await wait_until(lambda: _mailed(mailbox, asked) == asked, timeout=600)
    assert receiver.ids() == {f"desk/{request}/opened" for request in asked}


def _has_more(receiver: Receiver, seen: int) -> bool:
    return len(receiver.tries) > seen


def _mailed(mailbox: Mailbox, asked: set[str]) -> set[str]:
    """The questions that a mail has announced."""
    texts = "".join(mail.as_string().replace("=\n", "") for mail in mailbox.mails)
    return {request for request in asked if request in texts}


def _act(_: ToolRequested, arguments: str) -> tuple[Outcome, str]:
    """John has to be chosen, all others are found."""
    return (WHICH_JOHN, "{}") if "John" in arguments else (OK, '{"contact_id":"u1"}')


async def _ready(system: System, party: Party) -> bool:
    alive = await presence.alive(system.redis, system.topology)
    return party.value in {service["name"] for service in alive}


async def _ms(system: System) -> float:
    """From a chain's beginning to its end, by the clock of Redis."""
    reply = await system.http.post("/v1/tasks", json=_tell("Jane"))
    name = str(reply.json()["chain_id"])

    async def ended() -> bool:
        return bool((await system.get(f"chains/{name}"))["answer"])

    await wait_until(ended)
    chain = await system.get(f"chains/{name}")
    begun, end = (datetime.fromisoformat(chain[f"{at}_at"]) for at in ("created", "updated"))
    return (end - begun) / timedelta(milliseconds=1)


def _tell(whom: str) -> JsonObject:
    calls = [{"tool": "lookup_contacts", "arguments": {"query": whom}}]
    return {"goal": whom, "plan": {"steps": [{"id": "find", "actions": calls}]}}


def _shown(name: str, taken: list[float]) -> str:
    """The figures of some chains, in ms."""
    cuts = statistics.quantiles(taken, n=100)
    return f"{name}: p50 {cuts[49]:.0f}, p95 {cuts[94]:.0f}, p99 {cuts[98]:.0f} ms"


@pytest.mark.timeout(600)
async def test_no_chain_is_later_beside_services_that_fail(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver(lambda _: 503)
    hanging = socket.create_server(("127.0.0.1", 0), backlog=4096)  # and no one accepts
    port = hanging.getsockname()[1]

    async def ask() -> None:
        while True:
            await system.http.post("/v1/tasks", json=_tell("John"))
            await asyncio.sleep(EVERY)

    async with listening(receiver) as failing:
        services = {
            "fails": rule(failing),
            "hangs": rule(f"http://127.0.0.1:{port}/"),
            "gone": rule("http://127.0.0.1:9/"),
            "apprise": f'[[notify]]\nname = "desk"\nurl = "json://127.0.0.1:{port}/"\n',
        }
        policy = "".join(text.replace('"desk"', f'"{name}"', 1) for name, text in services.items())
        environment = variables(server, tmp_path, policy)
        taken: dict[bool, list[float]] = {True: [], False: []}
        async with (
            recording_worker(server.url, system.topology, LOOKUP, act=_act),
            killed(tmp_path, environment, "executor"),
            killed(tmp_path, environment) as gateway,
        ):
            await wait_until(lambda: _ready(system, Party.EXECUTOR))
            asking = asyncio.create_task(ask())
            await wait_until(lambda: len(receiver.tries) > 2)
            for block in range(BLOCKS):
                is_sending = block % 2 == 0
                os.killpg(gateway, signal.SIGCONT if is_sending else signal.SIGSTOP)
                taken[is_sending] += [await _ms(system) for _ in range(CHAINS)]
            asking.cancel()
            notices = await system.gateway.outbox.failing()
    hanging.close()
    assert {notice.rule for notice in notices} == {*services}, "all of them failed"
    print(f"\n{_shown('without notices', taken[False])}\n{_shown('with notices', taken[True])}")
    print(f"{len(notices)} notices of {len(receiver.tries)} questions were failing")
    pairs = zip(sorted(taken[False]), sorted(taken[True]), strict=True)
    late = [after - before for before, after in pairs]
    assert statistics.quantiles(late, n=100)[98] < LATER
