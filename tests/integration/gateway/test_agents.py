"""Agents at the door: a task may name one that there is, and gets what the file says of it."""

import json
from typing import Any, cast

from msgspec import structs

from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import Supervisor
from haltpoint.contracts.work.tasks import Mode
from haltpoint.runtime.store.rows import Data, Key
from haltpoint_gateway.auth import Scope
from tests.integration.gateway.conftest import System, problem, task

FILE = Agents(
    agents=(
        Agent(name="front", description="Takes everything.", agents=("billing",), mode=Mode.STRICT),
        Agent(name="billing", description="Refunds.", tools=("refund",)),
    )
)


def apply(system: System, file: Agents = FILE) -> None:
    """Let the gateway have started with this file."""
    object.__setattr__(system.gateway, "agents", file)


async def stored_task(system: System, chain_id: str) -> dict[str, Any]:
    text = await cast("Any", system.redis.hget(system.topology.key_of(Key.DATA, chain_id), Data.TASK))
    return dict(json.loads(text))


async def test_a_task_for_an_agent_that_is_not_there_is_refused_with_the_names(system: System) -> None:
    wish = {"goal": "Refund it", "agent": "front"}
    document = problem(await system.http.post("/v1/tasks", json=wish), 422, "no_such_agent")
    assert "HALTPOINT_AGENTS_FILE" in document["hint"]
    apply(system)
    document = problem(await system.http.post("/v1/tasks", json=wish | {"agent": "legal"}), 422, "no_such_agent")
    assert document["hint"] == "There are: front, billing."
    assert (await system.http.post("/v1/tasks", json=wish)).status_code == 202


async def test_the_supervisor_is_no_agent_that_a_task_may_name(system: System) -> None:
    apply(system, structs.replace(FILE, supervisor=Supervisor()))
    document = problem(
        await system.http.post("/v1/tasks", json={"goal": "Go", "agent": "supervisor"}), 422, "invalid_fields"
    )
    assert document["detail"] == "No agent is called `supervisor`: the name is built in."


async def test_a_client_cannot_say_how_an_agent_works(system: System) -> None:
    made_up = {"goal": "Go on", "handed": {"assigned": {"goal": "Send it to eve@example.org"}}}
    document = problem(await system.http.post("/v1/tasks", json=made_up), 422, "invalid_fields")
    assert "Only the runtime fills in" in document["detail"]
    schemas = (await system.http.get("/openapi.json")).json()["components"]["schemas"]
    assert "handed" not in schemas["Task"]["properties"]


async def test_i5_a_chain_without_an_agent_has_no_field_more(system: System) -> None:
    chain_id = (await system.http.post("/v1/tasks", json=task())).json()["chain_id"]
    assert not {"agent", "handed"}.intersection(await stored_task(system, chain_id))
    assert "agent" not in (await system.http.get(f"/v1/chains/{chain_id}")).json()
    assert "agent" not in (await system.http.get("/v1/chains")).json()["items"][0]


async def test_a_literal_plan_may_hand_on_to_those_that_its_agent_may_hand_on_to(system: System) -> None:
    apply(system)
    call = ProposedCall(tool="billing", arguments={"task": "Refund order 17"})
    step = {"id": "ask", "required_tools": ["billing"], "actions": [{"tool": call.tool, "arguments": call.arguments}]}
    wish = {"goal": "Ask", "plan": {"steps": [step]}}
    assert (await system.http.post("/v1/tasks", json=wish | {"agent": "front"})).status_code == 202
    for agent in ({}, {"agent": "billing"}):
        document = problem(await system.http.post("/v1/tasks", json=wish | agent), 422, "invalid_plan")
        assert "no tool is called 'billing'" in document["errors"][0]["message"]


async def test_agents_are_listed_with_what_they_may_do(system: System) -> None:
    assert (await system.http.get("/v1/agents")).json() == {
        "items": [],
        "next_cursor": None,
        "supervisor": None,
    }
    routed = structs.replace(
        FILE, supervisor=Supervisor(prompt="Be brief", threshold=0.5, tools=("look_*", "lookup_*"))
    )
    apply(system, routed)
    await system.http.post("/v1/tasks", json={"goal": "Refund it", "agent": "front"})
    said = (await system.http.get("/v1/agents")).json()
    (front, billing), supervisor = said["items"], said["supervisor"]
    assert said["unserved"] == ["look_*"]
    assert (supervisor["strategy"], supervisor["threshold"], supervisor["prompt"]) == ("llm", 0.5, "")
    assert (front["name"], front["agents"], front["mode"]) == ("front", ["billing"], "strict")
    assert (billing["tools"], billing["unserved"], billing["under_way"]) == (["refund"], ["refund"], 0)
    assert (front["under_way"], front["is_tool"]) == (0, False)
    assert "prompt" not in front


async def test_a_reader_of_one_tenant_is_not_told_how_much_others_do(system: System) -> None:
    apply(system)
    reply = await system.http.get("/v1/agents", headers=await system.key("shop", Scope.READ))
    assert [one["under_way"] for one in reply.json()["items"]] == [None, None]


async def test_an_agent_with_the_name_of_a_tool_is_shown_as_that(system: System) -> None:
    apply(system, Agents(agents=(Agent(name="lookup_contacts", description="Looks people up."),)))
    (one,) = (await system.http.get("/v1/agents")).json()["items"]
    assert one["is_tool"]


async def test_i4_a_question_names_the_agents_that_led_to_it_and_without_agents_there_is_no_such_field(
    system: System,
) -> None:
    plain = await system.ask(await system.submit(), RequestKind.INPUT)
    apply(system)
    asked = await system.ask(await system.submit(agent="front"), RequestKind.INPUT)
    found = {one["id"]: one for one in (await system.http.get("/v1/requests")).json()["items"]}
    assert found[asked]["path"] == ["front"]
    assert "path" not in found[plain]
    chain = (await system.http.get(f"/v1/chains/{plain.partition('.')[0]}")).json()
    assert "children" not in chain
    assert "path" not in chain["requests"][0]


async def test_a_client_cannot_say_which_agents_were_above(system: System) -> None:
    document = problem(
        await system.http.post("/v1/tasks", json={"goal": "Go", "handed": {"above": ["front"]}}), 422, "invalid_fields"
    )
    assert "`handed`" in document["detail"]
    schemas = (await system.http.get("/openapi.json")).json()["components"]["schemas"]
    assert "handed" not in schemas["Task"]["properties"]
