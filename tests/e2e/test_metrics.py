"""What the four services show on /metrics while they work."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

from haltpoint.client import Client
from haltpoint.contracts.catalogue import Party
from tests.e2e.running import Running, services
from tests.support import wait_until

LABELS = {
    *("tool", "outcome", "state", "stream", "queue", "limit", "kind", "priority", "decision"),
    *("rule", "mode", "error", "code", "model", "direction", "le"),
}
"""All that a metric may be told apart by: no chain, no argument, no tenant."""


async def scraped(system: Running) -> dict[str, str]:
    """The text of each service by its name; of several processes, of one."""
    async with httpx.AsyncClient(trust_env=False) as http:
        texts: dict[str, str] = {}
        for service in await services(system):
            url = service.get("health") or service["url"]
            reply = await http.get(f"{url}/metrics")
            assert reply.status_code == 200
            texts[service["name"]] = reply.text
    return texts


def families(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples of our metrics: a value by the values of the labels, by the sample's name."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name.startswith("haltpoint_") else ():
            assert set(sample.labels) <= LABELS, sample
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


async def test_the_work_of_a_chain_is_counted_where_it_is_done(
    system: Running, client: Client
) -> None:
    run = await client.run("Tell John I'm running late")
    request = await run.expects_request("clarification")
    shown = await scraped(system)
    assert set(shown) == {party.value for party in Party if party is not Party.CLIENT}
    waiting = families(shown["gateway"])
    assert waiting["haltpoint_requests_open"]["clarification", "normal"] >= 1

    await client.answer(request.id, option_id="user_abc123")
    assert (await run.result()).status == "completed"

    async def counted() -> bool:
        """The gateway may show what it has read a second ago."""
        gateway = families((await scraped(system))["gateway"])
        return ("select", "clarification") in gateway.get("haltpoint_human_wait_seconds_count", ())

    await wait_until(counted)
    seen = {name: families(text) for name, text in (await scraped(system)).items()}
    worker, planner = seen["tool-worker"], seen["planner"]
    calls = worker["haltpoint_action_seconds_count"]
    assert calls["continue", "send_message"] >= 1
    assert calls["clarification_needed", "lookup_contacts"] >= 1
    assert worker["haltpoint_dispatch_lag_seconds_count"][()] >= 2
    assert worker["haltpoint_slots"]["free",] + worker["haltpoint_slots"]["used",] == 16
    assert seen["executor"]["haltpoint_decision_seconds_count"][()] >= 1
    assert seen["executor"]["haltpoint_partition_leases_taken_total"][()] >= 1
    assert planner["haltpoint_model_seconds_count"]["contacts", "replied"] >= 1
    assert {"input", "output"} == {labels[0] for labels in planner["haltpoint_model_tokens_total"]}
    assert not any(run.id in text for text in (await scraped(system)).values())


async def test_every_service_says_whether_it_is_alive_and_ready(system: Running) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        for service in await services(system):
            url = service.get("health") or service["url"]
            for path in ("livez", "readyz"):
                assert (await http.get(f"{url}/{path}")).status_code == 200, service["name"]
