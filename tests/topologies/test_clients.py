"""What reaches each topology from outside: a service written with FastStream, and all of us over
TLS.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from faststream import FastStream
from faststream.redis import RedisBroker, RedisClusterBroker, RedisSentinelBroker

from haltpoint.contracts.catalogue import Party
from haltpoint.faststream import ChainCompleted, TaskPublisher, facts
from tests.chaos.system import System, task
from tests.support import certificates, wait_until
from tests.topologies.servers import (
    ENGINES,
    LOGIN,
    NAME,
    TOPOLOGIES,
    VALKEY,
    Cluster,
    Sentinels,
    Servers,
    Site,
)


def at_sentinels(servers: Servers) -> RedisBroker:
    assert isinstance(servers, Sentinels)
    hosts = [("127.0.0.1", sentinel.place) for sentinel in servers.sentinels]
    url = f"redis://{LOGIN}{servers.master()}"
    return RedisSentinelBroker(url, sentinels=hosts, sentinel_master_name=NAME)


def at_cluster(servers: Servers) -> RedisBroker:
    hosts = [("127.0.0.1", node.place) for node in servers.nodes]
    return RedisClusterBroker(f"redis://{LOGIN}{servers.master()}", startup_nodes=hosts)


@pytest.mark.parametrize(
    ("topology", "broker_at"), [(Sentinels, at_sentinels), (Cluster, at_cluster)]
)
async def test_a_service_with_faststream_publishes_tasks_and_hears_facts(
    topology: type[Servers], broker_at: Callable[[Servers], RedisBroker], tmp_path: Path
) -> None:
    with topology(tmp_path / "servers", VALKEY) as servers:
        async with System(tmp_path, server=servers, partitions=4) as system:
            await system.host(Party.EXECUTOR)
            await system.host(Party.WORKER)
            app = FastStream(broker := broker_at(servers))
            tasks = TaskPublisher(broker, source="shop", partitions=4)
            heard: set[str] = set()

            @facts(app, "chain.completed", group="shop")
            async def on_fact(fact: ChainCompleted) -> None:
                heard.add(fact.subject)

            await app.start()
            try:
                work = system.with_history(task("send"))
                published = [
                    await tasks.publish(id=f"order-{number}", plan=work.plan, context=work.context)
                    for number in range(8)
                ]
                await wait_until(lambda: heard == set(published))
            finally:
                await app.stop()


@pytest.mark.skipif(
    not ENGINES["redis"], reason="the wheel's Valkey has no TLS, Debian's Redis has"
)
@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=list(TOPOLOGIES))
async def test_a_master_dies_while_all_speak_tls(topology: type[Servers], tmp_path: Path) -> None:
    site = Site(ENGINES["redis"], certificate=certificates.make(tmp_path))
    with topology(tmp_path / "servers", site) as servers:
        assert servers.url.startswith("rediss+")
        async with System(tmp_path, server=servers) as system:
            await asyncio.gather(*map(system.launch, (Party.EXECUTOR, Party.WORKER)))
            first = await system.submit(task("send", "ask"))
            await wait_until(lambda: system.is_over(first))
            await asyncio.to_thread(servers.kill)
            await system.submit(task("send", "ask"))
            await asyncio.to_thread(servers.start)
            await system.settle()
            await system.all_succeeded()
