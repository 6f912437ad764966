"""What the contract costs per turn: building the prompt, reading the reply, and the checks of its
calls.

A plan of twenty steps in a world of fifty tools, every step but the last done with 100 kB of
receipts in all, and a last call with effects and five targets, each out of another receipt; without
model and network. Measured is the time of the processor that the thread takes, so that other
processes on the machine do not count.
"""

import json
import statistics
import time
from typing import Any, Final

import msgspec

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy, World, deadline_of
from haltpoint.chain.model.outputs import Decision, Dispatch
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import (
    ActionProposed,
    PlanDrafted,
    Received,
    TaskSubmitted,
    ToExecutor,
    ToolCompleted,
)
from haltpoint.contracts.results import Metadata, NextAction, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.parsing.completions import read_reply
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context, Receipt
from tests.support.builders import owing

STEPS, TOOLS, ROUNDS = 20, 50, 1000
NOW: Final = 1_000_000
OK: Final = Outcome(success=True, next_action=NextAction.CONTINUE)
NAMES: Final = ("to", "cc", "bcc", "email")
CALL: Final = {"query": "goal", "limit": 5}
ARGUMENTS: Final = json.dumps(CALL)
LAST: Final = json.dumps(
    CALL
    | {"record": "record-1"}
    | {name: f"person.{at}@example.org" for at, name in enumerate(NAMES)}
)


def _data(step: int) -> str:
    rows = [
        {"name": f"row {row}", "of": f"{step}.{row}", "words": "some " * 10} for row in range(57)
    ]
    return json.dumps(
        {"id": "record-1", "owner": {"email": f"Person.{step}@example.org"}, "rows": rows}
    )


def _tool(number: int) -> ToolSpec:
    text = {"type": "string", "description": "What it is about."}
    return ToolSpec(
        name=f"tool_{number:02}",
        description="Finds things, changes them and says what became of them. " * 3,
        read_only=number % 2 == 0,
        parameters={
            "type": "object",
            "properties": {
                "query": text,
                "limit": {"type": "integer"},
                "record": text,
                **dict.fromkeys(NAMES, text),
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        provenance={"record": ("tool_00.id",)} if number else {},
        targets=NAMES,
    )


def _plan() -> Plan:
    return Plan(
        steps=tuple(
            owing(
                f"s{number}",
                f"tool_{number:02}",
                description=f"Use tool {number} for the next part of the work",
                dependencies=(f"s{number - 1}",) if number else (),
            )
            for number in range(STEPS)
        )
    )


def _proposed(thought: ThoughtRequest, tool: str, arguments: str = ARGUMENTS) -> ActionProposed:
    """One turn of the planner behind the model: what it makes of a server's answer."""
    call = {"type": "function", "function": {"name": tool, "arguments": arguments}}
    body = json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    )
    reply = read_reply(body)
    if reply is None:
        raise RuntimeError("the answer was not read: the measurement is void")
    data = ActionProposed.Data(
        thought_id=thought.thought_id,
        step_id=thought.step_id or "",
        proposal=draft_proposal(reply, {}),
    )
    return ActionProposed(id=f"{thought.thought_id}/reply", source="bench", subject="c", data=data)


def _last_turn(world: World) -> tuple[Chain, ThoughtRequest]:
    """A chain whose last step is being thought about."""
    task = Task(goal="Do all of it")
    chain = Chain(
        "c", task, created_at=NOW, updated_at=NOW, deadline=deadline_of(task, world.policy, NOW)
    )

    def hear(message: ToExecutor, body: str = "") -> list[Any]:
        nonlocal chain
        decision: Decision = decide(chain, Received(message, body), world, NOW)
        chain = decision.chain
        return list(decision.outputs)

    (planning,) = hear(TaskSubmitted(id="c", source="bench", subject="c", data=task))
    drafted = PlanDrafted.Data(thought_id=planning.thought_id, plan=_plan())
    (thought,) = hear(PlanDrafted(id="p", source="bench", subject="c", data=drafted))
    for number in range(STEPS - 1):
        said = hear(_proposed(thought, f"tool_{number:02}"))
        (action,) = [one.action for one in said if isinstance(one, Dispatch)]
        outcome = msgspec.structs.replace(OK, metadata=Metadata(action_id=action.id))
        done = ToolCompleted.Data(action_id=action.id, outcome=outcome)
        said = hear(
            ToolCompleted(id=f"{action.id}/1/done", source="bench", subject="c", data=done),
            _data(number),
        )
        (thought,) = [one for one in said if isinstance(one, ThoughtRequest)]
    return chain, thought


def contract_ms() -> dict[str, float]:
    """Milliseconds of one turn: the median, and what one in a hundred takes."""
    tools = {f"tool_{number:02}": _tool(number) for number in range(TOOLS)}
    world = World(tools, Policy())
    chain, thought = _last_turn(world)
    receipts = tuple(
        Receipt(f"s{number}", f"tool_{number:02}", ARGUMENTS, OK, _data(number))
        for number in range(STEPS - 1)
    )
    request = ThoughtRequest(
        thought_id=thought.thought_id,
        kind=thought.kind,
        step_id=thought.step_id,
        deadline=chain.deadline,
    )
    context = Context(request, chain.task, plan=chain.plan, receipts=receipts, tools=tools)
    times = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        prompt = prompts.build(context)
        proposed = _proposed(thought, f"tool_{STEPS - 1:02}", LAST)
        decision = decide(chain, Received(proposed, ""), world, NOW)
        times.append((time.thread_time() - started) * 1000)
        sent = [one for one in decision.outputs if isinstance(one, Dispatch)]
        if (
            not prompt.tools
            or not sent
            or sent[0].reasons
            or len(sent[0].sources) != len(NAMES) + 1
        ):
            raise RuntimeError("nothing was dispatched: the measurement is void")
    return {
        "contract_p50_ms": round(statistics.median(times), 2),
        "contract_p99_ms": round(statistics.quantiles(times, n=100)[98], 2),
    }
