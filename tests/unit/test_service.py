"""What a service says of a server that refuses."""

from structlog.testing import capture_logs

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service.service import Service
from haltpoint.runtime.streams.connection import connect
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.topology import Topology


async def test_each_reason_of_a_refusal_is_logged_once() -> None:
    url = "redis://localhost:1"
    async with connect(url) as redis:
        service = Service(Party.GATEWAY, Settings(), redis, url, Topology(1))
        with capture_logs() as lines:
            for code in ("OOM", "OOM", "NOREPLICAS", "NOREPLICAS"):
                service._say_refused(RefusedForNow(code))
    assert [line["code"] for line in lines] == ["OOM", "NOREPLICAS"]
