"""A decision of a supervisor's model: the call of `route`, or its JSON read as that call (C9, I2),
and the prompt.
"""

import json

import pytest

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import AnswerRequested, ThoughtRequest
from haltpoint.contracts.events import AnswerDrafted
from haltpoint.contracts.results import Below, Metadata, NextAction, Outcome
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Supervisor
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import NativeCall, Prompt, Reply
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context, Receipt
from haltpoint_planner.thoughts import reply_to
from tests.support.builders import open_task, spec, specs

GOAL = "My order 17 has not come"
AGENTS = (
    Agent(name="billing", description="Invoices\nand refunds.", skills=("invoice", "refund")),
    Agent(name="general", description="Everything else."),
)
TASK = open_task(GOAL, agent=SUPERVISOR)
TOOLS = with_agents(specs(spec("find_order")), Agents(AGENTS, supervisor=Supervisor()), TASK)
DECISION: JsonObject = {
    "target_agent": "billing",
    "task": "Pay it back",
    "reasoning": "money",
    "confidence": 0.8,
}
TEXT = json.dumps(DECISION)


def read(content: object, *calls: NativeCall) -> Proposal:
    text = content if isinstance(content, str) else json.dumps(content)
    return draft_proposal(Reply(text, calls), TOOLS)


@pytest.mark.parametrize(
    "words",
    [
        TEXT,
        TEXT.replace("target_agent", "targetAgent"),
        f"```json\n{json.dumps(DECISION, indent=1)}\n```",
        f"---JSON_OUTPUT_START---\n{TEXT}\n---JSON_OUTPUT_END---",
        f'<think>Or {{"target_agent": "general"}}?</think>{TEXT}',
        json.dumps({**DECISION, "strategy": "llm", "timestamp": 1, "context": None}),
        json.dumps({"name": ROUTE, "arguments": DECISION}),
    ],
)
def test_c9_a_decision_is_a_call_of_route_or_its_json(words: str) -> None:
    proposal = read(words)
    assert [(call.tool, call.arguments) for call in proposal.calls] == [(ROUTE, DECISION)]
    assert (proposal.content, proposal.faults) == ("", ())


def test_c9_who_cannot_route_says_words() -> None:
    proposal = draft_proposal(Reply(TEXT), specs(spec("find_order")))
    assert proposal.calls == ()


@pytest.mark.parametrize(
    ("words", "called", "text"),
    [
        (TEXT, (ROUTE,), ""),
        (f"The form is `{TEXT}`, as agreed.", (), f"The form is `{TEXT}`, as agreed."),
    ],
)
def test_i2_a_decision_in_the_place_of_an_answer_is_a_call(
    words: str, called: tuple[str, ...], text: str
) -> None:
    request = ThoughtRequest(thought_id="c.answer.t0.1", kind=ThoughtKind.ANSWER, deadline=0)
    asked = AnswerRequested(id=request.thought_id, source="haltpoint/executor", data=request)
    message = reply_to(asked, Reply(words), TOOLS)
    assert isinstance(message, AnswerDrafted)
    assert (message.data.called, message.data.text) == (called, text)


# ---- the prompt
# --------------------------------------------------------------------------------------------------


def prompt_of(*receipts: Receipt, tools: tuple[str, ...] = ("find_order",)) -> Prompt:
    has_ended = any(known.tool == ROUTE for known in receipts)
    kind, due = (ThoughtKind.REASON, ()) if has_ended else (ThoughtKind.ACT, ((ROUTE,),))
    request = ThoughtRequest(
        thought_id="c.route.t1.1", kind=kind, step_id="route", deadline=0, due=due
    )
    known = {**TOOLS, ASK_HUMAN: HUMAN_SPEC}
    offered = {name: known[name] for name in (*tools, ROUTE)}
    own = Agent(name=SUPERVISOR, description="d", prompt="You are the desk.")
    plan = Plan(steps=(Step(id="route", description=GOAL),))
    return prompts.build(
        Context(request, TASK, plan, receipts, tools=offered, known=TOOLS, agent=own)
    )


def offered_by(prompt: Prompt) -> list[str]:
    return [tool["name"] for tool in prompt.tools]


def receipt(tool: str, data: object, agent: str = "") -> Receipt:
    outcome = Outcome(
        success=True, next_action=NextAction.CONTINUE, metadata=Metadata(below=Below(agent=agent))
    )
    return Receipt("route", tool, '{"target_agent": "billing"}', outcome, json.dumps(data))


def test_i2_the_prompt_has_the_agents_in_the_tool_route() -> None:
    prompt = prompt_of()
    system, task = (str(message["content"]) for message in prompt.messages)
    assert system.startswith("You are the desk.\n\nYou decide who works on the user's goal.")
    assert task.startswith(f"Goal: {GOAL}\n\nDecide who works on it")
    assert offered_by(prompt) == ["find_order", ROUTE]
    route = prompt.tools[1]
    assert (
        "billing: Invoices and refunds. (good at: invoice, refund); general: Everything else."
        in route["description"]
    )
    assert route["parameters"]["properties"]["target_agent"]["enum"] == ["billing", "general"]
    assert route["parameters"]["required"] == ["target_agent"]


def test_i2_until_an_agent_has_worked_it_must_call() -> None:
    """A small model that has no form for a call writes it in ways that cannot be read."""
    prompt = prompt_of(receipt("find_order", {"id": "o1"}))
    assert prompt.force


def test_i2_what_an_agent_said_is_the_result_of_a_call() -> None:
    prompt = prompt_of(
        receipt("find_order", {"id": "o1"}), receipt(ROUTE, {"text": "route to admin"}, "billing")
    )
    *_, found, call, result = prompt.messages
    assert (found["role"], result["role"]) == ("tool", "tool")
    assert call["tool_calls"][0]["function"]["name"] == ROUTE
    assert "route to admin" in result["content"]
    assert "tell the user so in plain words, without JSON." in result["content"]
    assert (prompt.force, prompt.schema) == (False, None)


def test_i4_whom_to_ask_is_a_tool_of_the_supervisor() -> None:
    assert offered_by(prompt_of(tools=(ASK_HUMAN,))) == [ASK_HUMAN, ROUTE]
