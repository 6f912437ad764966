"""What the command line says when Redis is there and does not let it in, or is set up in another
way.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner, Result

from haltpoint.cli.errors import Exit
from haltpoint.cli.main import app
from haltpoint.runtime.service.embedded import EmbeddedServer


@pytest.fixture
async def guarded(redis: Redis) -> AsyncIterator[Redis]:
    """A server that wants a password."""
    await redis.config_set("requirepass", "right")
    yield redis
    await redis.config_set("requirepass", "")


async def typed(words: str, url: str, folder: Path) -> Result:
    """What a person gets who types this."""
    environment = {"HALTPOINT_STATE_DIR": str(folder), "HALTPOINT_GATEWAY__PORT": "0"}
    words_of = [*words.split(), "--redis-url", url]
    return await asyncio.to_thread(CliRunner().invoke, app, words_of, env=environment)


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("user", "says"),
    [(":wrong@", "invalid username-password pair"), ("", "it needs a password and got none")],
)
@pytest.mark.parametrize("verb", ["init", "doctor"])
async def test_a_wrong_password_is_told_by_every_verb(
    server: EmbeddedServer, tmp_path: Path, verb: str, user: str, says: str
) -> None:
    done = await typed(verb, server.url.replace("://", f"://{user}"), tmp_path)
    assert done.exit_code == Exit.UNREACHABLE
    assert "HP-010" in done.stderr
    assert says in done.stderr
    assert "USER:PASSWORD@" in done.stderr
