"""Skills over real processes: instructions that a tool gives back, and steps that a chain of its
own carries out.
"""

import asyncio
import json

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView, RequestView
from haltpoint.runs import Run
from tests.e2e.running import Running
from tests.support import wait_until

TELL = {"who": "John", "words": "I'm running late"}


def task(tool: str, **arguments: str) -> dict[str, object]:
    step = {
        "id": "do",
        "required_tools": [tool],
        "actions": [{"tool": tool, "arguments": arguments}],
    }
    return {"goal": f"call {tool}", "plan": {"steps": [step]}}


async def asked_by(client: Client, chain_id: str) -> RequestView:
    """The open question of a chain, once there is one."""
    found: list[RequestView] = []

    async def is_asked() -> bool:
        try:
            chain = await client.chain(chain_id)
        except GatewayError:  # it has not begun
            return False
        found[:] = [request for request in chain.requests if request.status == "open"]
        return bool(found)

    await wait_until(is_asked)
    return found[0]


async def begun(client: Client) -> tuple[Run, str, RequestView]:
    """A chain whose one step is the skill, its child, and what that asks."""
    run = await client.run(task=task("tell-somebody", **TELL))
    child = f"{run.id}~do-1"

    async def is_there() -> bool:
        chain = await client.chain(run.id)
        return [action.child for step in chain.steps for action in step.actions] == [child]

    await wait_until(is_there)
    return run, child, await asked_by(client, child)


def calls(chain: ChainView) -> list[str]:
    return [action.tool for step in chain.steps for action in step.actions]


async def test_a_skill_gives_its_instructions_back_and_is_listed_with_its_kind(
    system: Running, client: Client
) -> None:
    listed = {tool.name: tool for tool in await client.tools()}
    assert {
        name: tool.kind.value for name, tool in listed.items() if tool.kind.value == "skill"
    } == {
        "write-a-short-message": "skill",
        "tell-somebody": "skill",
        "note-twice": "skill",
        "plant-hedge": "skill",
    }
    told = listed["tell-somebody"]
    assert (told.read_only, told.may_clarify, told.provenance) == (False, True, {})
    result = await (await client.run(task=task("write-a-short-message"))).result()
    assert result.status == "completed"
    data = json.loads(result.answer.text)
    assert data["skill"] == "write-a-short-message"
    assert "Two sentences at most" in data["instructions"]
    shown = (await asyncio.to_thread(system.process, "tool", "show", "tell-somebody")).stdout
    assert "skill, effects" in shown
    assert "id: find" in shown
    assert "tool: lookup_contacts" in shown


async def test_a_skill_with_steps_is_a_chain_of_its_own_whose_question_is_answered(
    system: Running, client: Client
) -> None:
    run, child, request = await begun(client)
    assert (request.kind, request.id, request.chain_id) == (
        RequestKind.CLARIFICATION,
        f"{child}.r1",
        child,
    )
    above = await client.chain(run.id)
    assert (above.status, above.requests) == ("executing", ())
    assert [action.child for step in above.steps for action in step.actions] == [child]
    assert (
        f"chain {child}"
        in (await asyncio.to_thread(system.process, "chain", "show", run.id)).stdout
    )
    assert request.id in (await asyncio.to_thread(system.process, "inbox")).stdout
    await client.answer(request.id, option_id="user_def456")
    result = await run.result()
    assert result.status == "completed"
    assert calls(result.chain) == ["tell-somebody"]
    below = await client.chain(child)
    assert (below.status, calls(below)) == ("completed", ["lookup_contacts", "send_message"])
    (message,) = system.sent(child)
    assert (message.to, message.content) == ("user_def456", TELL["words"])
    assert json.loads(result.answer.text)["recipient_id"] == "user_def456"
    facts = [event.type async for event in client.attach(child).events()]
    assert facts.count("chain.completed") == 1
    assert (facts[0], facts[-1]) == ("chain.started", "chain.completed")
