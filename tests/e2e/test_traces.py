"""One trace per chain across all four processes, received as real OTLP."""

import httpx

from haltpoint.client import Client
from tests.e2e.otlp import Received, Receiver
from tests.e2e.running import Running
from tests.e2e.test_skills import task
from tests.support import wait_until

AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": "haltpoint",
    "gen_ai.agent.name": "haltpoint",
    "gen_ai.conversation.id": "talk-7",
}
MESSAGING = {
    "messaging.system": "redis",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.name": "events",
    "messaging.consumer.group.name": "executor",
}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function"}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "contacts",
    "gen_ai.conversation.id": "talk-7",
}
"""What the conventions of OpenTelemetry ask of such spans."""


CLOCK = 50_000_000
"""Nanoseconds by which the clocks of the server and of a process on this machine may differ: a
chain begins and ends by the server's, in whole milliseconds.
"""


def named(spans: list[Received], prefix: str) -> list[Received]:
    return [span for span in spans if span.name.startswith(prefix)]


async def test_a_chain_with_a_question_is_one_trace(
    system: Running, client: Client, receiver: Receiver
) -> None:
    run = await client.run(task={"goal": "Tell John I'm running late", "conversation_id": "talk-7"})
    request = await run.expects_request("clarification")
    headers = {"authorization": f"Bearer {system.key}", "idempotency-key": "sent-twice"}
    async with httpx.AsyncClient(base_url=system.url, headers=headers) as person:
        for _ in range(2):
            choice = {"kind": "clarification", "option_id": "user_abc123"}
            assert (
                await person.post(f"/v1/requests/{request.id}/answer", json=choice)
            ).status_code == 200
    assert (await run.result()).status == "completed"

    def complete() -> bool:
        spans = receiver.of_chain(run.id)
        counts = [len(named(spans, name)) for name in ("process answer.drafted", "execute_tool")]
        return counts == [1, 2] and len(named(spans, "chat")) == len(named(spans, "process")) - 4

    await wait_until(complete)
    spans = receiver.of_chain(run.id)
    assert {span.service for span in spans} == {
        "haltpoint-gateway",
        "haltpoint-executor",
        "haltpoint-planner",
        "haltpoint-tool-worker",
    }
    (root,) = [span for span in spans if not span.parent_id]
    assert root.name == "invoke_agent haltpoint"
    assert root.attributes["haltpoint.chain.status"] == "completed"
    (sent,) = named(spans, "send ")
    assert (sent.service, sent.parent_id) == ("haltpoint-gateway", root.span_id)
    around = (root.started - CLOCK, root.ended + CLOCK)
    assert all(around[0] <= span.started <= span.ended <= around[1] for span in spans)
    by_id = {span.span_id: span for span in spans}

    decisions = named(spans, "process ")
    assert root.ended > max(span.started for span in decisions) - CLOCK, "it has the end"
    assert {span.name for span in decisions} >= {
        "process task.submitted",
        "process plan.drafted",
        "process action.proposed",
        "process tool.completed",
        "process human.answered",
        "process answer.drafted",
    }
    assert {span.parent_id for span in decisions} == {root.span_id}

    actions, thoughts = named(spans, "execute_tool "), named(spans, "chat ")
    assert {span.name for span in actions} == {
        "execute_tool lookup_contacts",
        "execute_tool send_message",
    }
    for span in (*actions, *thoughts):
        assert by_id[span.parent_id] in decisions
    (drafted,) = named(spans, "process plan.drafted")
    assert [by_id[link] for link in drafted.links] == [
        span for span in thoughts if span.attributes["haltpoint.thought.kind"] == "plan"
    ]
    assert {
        (span.attributes["gen_ai.tool.name"], span.attributes["haltpoint.next_action"])
        for span in actions
    } == {
        ("lookup_contacts", "clarification_needed"),
        ("send_message", "continue"),
    }
    assert {
        span.attributes["haltpoint.chain.status"] for span in named(spans, "process answer")
    } == {"completed"}
    for found, conventional in (
        ([root], AGENT),
        (decisions, MESSAGING),
        (actions, TOOL),
        (thoughts, CHAT),
    ):
        for span in found:
            assert {name: span.attributes.get(name) for name in conventional} == conventional

    assert not any(span.status == 2 for span in spans)


async def test_a_skill_has_a_span_of_its_own_inside_of_that_of_the_chain_above(
    client: Client, receiver: Receiver
) -> None:
    run = await client.run(task=task("tell-somebody", who="Sarah", words="I am late"))
    await run.result()
    await wait_until(lambda: len(named(receiver.of_chain(run.id), "invoke_workflow")) == 2)
    spans = named(receiver.of_chain(run.id), "invoke_workflow")
    root, below = sorted(spans, key=lambda span: span.parent_id)
    assert (root.name, below.name) == ("invoke_workflow plan", "invoke_workflow tell-somebody")
    (above,) = [one for one in receiver.of_chain(run.id) if one.span_id == below.parent_id]
    assert above.parent_id == root.span_id
    assert root.started <= below.started <= below.ended <= root.ended
