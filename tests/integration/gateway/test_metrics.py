"""/metrics of the gateway: the deployment's numbers, out of Redis."""

import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.tools import Recovery, ToolSpec
from haltpoint.contracts.views.deployment import QueueState
from haltpoint.runtime.store.counting import Total, total
from haltpoint.runtime.store.limits.reserving import LimitStore
from haltpoint.runtime.streams.topology import Topology
from haltpoint.tools.limits import limits_of
from haltpoint_gateway.measuring import Measures
from tests.integration.gateway.conftest import System

Samples = dict[tuple[str, ...], float]
"""A value by the sample's name and the values of its labels, in the order of their names."""


async def read(system: System) -> Samples:
    """What the deployment shows now: a look that nothing was kept for."""
    measures = Measures(system.redis, system.topology, system.gateway.queues)
    families = text_string_to_metric_families((await measures.text()).decode())
    return {
        (sample.name.removeprefix("haltpoint_"), *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


async def test_what_waits_is_counted_by_stream_and_the_oldest_is_known(system: System) -> None:
    now = round(time.time() * 1000)
    key = system.topology.stream(1, Stream.PLANS)
    for age in (90_000, 10_000):
        await system.redis.xadd(key, {"x": "y"}, id=f"{now - age}-0")
    await system.redis.xreadgroup(GROUP[Stream.PLANS].value, "me", {key: ">"}, count=1)
    await system.redis.xadd(system.topology.key(0, "dead"), {"x": "y"})
    await system.gateway.recovery.lose_group(1, "events")

    seen = await read(system)
    assert seen["backlog", "", "waiting", "plans"] == 1
    assert seen["backlog", "", "running", "plans"] == 1
    assert 90 <= seen["oldest_pending_seconds", "", "plans"] < 120
    assert seen["backlog", "default", "waiting", "tools"] == 0
    assert seen["oldest_pending_seconds", "default", "tools"] == 0
    assert seen["dead_letters",] == 1
    assert seen["losses",] == 1


async def test_open_questions_are_counted_until_they_are_answered(system: System) -> None:
    first = await system.asked(priority="high")
    await system.asked()
    doubt = await system.submit()
    await system.ask(doubt, RequestKind.IN_DOUBT)

    seen = await read(system)
    assert seen["requests_open", "clarification", "high"] == 1
    assert seen["requests_open", "clarification", "normal"] == 1
    assert seen["in_doubt_open",] == 1
    assert 0 <= seen["request_age_seconds", "in_doubt"] < 60
    assert seen["request_age_seconds", "input"] == 0

    answer = {"kind": "clarification", "option_id": "u1"}
    await system.http.post(f"/v1/requests/{first}/answer", json=answer)
    assert ("requests_open", "clarification", "high") not in await read(system)


async def test_the_gateway_remembers_what_a_question_is_and_forgets_the_answered(
    system: System,
) -> None:
    measures = Measures(system.redis, system.topology, system.gateway.queues)
    chain = await system.submit()
    request = await system.ask(chain)
    await measures.text()
    await system.redis.delete(system.topology.key_of("data", chain))
    measures._read_at = 0.0
    assert b'requests_open{kind="clarification",priority="normal"} 1.0' in await measures.text()
    partition = system.topology.partition(chain)
    await system.redis.zrem(system.topology.key(partition, "index", "requests"), request)
    measures._read_at = 0.0
    assert b"requests_open{" not in await measures.text()


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        (
            {total(Total.VIOLATIONS, "no_call", "strict"): 3},
            {("violations_total", "strict", "no_call"): 6},
        ),
        ({total(Total.STRIKES, "no_call"): 2}, {("strikes_total", "no_call"): 4}),
        ({total(Total.UNDECIDED, "input"): 1}, {("requests_undecided_total", "input"): 2}),
        (
            {total(Total.RETRIES, "TIMEOUT", "a:b"): 1},
            {("retries_total", "TIMEOUT", "a:b"): 2},
        ),
        (
            {
                total(Total.ANSWERS, "input", "answer", "8"): 1,
                total(Total.ANSWERS, "input", "answer", "4194304"): 1,
                total(Total.WAITED, "input", "answer"): 5000,
            },
            {
                ("human_wait_seconds_bucket", "answer", "input", "4.0"): 0,
                ("human_wait_seconds_bucket", "answer", "input", "8.0"): 2,
                ("human_wait_seconds_bucket", "answer", "input", "1048576.0"): 2,
                ("human_wait_seconds_bucket", "answer", "input", "+Inf"): 4,
                ("human_wait_seconds_sum", "answer", "input"): 10000,
            },
        ),
    ],
)
async def test_totals_of_all_partitions_are_added_up(
    system: System, fields: dict[str, int], seen: Samples
) -> None:
    for partition in range(system.topology.partitions):
        for name, number in fields.items():
            kept = name.removeprefix("total:")
            await system.redis.hset(system.topology.key(partition, "totals"), kept, str(number))
    samples = await read(system)
    assert {name: samples[name] for name in seen} == seen


async def test_what_has_not_happened_yet_is_counted_as_none(system: System) -> None:
    """The first of its kind is an increase, too, so that its alert goes off."""
    seen = await read(system)
    assert seen["violations_total", "strict", "no_call"] == 0
    assert seen["strikes_total", "stuck"] == 0
    assert seen["requests_undecided_total", "confirmation"] == 0


async def test_e6_calls_that_rest_are_told_by_their_limit_and_no_tenant(system: System) -> None:
    limits = LimitStore(system.gateway.store._calls, system.topology, 10.0)
    spec = ToolSpec(name="send", recovery=Recovery(limits=limits_of("1/m per tenant", ())))
    deadline = time.time_ns() // 1_000_000 + 3_600_000
    for tenant in ("acme", "umbrella"):
        for number in range(3):
            call = f"{tenant}{number}.s.1"
            await limits.reserve(spec, call, f"{call} one", tenant, deadline)
    samples = await read(system)
    limit = "the rate_limit 1/m per tenant of send"
    assert samples["calls_resting", limit, "default"] == 4
    assert not any("acme" in part for name in samples for part in name)


async def test_metrics_need_no_key_and_name_no_chain(system: System) -> None:
    request = await system.asked()
    reply = await system.http.get("/metrics", headers={"Authorization": ""})
    assert reply.status_code == 200
    chain, _, _ = request.partition(".")
    assert "haltpoint_requests_open{" in reply.text
    assert not re.search(rf"{chain}|John", reply.text)


async def test_metrics_of_the_process_are_there_while_redis_is_away(system: System) -> None:
    away = Measures(system.redis, Topology(2), _gone)
    assert await away.text() == b""


async def _gone() -> list[QueueState]:
    raise ConnectionRefusedError
