"""A model that cannot answer, over real processes: the chain waits, and a person at a terminal sees
why within ten seconds.
"""

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from haltpoint.cli.gateway import ADDRESS_FILE, KEY_FILE
from haltpoint.cli.local.system import free_port
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from tests.e2e.running import CHECKOUT, HALTPOINT, Running, script_for
from tests.e2e.test_terminal import at_terminal
from tests.support import wait_until
from tests.support.processes import until

PORT = free_port()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Four services, and no model yet."""
    folder = tmp_path_factory.mktemp("away")
    state, outbox = folder / "state", Outbox(folder / "outbox.jsonl")
    environment = {
        **os.environ,
        "HALTPOINT_STATE_DIR": str(state),
        "HALTPOINT_TOOLS": "haltpoint.examples.contacts.tools",
        "HALTPOINT_MODEL__BASE_URL": f"http://127.0.0.1:{PORT}/v1",
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "CONTACTS_OUTBOX": str(outbox.path),
    }
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*HALTPOINT, "up"], env=environment, cwd=CHECKOUT, stdout=log, stderr=log
        ) as process,
    ):
        try:
            until((state / ADDRESS_FILE).exists)
            url, key = [(state / name).read_text().strip() for name in (ADDRESS_FILE, KEY_FILE)]
            yield Running(url, key, state, outbox, environment)
        finally:
            process.terminate()


def test_at_a_terminal_it_is_said_within_ten_seconds_that_no_model_is_there(
    system: Running,
) -> None:
    words = ("run", "--watch", "Tell Lena Meyer I'm running late")
    with at_terminal(system, *words, columns=120) as terminal:
        terminal.until("HP-302")
        terminal.until("HALTPOINT_MODEL__BASE_URL")


def test_at_a_terminal_it_is_said_within_ten_seconds_that_a_model_is_silent(
    system: Running,
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", PORT))
        silent.listen()
        words = ("run", "--watch", "Tell Lena Meyer I'm running late")
        with at_terminal(system, *words, columns=120) as terminal:
            terminal.until("has not replied")


async def test_what_waited_goes_on_when_the_model_is_there(system: Running) -> None:
    done = await system.typed("run", "--detach", "Tell Lena Meyer I'm running late")
    chain = done.stdout.strip()

    async def shown() -> str:
        return (await system.typed("chain", "show", chain)).stdout

    async def waits() -> bool:
        return "HP-302" in await shown()

    async def asks() -> bool:
        return "STOP" in await shown()

    await wait_until(waits)
    script = Script.model_validate({"rules": script_for("Tell", "contacts_good")})
    async with ScriptedModel(script, port=PORT):
        await wait_until(asks)
    assert "HP-302" not in await shown()
