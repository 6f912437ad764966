"""Agents at the door: a task may name one that there is, and gets what the file says of it."""

from msgspec import structs

from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import Supervisor
from haltpoint.contracts.work.tasks import Mode
from tests.integration.gateway.conftest import System, problem

FILE = Agents(
    agents=(
        Agent(name="front", description="Takes everything.", agents=("billing",), mode=Mode.STRICT),
        Agent(name="billing", description="Refunds.", tools=("refund",)),
    )
)


def apply(system: System, file: Agents = FILE) -> None:
    """Let the gateway have started with this file."""
    object.__setattr__(system.gateway, "agents", file)


async def test_a_task_for_an_agent_that_is_not_there_is_refused_with_the_names(
    system: System,
) -> None:
    wish = {"goal": "Refund it", "agent": "front"}
    document = problem(await system.http.post("/v1/tasks", json=wish), 422, "no_such_agent")
    assert "HALTPOINT_AGENTS_FILE" in document["hint"]
    apply(system)
    document = problem(
        await system.http.post("/v1/tasks", json=wish | {"agent": "legal"}), 422, "no_such_agent"
    )
    assert document["hint"] == "There are: front, billing."
    assert (await system.http.post("/v1/tasks", json=wish)).status_code == 202


async def test_agents_are_listed_with_what_they_may_do(system: System) -> None:
    assert (await system.get("agents")) == {
        "items": [],
        "next_cursor": None,
        "supervisor": None,
    }
    routed = structs.replace(
        FILE, supervisor=Supervisor(prompt="Be brief", threshold=0.5, tools=("look_*", "lookup_*"))
    )
    apply(system, routed)
    await system.http.post("/v1/tasks", json={"goal": "Refund it", "agent": "front"})
    said = await system.get("agents")
    (front, billing), supervisor = said["items"], said["supervisor"]
    assert said["unserved"] == ["look_*"]
    assert (supervisor["strategy"], supervisor["threshold"], supervisor["prompt"]) == (
        "llm",
        0.5,
        "",
    )
    assert (front["name"], front["agents"], front["mode"]) == ("front", ["billing"], "strict")
    assert (billing["tools"], billing["unserved"], billing["under_way"]) == (
        ["refund"],
        ["refund"],
        0,
    )
    assert front["under_way"] == 0
    assert front["prompt"] == ""


async def test_i4_a_question_names_the_agents_that_led_to_it_and_has_no_such_field_without_agents(
    system: System,
) -> None:
    plain = await system.ask(await system.submit(), RequestKind.INPUT)
    apply(system)
    asked = await system.ask(await system.submit(agent="front"), RequestKind.INPUT)
    found = {one["id"]: one for one in (await system.get("requests"))["items"]}
    assert found[asked]["path"] == ["front"]
    assert "path" not in found[plain]
    chain = await system.get(f"chains/{plain.partition('.')[0]}")
    assert "children" not in chain
    assert "path" not in chain["requests"][0]
