"""The example service in a process of its own, beside the whole system: a reminder in, a question
and an answer out.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faststream.redis import BinaryMessageFormatV1, RedisBroker
from redis.asyncio import Redis

from haltpoint.client import Client
from haltpoint.faststream import TaskSubmitted
from haltpoint.runtime.service.embedded import running
from tests.e2e.running import CHECKOUT, Running
from tests.support import PATIENCE, wait_until

REMINDER: Any = {"id": "r-1", "to": "John", "words": "I'm running late"}
TASK = TaskSubmitted.model_validate(
    {"source": "reminders", "id": "r-1", "data": {"goal": "Tell John I'm running late"}}
)


@pytest.fixture
def service(system: Running, tmp_path: Path) -> Iterator[str]:
    """`faststream run` of the example; gives the server's address."""
    url = running(system.state_dir / "data")
    assert url is not None
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "faststream", "run", "examples.reminders.service:app"],
            env=system.environment | {"REDIS_URL": url},
            cwd=CHECKOUT,
            stdout=output,
            stderr=output,
        )
    try:
        yield url
    finally:
        process.terminate()
        code = process.wait(PATIENCE)
    assert code == 0, log.read_text()[-4000:]
    assert "ERROR" not in log.read_text(), log.read_text()[-4000:]


async def test_a_reminder_becomes_a_task_whose_question_and_end_are_news(
    service: str, client: Client
) -> None:
    async with Redis.from_url(service) as redis, RedisBroker(service) as broker:

        async def news() -> list[str]:
            entries: Any = await redis.xrange("reminders:news")
            bodies = [
                json.loads(BinaryMessageFormatV1.parse(fields[b"__data__"])[0])
                for _, fields in entries
            ]
            return list(
                dict.fromkeys(body["line"] for body in bodies if body["chain_id"] == TASK.chain_id)
            )

        async def listening() -> bool:
            return bool(await redis.exists("reminders") and await redis.xinfo_groups("reminders"))

        await wait_until(listening)
        for _ in range(2):  # a reminder that comes twice is one task
            await broker.publish(REMINDER, stream="reminders")

        async def asked() -> bool:
            return len(await news()) == 1

        await wait_until(asked)
        (question,) = await news()
        assert question.endswith("user_abc123, user_def456, user_ghi789")
        (request,) = (await client.chain(TASK.chain_id)).requests
        await client.answer(request.id, option_id="user_abc123")

        async def ended() -> bool:
            return len(await news()) == 2

        await wait_until(ended)
        chain = await client.chain(TASK.chain_id)
        assert chain.status == "completed"
        assert (await news())[1] == "John Doe has your message: I'm running late"
