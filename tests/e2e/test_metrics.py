"""What the four services show on /metrics while they work."""

import json
import re

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.client import Client
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from tests.e2e.running import CHECKOUT, Running, services
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

    async def is_counted() -> bool:
        return "haltpoint_requests_open" in families((await scraped(system))["gateway"])

    await wait_until(is_counted)
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


DASHBOARD: JsonObject = json.loads((CHECKOUT / "deploy/grafana/haltpoint.json").read_text())
ALERTS: JsonObject = yaml.safe_load((CHECKOUT / "deploy/alerts.yaml").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
RULES: list[JsonObject] = ALERTS["groups"][0]["rules"]


async def test_all_that_dashboard_alerts_and_docs_name_is_shown_by_the_services(
    system: Running,
) -> None:
    shown = "\n".join((await scraped(system)).values())
    types = dict(re.findall(r"^# TYPE (haltpoint_\w+) (\w+)$", shown, re.MULTILINE))
    ours = {name for name in types if not name.endswith("_created")}
    samples = set(ours)
    for name in ours:
        if types[name] == "histogram":
            samples |= {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    queried = [target["expr"] for panel in PANELS for target in panel["targets"]]
    queried += [rule["expr"] for rule in RULES]
    queried += [var["definition"] for var in DASHBOARD["templating"]["list"][1:]]
    names = set(re.findall(r"haltpoint_\w+", "\n".join(queried)))
    assert names <= samples
    assert ours == {re.sub("_(bucket|count)$", "", name) for name in names}, "all are looked at"
    page = (CHECKOUT / "docs/reference/metrics.md").read_text()
    assert ours == set(re.findall(r"^\| `(haltpoint_\w+)`", page, re.MULTILINE))


def test_the_dashboard_has_its_rows_and_takes_any_data_source() -> None:
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert rows == ["Health", "Work", "People", "Contract", "Model"]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    first = DASHBOARD["templating"]["list"][0]
    assert (first["type"], first["query"]) == ("datasource", "prometheus")
    source = {"type": "prometheus", "uid": f"${{{first['name']}}}"}
    assert all(
        part["datasource"] == source for panel in PANELS for part in (panel, *panel["targets"])
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_happens_and_what_to_do(rule: JsonObject) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Haltpoint[A-Za-z]+", rule["alert"])
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description"}
    for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
        assert label in rule["expr"], "the expression keeps it"
    for name in re.findall(r"haltpoint ([a-z]+ ?[a-z]*)", rule["annotations"]["description"]):
        assert CliRunner().invoke(app, [*name.split(), "--help"]).exit_code == 0, name
