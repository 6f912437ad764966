"""`haltpoint up`: what cannot come up says why, once, and ends; what is up stays up, and stops when
it is told to.
"""

import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from haltpoint.cli.gateway import ADDRESS_FILE, KEY_FILE
from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.runtime.service.embedded import EmbeddedServer, running
from haltpoint.runtime.streams.connection import connect
from tests.e2e.running import CHECKOUT, HALTPOINT, answers, finished
from tests.support import PATIENCE, wait_until


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    return {
        **os.environ,
        "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "HALTPOINT_TOOLS": "tests.e2e.tools",
        **variables,
    }


def up(tmp_path: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return finished([*HALTPOINT, "up", *words], environment(tmp_path, **variables))


@pytest.mark.parametrize("words", [(), ("--workers", "2")])
def test_a_port_in_use_is_one_error_and_nothing_is_started(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = up(tmp_path, *words, HALTPOINT_GATEWAY__PORT=port)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "HP-" in line]
    assert errors == [f"HP-003 127.0.0.1:{port} cannot be used: Address already in use."]
    assert "starts again" not in done.stderr
    assert done.stdout == ""


def test_a_service_that_can_never_start_ends_it(tmp_path: Path) -> None:
    done = up(tmp_path, HALTPOINT_SLOTS="1")
    assert done.returncode == 1
    assert "failed to start and will not be retried" in done.stderr
    assert "starts again" not in done.stderr
    assert "HP-001 1 slots are too few" in done.stderr + done.stdout


def test_a_mistake_in_a_tools_module_is_all_that_is_said_and_nothing_is_started(
    tmp_path: Path,
) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from haltpoint import tool\n\n@tool(readonly=True)\ndef act(): ...\n")
    done = up(tmp_path, HALTPOINT_TOOLS="wrong", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stdout == ""
    what, fix = done.stderr.strip().splitlines()
    assert what.startswith("HP-030 the tools module 'wrong' cannot be used: tool 'act' (")
    assert f"{wrong}:3): readonly (did you mean read_only?)" in what
    assert fix == "Change this declaration, and start again"
    assert not (tmp_path / "state").exists()


def test_a_rule_for_notices_that_leads_nowhere_is_all_that_is_said_and_nothing_is_started(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[notify]]\nname = "n"\nwebhook = "http://h/x"\nsecret_env = "NOT_SET"\n')
    done = up(tmp_path, HALTPOINT_POLICY_FILE=str(policy))
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("HP-006 ")
    assert not (tmp_path / "state").exists()


@asynccontextmanager
async def come_up(tmp_path: Path, *words: str, **variables: str) -> AsyncIterator[Path]:
    """A system that is ready, and its log; it must end well."""
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: ASYNC220 - it is a child of this test, not of its loop
            [*HALTPOINT, "up", *words],
            env=environment(tmp_path, **variables),
            cwd=CHECKOUT,
            stdout=log,
            stderr=log,
        )
    try:
        await wait_until((tmp_path / "state" / ADDRESS_FILE).exists)
        yield tmp_path / "log"
    finally:
        process.terminate()
        code = process.wait(PATIENCE)
    assert code == 0, (tmp_path / "log").read_text()


async def test_the_server_is_started_again_on_its_data_and_chains_go_on(tmp_path: Path) -> None:
    data = tmp_path / "state" / "data"
    plan = {"steps": [{"id": "a", "required_tools": ["publish"], "actions": [
        {"tool": "publish", "arguments": {"page": "news"}}]}]}  # fmt: skip
    async with come_up(tmp_path) as log:
        url = (tmp_path / "state" / ADDRESS_FILE).read_text().strip()
        async with Client(url, (tmp_path / "state" / KEY_FILE).read_text().strip()) as client:
            run = await client.run(task={"goal": "Publish the news", "plan": plan})
            request = await run.expects_request("confirmation")
            async with connect(running(data) or "") as redis:
                before = (await redis.info("server"))["process_id"]
                os.kill(before, signal.SIGKILL)

            async def is_ready_again() -> bool:
                if running(data) is None:
                    return False
                async with connect(running(data) or "") as redis:
                    if (await redis.info("server"))["process_id"] == before:
                        return False
                return await answers(f"{url}/readyz")

            await wait_until(is_ready_again)
            await client.answer(request.id, decision="approve")
            assert (await run.result()).status == "completed"
        ended = [line for line in log.read_text().splitlines() if "ended (" in line]
        assert ended == ["the embedded server ended (SIGKILL), starts again in 0.1 s"]


async def test_everything_stops_by_itself_also_while_the_server_is_away(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        variables = {"HALTPOINT_REDIS_URL": server.url, "HALTPOINT_ALLOW_UNSAFE": "true"}
        env = environment(tmp_path, **variables)
        subprocess.run([*HALTPOINT, "init"], env=env, cwd=CHECKOUT, check=True)  # noqa: ASYNC221
        async with come_up(tmp_path, **variables) as log:
            server.kill()
    assert "is killed" not in log.read_text()


SHOP = """
import asyncio
from pathlib import Path
from haltpoint import tool

@tool(read_only=True)
async def stock(folder: str) -> str:
    Path(folder, "begun").touch()
    while not Path(folder, "enough").exists():
        await asyncio.sleep(0.02)
    return "plenty"
"""


async def test_up_reloads_tools_whose_files_change_and_loses_no_running_call(
    tmp_path: Path,
) -> None:
    (shop := tmp_path / "shop.py").write_text(SHOP)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    async with come_up(tmp_path, "--reload", HALTPOINT_TOOLS="shop", PYTHONPATH=path) as log:
        key = (tmp_path / "state" / KEY_FILE).read_text().strip()
        url = (tmp_path / "state" / ADDRESS_FILE).read_text().strip()
        async with Client(url, key) as client:
            call = {"tool": "stock", "arguments": {"folder": str(tmp_path)}}
            run = await client.run(task={"plan": {"steps": [{"id": "in", "actions": [call]}]}})
            await wait_until((tmp_path / "begun").exists)

            shop.write_text(SHOP.replace("stock", "shelf") + SHOP)

            await wait_until(lambda: "shop.py changed: reloading the tools" in log.read_text())
            (tmp_path / "enough").touch()
            result = await run.result()
            assert result.status == "completed"
            assert result.chain.steps[0].actions[0].receipt is not None
            assert result.chain.steps[0].actions[0].receipt.metadata.attempt == 1

            async def offered() -> bool:
                return "shelf" in {one.name for one in await client.tools()}

            await wait_until(offered)
