"""Five hundred notices, by mail and by a webhook that fails, while the gateway is killed ten
times.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP

from haltpoint.runtime.service.embedded import EmbeddedServer
from tests.e2e.running import HALTPOINT
from tests.integration.gateway.conftest import ADMIN, System, system
from tests.integration.gateway.test_notices import SECRET, Mailbox, Receiver, listening, rule
from tests.support import wait_until

__all__ = ["system"]

KILLS = 10
QUESTIONS = 25
"""Between two kills; each makes two notices."""


@asynccontextmanager
async def killed(folder: Path, environment: dict[str, str]) -> AsyncIterator[None]:
    """A gateway as a process of its own, until it is killed."""
    with (folder / "services.log").open("a") as log:
        process = await asyncio.create_subprocess_exec(
            *(*HALTPOINT, "up", "gateway"),
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
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
