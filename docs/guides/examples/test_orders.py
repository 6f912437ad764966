import asyncio

import pytest
from faststream import TestApp
from faststream.redis import TestRedisBroker
from orders import app, broker

FACT = {
    "id": "c/chain.completed",
    "source": "test",
    "subject": "c",
    "type": "chain.completed.v1",
    "data": {"chain_id": "c", "answer": "John has your message."},
}


def test_an_end_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async def publish() -> None:
        async with TestRedisBroker(broker, connect_only=True), TestApp(app):
            await broker.publish(FACT, stream="hp:{0}:facts")

    asyncio.run(publish())
    assert "c completed: John has your message." in capsys.readouterr().out
