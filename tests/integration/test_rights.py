"""The users of deploy/acl: each has what its service needs, and is refused what is not its own; and
a right that a user of one's own lacks is found before anything is written.
"""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import preflight, rights
from haltpoint.runtime.store import library
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.topology import PREFIX, Topology
from haltpoint_gateway.people.limits import count_submission
from haltpoint_gateway.people.principal import Principal
from tests.topologies.servers import ENGINES, Site
from tests.topologies.users import ACL, USERS, Users

TOPOLOGY: Final = Topology(2)
LINES: Final = {
    name: line
    for name, line in re.findall(r"^user (\S+) (.*)$", ACL, re.MULTILINE)
    if name != "default"
}
FUNCTIONS: Final = {name: re.findall(r"\+fcall\|(\S+)", line) for name, line in LINES.items()}


@pytest.fixture(scope="module", params=ENGINES)
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Users]:
    """A server with these users."""
    if not ENGINES[request.param]:
        pytest.skip(f"{request.param}-server is not installed: apt-get install redis-server")
    with Users(
        tmp_path_factory.mktemp("users") / "servers", Site(ENGINES[request.param])
    ) as servers:
        servers.node.ask("FUNCTION", "LOAD", library.source())
        yield servers


@pytest.fixture
async def everything(servers: Users) -> AsyncIterator[Any]:
    """The server as its operator sees it."""
    async with connect(servers.url) as redis:
        yield redis


@pytest.mark.parametrize("user", USERS)
async def test_each_user_has_the_rights_of_its_service(servers: Users, user: str) -> None:
    async with connect(servers.urls[user]) as redis:
        await TOPOLOGY.ensure(redis)
        checks = await preflight.examine(redis, Settings(), TOPOLOGY, servers.urls[user], user)
    assert [check.what for check in checks if not check.ok] == []


async def test_the_gateway_may_count_what_a_key_submits(servers: Users) -> None:
    async with connect(servers.urls["gateway"]) as redis:
        gateway = SimpleNamespace(redis=redis, settings=Settings())
        await count_submission(cast("Any", gateway), Principal("ann", "acme", (Scope.SUBMIT,)))


FORBIDDEN: Final = {
    "planner": (
        f"FCALL {PREFIX}claim 1 hp:{{0}}:events",
        f"FCALL {PREFIX}commit 1 hp:{{0}}:events",
        f"FCALL {PREFIX}answer 1 hp:{{0}}:events",
        "XADD hp:{0}:tools:default * a b",
        "HSET hp:{0}:chain:c status completed",
        "HGETALL hp:{0}:keys",
        "XRANGE hp:{0}:audit - +",
    ),
    "executor": (
        f"FCALL {PREFIX}answer 1 hp:{{0}}:events",
        f"FCALL {PREFIX}claim 1 hp:{{0}}:events",
        "HSET hp:{0}:keys digest row",
        "XADD hp:{0}:audit * line x",
        "HSET hp:{0}:catalogue tool spec",
    ),
    "tool-worker": (
        f"FCALL {PREFIX}answer 1 hp:{{0}}:events",
        f"FCALL {PREFIX}commit 1 hp:{{0}}:events",
        "XADD hp:{0}:plans * a b",
        "XADD hp:{0}:humans * a b",
        "ZADD hp:{0}:timers 1 c",
        "HGETALL hp:{0}:keys",
        "XRANGE hp:{0}:audit - +",
    ),
    "gateway": (
        f"FCALL {PREFIX}claim 1 hp:{{0}}:events",
        f"FCALL {PREFIX}complete 1 hp:{{0}}:events",
        f"FCALL {PREFIX}commit 1 hp:{{0}}:events",
        "SET hp:{0}:owner me",
        "HSET hp:{0}:catalogue tool spec",
    ),
    "operator": (
        f"FCALL {PREFIX}answer 1 hp:{{0}}:events",
        "XADD hp:{0}:events * a b",
        "HSET hp:{0}:chain:c status completed",
        "HSET hp:{0}:keys digest row",
    ),
}
TO_ALL_BUT_OPERATORS: Final = ("FUNCTION FLUSH", "CONFIG GET requirepass")
TO_ALL: Final = ("FLUSHALL", "KEYS *", "ACL LIST", "GET other", "EVAL return 0", "CLIENT LIST")


@pytest.mark.parametrize("user", USERS)
async def test_each_user_is_refused_what_is_not_its_own(servers: Users, user: str) -> None:
    more = () if user == "operator" else TO_ALL_BUT_OPERATORS
    connected: Any = connect(servers.urls[user])
    async with connected as redis:
        for command in (*FORBIDDEN[user], *more, *TO_ALL):
            with pytest.raises(RefusedForNow) as refused:
                await redis.execute_command(*command.split())
            assert refused.value.code == "NOPERM", command


@pytest.mark.parametrize("user", [name for name in USERS if name != "operator"])
async def test_a_right_that_is_missing_inside_of_a_function_is_found_before_anything_is_written(
    servers: Users, everything: Any, user: str
) -> None:
    url = f"redis://mine:secret@{servers.node}/0"
    lacks = {name for name, _ in rights.needed(user) if not name.startswith("fcall")}
    async with connect(url) as redis:
        for command in sorted(lacks | {"fcall"} - {"ping"}):
            rules = ("reset", "on", ">secret", "~*", "+@all", f"-{command}")
            await everything.execute_command("ACL", "SETUSER", "mine", *rules)
            with pytest.raises(RefusedForNow) as refused:
                await rights.look(redis, TOPOLOGY, user, url)
            assert refused.value.lasts
            wanted = rf"ACL SETUSER (mine|USER) \+{re.escape(command)} ~hp:\*"
            assert re.search(wanted, refused.value.fix), command


async def test_keys_that_a_user_may_not_touch_are_named(servers: Users, everything: Any) -> None:
    url = f"redis://mine:secret@{servers.node}/0"
    rules = ("reset", "on", ">secret", "~hp:{*}:events", "%R~*", "+@all")
    await everything.execute_command("ACL", "SETUSER", "mine", *rules)
    async with connect(url) as redis:
        with pytest.raises(RefusedForNow, match=r"may not run .*hp:\{\*\}:seq:\*"):
            await rights.look(redis, TOPOLOGY, "executor", url)


# ---- The file says what the functions do


def blocks() -> dict[str, str]:
    """Each function of the library, and each local one that they use, with its text."""
    beginning = r"^(?:local function (\w+)|register\('(\w+)').*?(?:^end\)?$|\)$)"
    found = re.finditer(beginning, library.source(), re.MULTILINE | re.DOTALL)
    return {each[1] or f"{PREFIX}{each[2]}": each[0] for each in found}


def commands_of(name: str, among: dict[str, str], seen: set[str]) -> set[str]:
    """What a function asks the server, also by those that it uses."""
    seen.add(name)
    text = among[name]
    asked = {
        "|".join(filter(None, each)).lower()
        for each in re.findall(r"call\('([A-Z]+)'(?:, '([A-Z]+)')?", text)
    }
    asked = {word if word.startswith(("xinfo", "xgroup")) else word.split("|")[0] for word in asked}
    for other in set(re.findall(r"\w+", text)) & set(among) - seen:
        asked |= commands_of(other, among, seen)
    return asked


@pytest.mark.parametrize("user", USERS)
def test_each_user_may_do_what_its_functions_do(user: str) -> None:
    among = blocks()
    allowed = set(re.findall(r"\+(\S+)", LINES[user]))
    for name in FUNCTIONS[user]:
        if name != f"{PREFIX}rights":
            used = commands_of(name, among, set()) | commands_of("count_up", among, set())
            assert used <= allowed, name


def test_each_function_of_the_library_is_that_of_a_service() -> None:
    ours = set(re.findall(r"^register\('(\w+)'", library.source(), re.MULTILINE)) | {"rights"}
    assert {name for names in FUNCTIONS.values() for name in names} == {PREFIX + n for n in ours}


def test_no_user_has_a_password_that_anybody_knows(tmp_path: Path) -> None:
    assert re.findall(r" >(\S+)", ACL) == [f"{name.upper()}_PASSWORD" for name in LINES]
