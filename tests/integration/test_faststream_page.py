"""The snippets of docs/faststream.md run as they are printed, but for the server's address."""

import ast
import re
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from faststream import FastStream
from redis.asyncio import Redis

from haltpoint.faststream import TaskSubmitted
from haltpoint.runtime.embedded import EmbeddedServer
from tests.integration.deciding import bed_at, executing
from tests.support import wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "faststream.md").read_text()
GOALS = ("Tell John", "Tell Jane", "Tell Mary")


def blocks(url: str) -> list[CodeType]:
    """The page's code, each block with `await` at its top."""
    found = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [
        compile(code.replace("redis://localhost:6379", url), "faststream.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for code in found
    ]


async def run(code: CodeType, names: dict[str, Any]) -> None:
    if (pending := eval(code, names)) is not None:
        await pending


async def test_the_page_as_it_is_printed(
    server: EmbeddedServer, redis: Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    service, task, body, handler = blocks(server.url)
    names: dict[str, Any] = {}
    async with bed_at(server, redis) as bed, executing(bed):
        await run(service, names)
        app = names["app"]
        assert isinstance(app, FastStream)
        await app.start()
        try:
            await run(task, names)
            await run(body, names)
            ids = [
                TaskSubmitted.model_validate(
                    {"source": "shop", "id": f"order-{n}", "data": {"goal": f"{who} I'm running late"}}
                ).chain_id
                for n, who in enumerate(GOALS, 17)
            ]

            async def submitted() -> bool:
                keys = [bed.topology.key_of("chain", one) for one in ids]
                return await redis.exists(*keys) == 3

            await wait_until(submitted)
        finally:
            await app.stop()
    assert f"{ids[0]} submitted" in capsys.readouterr().out
    await run(handler, names)
    assert "c completed: John has your message." in capsys.readouterr().out


def test_the_page_names_every_fact_and_setting_as_it_is() -> None:
    from haltpoint.contracts.public_facts import PUBLIC
    from haltpoint.runtime.settings import PolicySettings

    for name, kind in PUBLIC.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` | `{kind.__name__}` |")]
        fields = set(kind.model_fields["data"].annotation.model_fields)  # type: ignore[union-attr]
        assert set(re.findall(r"`(\w+)`", row)) - {kind.__name__} == fields - {"chain_id", "tenant", "conversation_id"}
    assert "facts_age" in PolicySettings.model_fields
