"""Each service as its own user of deploy/acl: a question, a yes and an undo, and nothing that a
service does is refused. `make topologies` runs the tests of the whole system so.
"""

import asyncio
from pathlib import Path

from haltpoint.client import Client
from tests.e2e.agents import AGENTS_FILE
from tests.e2e.calling import called, ended
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.running import Running
from tests.e2e.test_undo import planting, undone
from tests.topologies.servers import VALKEY
from tests.topologies.users import Users


def test_a_story_with_a_user_for_each_service(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "agents.toml").write_text(AGENTS_FILE)
    with Users(tmp_path / "servers", VALKEY) as servers:
        urls = dict(servers.urls)
        operator = {"HALTPOINT_REDIS_URL": urls.pop("operator")}
        with run_system(tmp_path, receiver, operator, urls) as system:
            asyncio.run(_story(system))
            asked = called(system, "delete_page", "page=news", code=3)
            assert ended(system, asked, "approve")["status"] == "completed"
            looked = system.command("doctor")
            assert "user operator has all rights that are needed" in looked.stdout
        assert servers.refused() == []


async def _story(system: Running) -> None:
    """A question, and what was done is undone."""
    async with Client(system.url, system.key) as client:
        run = await client.run("Tell John I'm running late")
        request = await run.expects_request("clarification")
        await client.answer(request.id, option_id="user_abc123")
        assert (await run.result()).status == "completed"
        rose = await client.run(task=planting("rose"))
        await rose.result()
        await undone(client, rose.id)
