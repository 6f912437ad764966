"""Every outage on every topology, under load: decision 13 has the table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.topologies.outages import (
    CUT_OFF,
    JOINED,
    KILLED,
    MOVED,
    MOVED_WHOLE,
    PLANNED,
    STOPPED,
    Outage,
    survive,
)
from tests.topologies.servers import ENGINES, Cluster, Sentinels, Servers, Site

ANYWHERE = (PLANNED, KILLED, STOPPED, CUT_OFF)
CASES = (
    *((kind, outage) for kind in (Sentinels, Cluster) for outage in ANYWHERE),
    *((Cluster, outage) for outage in (MOVED, MOVED_WHOLE, JOINED)),
)
COLUMNS = (
    *("topology", "server", "durability", "what happens", "s until work continues", "chains"),
    *("lost", "told", "doubled", "answers", "answers lost", "doubts"),
)
ROWS: list[tuple[object, ...]] = []


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Written at the end: `make topologies` prints it."""
    yield
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *sorted(ROWS, key=str)]
    text = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    Path("build").mkdir(exist_ok=True)
    Path("build/topologies.md").write_text(text)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("durability", ["everysec", "always", "wait:1"])
@pytest.mark.parametrize(
    ("topology", "outage"), CASES, ids=[f"{one.__name__}-{outage.name}" for one, outage in CASES]
)
@pytest.mark.parametrize("engine", ENGINES)
async def test_nothing_is_lost_or_doubled(
    engine: str, topology: type[Servers], outage: Outage, durability: str, tmp_path: Path
) -> None:
    binary = ENGINES[engine]
    if not binary:
        pytest.skip(f"{engine}-server is not installed: apt-get install redis-server")
    if outage is MOVED_WHOLE and engine == "redis":
        pytest.skip("Redis 7.0 moves slots key by key")
    fsync = "always" if durability == "always" else "everysec"
    site = Site(binary, fsync, gated=outage is CUT_OFF)
    with topology(tmp_path / "servers", site) as servers:
        version = servers.nodes[0].info("server")
        partitions = 4 if topology is Cluster else 1
        price = await survive(servers, outage, tmp_path, partitions, durability)
    name = f"{engine.capitalize()} {version[f'{engine}_version']}"
    ROWS.append(
        (
            *(topology.__name__, name, durability, outage.name, price.seconds, price.chains),
            *(
                price.lost,
                price.told,
                price.doubled,
                price.answers,
                price.answers_lost,
                price.doubts,
            ),
        )
    )
    assert price.nothing_lost, price
    assert price.seconds < 15, price
