"""R13: a server that refuses ends no process. All four services under load, and each refusal that
it can show.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import msgspec
import pytest
from redis.exceptions import ResponseError

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.streams.connection import connect
from haltpoint.testing.script_model import ScriptedModel
from tests.chaos.matrix import SCRIPT
from tests.chaos.system import KEY, System, task
from tests.support import wait_until
from tests.support.builders import open_task

Act = Callable[[System], Awaitable[None]]
SCRIPTS: list[asyncio.Task[None]] = []
SERVICES = (Party.EXECUTOR, Party.WORKER, Party.PLANNER, Party.GATEWAY)


async def memory_full(system: System) -> None:
    await system.redis.config_set("maxmemory", 1)


async def memory_back(system: System) -> None:
    await system.redis.config_set("maxmemory", 0)


async def no_replicas(system: System) -> None:
    await system.redis.config_set("min-replicas-to-write", 1)


async def replicas_back(system: System) -> None:
    await system.redis.config_set("min-replicas-to-write", 0)


async def failover(system: System) -> None:
    await system.redis.execute_command("REPLICAOF", "127.0.0.1", "1")


async def primary_again(system: System) -> None:
    await system.redis.execute_command("REPLICAOF", "NO", "ONE")


async def disk_full(system: System) -> None:
    """A directory in the snapshot's place: it cannot be written."""
    await system.redis.config_set("save", "3600 1000000")
    snapshot = system.folder / "data" / "dump.rdb"
    snapshot.unlink(missing_ok=True)
    (snapshot / "in the way").mkdir(parents=True)
    await saved(system, "err")


async def disk_free(system: System) -> None:
    snapshot = system.folder / "data" / "dump.rdb"
    (snapshot / "in the way").rmdir()
    snapshot.rmdir()
    await saved(system, "ok")


async def saved(system: System, status: str) -> None:
    await system.redis.bgsave()

    async def is_over() -> bool:
        return bool((await system.redis.info("persistence"))["rdb_last_bgsave_status"] == status)

    await wait_until(is_over)


async def endless_script(system: System) -> None:
    await system.redis.config_set("busy-reply-threshold", 1)

    async def run() -> None:
        async with connect(system.server.url, socket_timeout=600) as other:
            with pytest.raises(ResponseError, match="killed"):
                await other.eval("while true do end", 0)

    SCRIPTS.append(asyncio.create_task(run()))


async def script_ends(system: System) -> None:
    await system.redis.script_kill()
    await SCRIPTS.pop()
    await system.redis.config_set("busy-reply-threshold", 5000)


WAYS: dict[str, tuple[Act, Act]] = {
    "OOM": (memory_full, memory_back),
    "NOREPLICAS": (no_replicas, replicas_back),
    "READONLY": (failover, primary_again),
    "MISCONF": (disk_full, disk_free),
    "BUSY": (endless_script, script_ends),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("code", WAYS)
async def test_r13_a_server_that_refuses_ends_no_process(tmp_path: Path, code: str) -> None:
    refuse, lift = WAYS[code]
    async with ScriptedModel(SCRIPT) as model, System(tmp_path, model_url=model.base_url) as system:
        children = [await system.launch(party) for party in SERVICES]
        for _ in range(6):
            await system.submit(task("look", "send", "save", seconds=0.3))
            await system.submit(open_task("Send it."))
        await refuse(system)

        def have_said(words: str) -> bool:
            return all(child.log.read_text().count(words) == 1 for child in children)

        await wait_until(lambda: have_said("the server refuses writes for now; waiting"))
        problem = await submitted_over_http(system)
        assert problem.status_code == 503
        assert problem.headers["retry-after"] == "1"
        assert problem.json()["code"] == "redis_refuses_writes"
        assert problem.json()["detail"].startswith("Redis refuses writes for now: ")
        assert problem.json()["hint"].endswith("Then repeat the request: it did nothing.")
        await lift(system)
        await wait_until(lambda: have_said("the server accepts writes again"))
        await system.submit(task("look"), "refused-before", over_http=True)
        await system.settle()
        assert have_said("the server refuses writes for now; waiting"), "once"
        assert not any("Redis is unreachable" in child.log.read_text() for child in children)
        assert [child.code for child in children] == [None] * len(children)
        assert system.errors() == []
        await system.all_succeeded()


async def submitted_over_http(system: System) -> httpx.Response:
    """The gateway's own answer; the client makes an error of it."""
    url = f"http://127.0.0.1:{system.settings.gateway.port}/v1/tasks"
    body = msgspec.to_builtins(task("look")) | {"context": {"history": str(system.history)}}
    headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": "refused-before"}
    async with httpx.AsyncClient(timeout=30) as http:
        return await http.post(url, json=body, headers=headers)
