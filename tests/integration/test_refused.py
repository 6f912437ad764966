"""R13: a server that refuses ends no process. docs/reference/refusals.md has what each caller does
at each refusal; here all four services run on a real server that is brought into each state, and
each cell is compared with what was seen.
"""

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import pytest
import pytest_asyncio
from redis import Redis
from redis.exceptions import RedisError, ResponseError
from structlog.testing import capture_logs
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.errors import HaltpointError, unforeseen
from haltpoint.runtime.service import service
from haltpoint.runtime.store import library
from haltpoint.runtime.streams import topology
from haltpoint.runtime.streams.refused import CODES
from haltpoint.runtime.streams.tasks import end
from haltpoint.testing.script_model import ScriptedModel
from tests.chaos import launcher
from tests.chaos.matrix import SCRIPT
from tests.chaos.system import KEY, System, task
from tests.support import wait_until
from tests.support.processes import until
from tests.topologies.servers import PASSWORD, SLOTS, VALKEY, Node, quiet_port, slot_of

PAGE: Final = Path(__file__).parents[2] / "docs/reference/refusals.md"
SERVICES: Final = (Party.EXECUTOR, Party.WORKER, Party.PLANNER, Party.GATEWAY)
REFUSED: Final = "the server refuses writes for now; waiting"
UNREACHABLE: Final = "Redis is unreachable"
UNFORESEEN: Final = "an unforeseen reply of Redis, told once"
WORDS: Final = {REFUSED: "wait", UNREACHABLE: "wait", UNFORESEEN: "say so, continue"}
USER: Final = ("service", "on", ">secret", "~*", "+@all")


def documented() -> dict[str, list[str]]:
    """The cells of each row, by what the server says."""
    lines = re.findall(r"^\| (.+) \|$", PAGE.read_text(), re.MULTILINE)[2:]
    rows = [line.split(" | ") for line in lines]
    return {says: cells for says, *cells in rows}


@dataclass
class Place:
    """One server, or a node of a cluster that has all slots, as `System` wants it. The services are
    its user `service`; `ask` is its operator.
    """

    folder: Path
    is_cluster: bool = False
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = f"redis://service:secret@{self.add()}/0"

    @property
    def node(self) -> Node:
        """The one that the services know."""
        return self.nodes[0]

    def add(self) -> Node:
        """One more node, which is not started."""
        bus = quiet_port()
        cluster = (
            *("--cluster-enabled", "yes", "--cluster-port", bus),
            *("--cluster-allow-replica-migration", "no"),
        )
        node = Node(
            VALKEY,
            self.folder / "servers" / f"node{len(self.nodes)}",
            *("--save", "", "--appendonly", "yes"),
            *("--requirepass", PASSWORD, "--user", *USER),
            *(cluster if self.is_cluster else ()),
        )
        node.own_bus = bus
        self.nodes.append(node)
        return node

    def ask(self, *words: object) -> Any:
        """As its operator."""
        return self.node.ask(*words)

    def start(self) -> None:
        """Start it."""
        self.node.start()
        if self.is_cluster:
            self.ask("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
            until(lambda: b"cluster_state:ok" in self.ask("CLUSTER", "INFO"))

    def kill(self) -> None:
        """End it."""
        for node in self.nodes:
            node.kill()

    def __enter__(self) -> "Place":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


Act = Callable[[Place], object]
BLOCKED: Final[list[threading.Thread]] = []


def says(*words: object) -> Act:
    """One command of the operator."""
    return lambda place: place.ask(*words)


def both(*acts: Act) -> Act:
    """One after the other."""
    return lambda place: [act(place) for act in acts]


def disk_full(place: Place) -> None:
    """A directory in the snapshot's place: it cannot be written."""
    place.ask("CONFIG", "SET", "save", "3600 1000000")
    (place.node.folder / "dump.rdb").unlink(missing_ok=True)
    (place.node.folder / "dump.rdb" / "in the way").mkdir(parents=True)
    saved(place, "err")


def disk_free(place: Place) -> None:
    (place.node.folder / "dump.rdb" / "in the way").rmdir()
    (place.node.folder / "dump.rdb").rmdir()
    saved(place, "ok")
    place.ask("CONFIG", "SET", "save", "")


def saved(place: Place, status: str) -> None:
    place.ask("BGSAVE")
    until(lambda: place.node.info("persistence")["rdb_last_bgsave_status"] == status)


def endless(place: Place) -> None:
    """A script that does not end."""
    place.ask("CONFIG", "SET", "busy-reply-threshold", 1)

    def run() -> None:
        with suppress(RedisError), Redis(port=place.node.port, password=PASSWORD) as client:
            client.eval("while true do end", 0)

    BLOCKED.append(threading.Thread(target=run))
    BLOCKED[-1].start()
    until(lambda: refuses(place))


def refuses(place: Place) -> bool:
    try:
        place.ask("DBSIZE")
    except RedisError:
        return True
    return False


def ended(place: Place) -> None:
    """As before: on a busy machine a function of ours may also take a millisecond."""
    place.ask("SCRIPT", "KILL")
    BLOCKED.pop().join()
    place.ask("CONFIG", "SET", "busy-reply-threshold", 5000)


def loading(place: Place) -> None:
    """The server starts again, and takes a tenth of a second for each key."""
    for number in range(100):
        place.ask("SET", f"pad{number}", os.urandom(1024))
    place.ask("BGREWRITEAOF")
    until(lambda: place.node.info("persistence")["aof_rewrite_in_progress"] == 0)
    place.node.kill()
    place.node.command += LOADS_SLOWLY
    place.node.spawn()
    until(lambda: place.node.info("persistence")["loading"] == 1)


def loaded(place: Place) -> None:
    place.ask("CONFIG", "SET", "key-load-delay", 0)
    del place.node.command[-len(LOADS_SLOWLY) :]
    until(lambda: not refuses(place))
    place.ask("DEL", *(f"pad{number}" for number in range(100)))


def renamed(place: Place) -> None:
    """The server starts again, and has INFO and FCALL under no name."""
    place.node.kill()
    place.node.command += ["--rename-command", "INFO", "", "--rename-command", "FCALL", ""]
    place.node.start()


def named_again(place: Place) -> None:
    place.node.kill()
    del place.node.command[-6:]
    place.node.start()


def slot_moves(place: Place) -> None:
    other = place.nodes[1] if len(place.nodes) > 1 else place.add()
    other.start()
    other.ask("CLUSTER", "MEET", "127.0.0.1", place.node.port, place.node.bus)
    name = other.ask("CLUSTER", "MYID")
    until(
        lambda: (
            name in place.ask("CLUSTER", "NODES") and b"state:ok" in other.ask("CLUSTER", "INFO")
        )
    )
    place.ask("CLUSTER", "SETSLOT", slot_of(0), "MIGRATING", name)


def slot_moved(place: Place) -> None:
    slot_moves(place)
    move(place.node, place.nodes[1])


def slot_back(place: Place) -> None:
    move(place.nodes[1], place.node)


def move(source: Node, target: Node) -> None:
    """A slot with its keys."""
    slot, names = slot_of(0), [each.ask("CLUSTER", "MYID") for each in (source, target)]
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    where = ("127.0.0.1", target.port, "", 0, 10_000, "AUTH", PASSWORD, "KEYS")
    while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
        source.ask("MIGRATE", *where, *keys)
    for each in (target, source):
        each.ask("CLUSTER", "SETSLOT", slot, "NODE", names[1])


LOADS_SLOWLY: Final = (
    *("--key-load-delay", "100000", "--loading-process-events-interval-bytes", "1024"),
)
WRONG: Final = ("services", "deployment", "index:status:accepted")


def wrong_types(place: Place) -> None:
    for name in WRONG:
        with suppress(RedisError):  # it is not there
            place.ask("RENAME", f"hp:{{0}}:{name}", f"hp:{{0}}:aside:{name}")
        place.ask("SET", f"hp:{{0}}:{name}", "a text")


def right_types(place: Place) -> None:
    for name in WRONG:
        place.ask("DEL", f"hp:{{0}}:{name}")
        with suppress(RedisError):
            place.ask("RENAME", f"hp:{{0}}:aside:{name}", f"hp:{{0}}:{name}")


def config(name: str, value: object, back: object) -> tuple[Act, Act]:
    return says("CONFIG", "SET", name, value), says("CONFIG", "SET", name, back)


def user(*rules: str) -> tuple[Act, Act]:
    return says("ACL", "SETUSER", "service", *rules), says("ACL", "SETUSER", *USER)


REPLICA: Final = says("REPLICAOF", "127.0.0.1", 1)
PRIMARY: Final = says("REPLICAOF", "NO", "ONE")
LIBRARY: Final = says("FUNCTION", "LOAD", "REPLACE", library.source())
NO_LOADING: Final = user("-function|load")[0]

WAYS: Final[dict[str, tuple[Act, Act]]] = {
    "OOM": config("maxmemory", 1, 0),
    "NOREPLICAS": config("min-replicas-to-write", 1, 0),
    "MISCONF": (disk_full, disk_free),
    "READONLY, UNBLOCKED": (REPLICA, PRIMARY),
    "MASTERDOWN": (
        both(says("CONFIG", "SET", "replica-serve-stale-data", "no"), REPLICA),
        both(PRIMARY, says("CONFIG", "SET", "replica-serve-stale-data", "yes")),
    ),
    "LOADING": (loading, loaded),
    "BUSY": (endless, ended),
    "CLUSTERDOWN": (says("CLUSTER", "DELSLOTS", 1), says("CLUSTER", "ADDSLOTS", 1)),
    "MOVED": (slot_moved, slot_back),
    "ASK, TRYAGAIN": (slot_moves, says("CLUSTER", "SETSLOT", slot_of(0), "STABLE")),
    "Function not found": (
        both(NO_LOADING, says("FUNCTION", "DELETE", topology.LIBRARY)),
        both(LIBRARY, says("ACL", "SETUSER", *USER)),
    ),
    "another number of partitions": (
        says("HSET", "hp:{0}:deployment", "partitions", 9),
        says("HSET", "hp:{0}:deployment", "partitions", 1),
    ),
    "NOPERM": user("-fcall", "-hsetnx"),
    "NOPERM inside of a function": user("-zadd"),
    "NOAUTH, WRONGPASS": (
        both(user("resetpass", ">another")[0], says("CLIENT", "KILL", "USER", "service")),
        user("resetpass", ">secret")[0],
    ),
    "unknown command": (renamed, named_again),
    "WRONGTYPE, all else": (wrong_types, right_types),
}
OF_CLUSTERS: Final = ("CLUSTERDOWN", "MOVED", "ASK, TRYAGAIN")


@dataclass
class Scene:
    """All four services on one place, in this process."""

    place: Place
    system: System
    services: list["asyncio.Task[None]"]

    async def seen(self, cells: list[str], row: str) -> list[str]:
        """The cells as they are, while the server refuses; and that all goes on afterwards."""
        enter, leave = WAYS[row]
        held = self.system.folder / f"{len(self.system.accepted)}.held"
        chain = await self.system.submit(task("look", until=str(held)))
        await wait_until(lambda: chain in self.effects())
        with capture_logs() as logs:
            await asyncio.to_thread(enter, self.place)
            if "inside" in row:  # what is sent before they have looked would be half written
                await wait_until(self.is_held)
            held.touch()
            await wait_until(lambda: not held.exists())
            found = await self.ask_all(cells, logs, chain)
            await asyncio.to_thread(leave, self.place)
        await wait_until(partial(self.posted, chain, "202"))
        await self.system.settle()
        assert [each.done() for each in self.services] == [False] * len(self.services)
        return found

    async def ask_all(self, cells: list[str], logs: list[Any], chain: str) -> list[str]:
        services, result, _, start, command = cells
        starting = asyncio.create_task(started(self.system.settings))
        try:
            if services != "continue":
                await wait_until(lambda: services in words_of(logs))
            answer = await self.post(chain)
            typed = await asyncio.to_thread(self.type, command)
            if result == "continues":
                await wait_until(partial(self.is_over, chain))
            if start.startswith("ends"):
                await starting
            return [
                next(iter(words_of(logs)), "continue"),
                "continues" if self.is_over(chain) else "waits",
                answer,
                starting.result() if starting.done() else "waits",
                typed,
            ]
        finally:
            await end(starting)

    def effects(self) -> str:
        """What the tools have begun."""
        return "".join(path.read_text() for path in self.system.history.glob("provider*"))

    def is_over(self, chain: str) -> bool:
        with suppress(RedisError):
            status = self.place.ask("HGET", f"hp:{{0}}:chain:{chain}", "status")
            return bool(status == b"completed")
        return False

    async def is_held(self) -> bool:
        """Whether the gateway sends nothing."""
        async with self.http() as http:
            return (await http.get("/v1/chains")).status_code == 503

    def http(self) -> httpx.AsyncClient:
        base_url = f"http://127.0.0.1:{self.system.settings.gateway.port}"
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx.AsyncClient(base_url=base_url, headers=headers, timeout=60, trust_env=False)

    async def post(self, key: str) -> str:
        """What a task gets over HTTP, under this key."""
        context = {"history": str(self.system.history)}
        body = {**msgspec.to_builtins(task("look")), "context": context}
        async with self.http() as http:
            answer = await http.post("/v1/tasks", json=body, headers={"Idempotency-Key": key})
        if answer.status_code == 202:
            return "202"
        if answer.status_code == 503:
            assert answer.headers["retry-after"] == "1"
        return f"{answer.status_code} {answer.json()['code']}"

    async def posted(self, key: str, wanted: str) -> bool:
        return await self.post(key) == wanted

    def type(self, cell: str) -> str:
        """What a person gets who types the command of this cell: its error's code has to be there,
        with what to do.
        """
        verb, wanted = re.findall(r"^\w+|HP-\d+", cell)
        environment = {"HALTPOINT_STATE_DIR": str(self.system.folder), "HALTPOINT_PARTITIONS": "1"}
        words = [verb, "--redis-url", self.place.url]
        done = CliRunner().invoke(app, words, env=environment)
        codes = re.findall(r"HP-\d+", done.output)
        return f"{verb}: {wanted if wanted in codes else codes}, exit {done.exit_code}"


def words_of(logs: list[Any]) -> list[str]:
    return list(dict.fromkeys(WORDS[each["event"]] for each in logs if each["event"] in WORDS))


async def started(settings: Any) -> str:
    """How a service fares that starts now."""
    try:
        async with service.running(Party.EXECUTOR, settings):
            return "starts"
    except HaltpointError as error:
        return f"ends: {error.code}"
    except ResponseError as error:
        return f"ends: {unforeseen(error).code}"


@asynccontextmanager
async def playing(folder: Path, *, is_cluster: bool) -> AsyncIterator[Scene]:
    """Services that are ready."""
    with Place(folder, is_cluster) as place:
        async with (
            ScriptedModel(SCRIPT) as model,
            System(folder, server=place, model_url=model.base_url) as system,
        ):
            services = []
            for party in SERVICES:
                run = import_module(launcher.SERVICES[party]).run
                services.append(asyncio.ensure_future(run(system.settings)))
            try:
                key = ("SCARD", "hp:{0}:services")
                await wait_until(lambda: place.ask(*key) == len(SERVICES))
                yield Scene(place, system, services)
            finally:
                for each in services:
                    await end(each, pause=10.0)


Play = Callable[[bool], Awaitable[Scene]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def play(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Play]:
    """The scene on one server, or on a node of a cluster: each once."""
    scenes: dict[bool, Scene] = {}
    async with AsyncExitStack() as stack:

        async def get(is_cluster: bool) -> Scene:
            if is_cluster not in scenes:
                folder = tmp_path_factory.mktemp("refused")
                playing_there = playing(folder, is_cluster=is_cluster)
                scenes[is_cluster] = await stack.enter_async_context(playing_there)
            return scenes[is_cluster]

        yield get


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.xdist_group("refused")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", documented())
async def test_r13_each_caller_does_what_the_table_says(play: Play, row: str) -> None:
    cells = documented()[row]
    scene = await play(row in OF_CLUSTERS)
    assert await scene.seen(cells, row) == cells


def test_the_table_has_a_row_for_each_reply() -> None:
    rows = documented()
    assert set(rows) == set(WAYS)
    words = " ".join(rows).split()
    told = {word.strip(",") for word in words}
    assert set(CODES) - {"NOFUNCTION", "NOCOMMAND"} <= told
