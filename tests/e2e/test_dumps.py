"""Dumps of releases, as `tests/data/dumps/record.py` records them: the next release goes on with
what it can read, and refuses all else before it has touched anything.
"""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Final

import pytest
from redis import Redis

from haltpoint.cli.local.system import initialise
from haltpoint.client import Client
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.topology import FORM, LIBRARY
from tests.e2e.agents import AGENTS_FILE
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.running import Running

DUMPS: Final = Path(__file__).parents[1] / "data/dumps"
OTHERS: Final = sorted(path.stem for path in DUMPS.glob("*.rdb") if path.stem != FORM)


def restore(form: str, data: Path) -> None:
    """Lay a dump where the embedded server begins with it."""
    files = data / "appendonlydir"
    files.mkdir(parents=True)
    shutil.copy(DUMPS / f"{form}.rdb", files / "appendonly.aof.1.base.rdb")
    manifest = "file appendonly.aof.1.base.rdb seq 1 type b\n"
    (files / "appendonly.aof.manifest").write_text(manifest)


def recorded(redis: Redis) -> dict[str, str]:
    """The chains of a dump: `done`, `waits` and `queued`."""
    chains: dict[str, str] = json.loads(redis.get("hp:{0}:recorded") or "")
    return chains


def libraries(redis: Redis) -> set[str]:
    return set(re.findall(r"haltpoint_\w+", f"{redis.function_list()}"))


async def go_on(system: Running) -> None:
    with Redis.from_url(system.redis_url) as redis:
        chains = recorded(redis)
        assert libraries(redis) == {LIBRARY}, "that of the dump is used by nobody"
    async with Client(system.url, system.key) as client:
        assert (await client.chain(chains["done"])).status == "completed"
        waits = client.attach(chains["waits"])
        request = await waits.expects_request("clarification")
        await client.answer(request.id, option_id="user_abc123")
        await client.resume("contacts")
        assert (await waits.result()).status == "completed"
        assert (await client.attach(chains["queued"]).result()).status == "completed"
    assert [sent.to for sent in system.sent(chains["waits"])] == ["user_abc123"]
    assert len(system.sent(chains["queued"])) == 1
    assert not system.sent(chains["done"]), "it was sent when the dump was made"


def test_the_chains_of_a_dump_of_this_form_continue(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_text(AGENTS_FILE)
    restore(FORM, tmp_path / "state/data")
    with run_system(tmp_path, Receiver(), {"HALTPOINT_PARTITIONS": "1"}) as system:
        asyncio.run(go_on(system))


@pytest.mark.parametrize("form", OTHERS)
async def test_a_dump_of_another_form_is_refused_and_stays_as_it_is(
    tmp_path: Path, form: str
) -> None:
    restore(form, tmp_path)
    with EmbeddedServer(tmp_path) as server, Redis.from_url(server.url) as redis:
        before = {key: redis.dump(key) for key in redis.scan_iter()}
        assert b"hp:{0}:chain:" + recorded(redis)["waits"].encode() in before
        with pytest.raises(HaltpointError, match=r"HP-022 .* 2 chains of another release"):
            await initialise(Settings(redis_url=server.url, partitions=1))
        assert {key: redis.dump(key) for key in redis.scan_iter()} == before
        assert libraries(redis) > {LIBRARY}, "the old release may still run"


def test_there_is_a_dump_of_an_older_form() -> None:
    assert OTHERS
