"""A model that routes, over real processes (CONTRACT I2, I3): what it looks up, asks and decides,
also when processes are killed between a call and the decision, or before a reply is recorded.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest

from haltpoint.client import Client
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import ChainView
from haltpoint.runs import Result, Run
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.routers import ROUTERS_FILE, SLOWLY
from tests.e2e.running import Running, executors_killed
from tests.support import wait_until


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Running]:
    """A system in which each task without an agent is routed."""
    folder = tmp_path_factory.mktemp("routing")
    (folder / "agents.toml").write_text(ROUTERS_FILE)
    with run_system(folder, receiver) as running:
        yield running


def calls(result: Result) -> list[tuple[str, bool]]:
    """The calls of the supervisor's step, in order, those of agents by these, and whether each
    succeeded.
    """
    (step,) = result.chain.steps
    return [
        (
            action.arguments.get("target_agent", action.tool),
            action.receipt is not None and action.receipt.success,
        )
        for action in step.actions
    ]


def violations(result: Result) -> list[str]:
    return [one.violation.value for step in result.chain.steps for one in step.violations]


@dataclass(frozen=True)
class Behaviour:
    """What a supervisor is asked, how a person answers, and what must have happened in the end."""

    goal: str
    calls: list[tuple[str, bool]]
    answer: str = "Done: it."
    violated: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    asked: RequestKind | None = None
    said: JsonObject = field(default_factory=dict)
    task: JsonObject = field(default_factory=dict)


FOUND, BILLING = ("find_order", True), ("billing", True)
BEHAVIOURS: Final = {
    "a call is detected, executed, and the task routed after its result": Behaviour(
        "after a look", [FOUND, BILLING], "Done: order 17."
    ),
    "several calls before routing, and what they found is kept": Behaviour(
        "after two looks",
        [FOUND, ("lookup_contacts", True), BILLING],
        "Done: order 17 of Jane Smith.",
    ),
    "the limit of rounds": Behaviour(
        "never",
        [FOUND, FOUND, ("technical", True)],
        "Done: all of it.",
        ["no_call"],
        ["find_order"],
        RequestKind.CLARIFICATION,
        {"option_id": "technical"},
    ),
    "a decision without calls": Behaviour("plainly", [BILLING]),
    "a tool that fails": Behaviour("past a failure", [("find_order", False), BILLING]),
    "a tool that is missing": Behaviour(
        "past a missing tool", [BILLING], violated=["unknown_tool"]
    ),
    "a call that is malformed": Behaviour(
        "past a malformed call", [BILLING], violated=["bad_arguments"]
    ),
    "tools asked for and none configured": Behaviour(
        "without tools", [BILLING], violated=["not_allowed"], task={"tools": []}
    ),
    "the whole way with askHuman": Behaviour(
        "by asking",
        [("askHuman", True), FOUND, BILLING],
        "Done: order 17.",
        asked=RequestKind.INPUT,
        said={"text": "17"},
    ),
    "calls and routing in one reply": Behaviour(
        "both at once", [FOUND, BILLING], "Done: order 17.", never=["find_order"]
    ),
    "a decision that is not sure": Behaviour(
        "unsure", [BILLING], asked=RequestKind.CLARIFICATION, said={"option_id": "billing"}
    ),
}


async def begin(client: Client, behaviour: Behaviour, end: str = "") -> Run:
    return await client.run(task={"goal": f"Route {behaviour.goal}{end}", **behaviour.task})


async def finish(client: Client, behaviour: Behaviour, run: Run) -> None:
    """Answer as the behaviour says, and hold its end against it."""
    if behaviour.asked is not None:
        request = await run.expects_request(behaviour.asked)
        await client.answer(request.id, **behaviour.said)
    result = await run.result()
    assert (behaviour.goal, result.status, calls(result), violations(result)) == (
        behaviour.goal,
        "completed",
        behaviour.calls,
        behaviour.violated,
    )
    assert result.answer.text.partition("\n")[0] == behaviour.answer
    assert [one["tool"] for one in result.chain.never_executed] == behaviour.never
    *_, (agent, _) = calls(result)
    below = await client.chain(f"{run.id}~route-{len(calls(result))}")
    assert (below.agent, below.status) == (agent, "completed")
    routed = [one.details async for one in run.events() if one.type == "chain.routed"]
    assert [(fact["target_agent"], fact["strategy"]) for fact in routed] == [(agent, "llm")]


@pytest.mark.parametrize("party", [Party.EXECUTOR, Party.PLANNER])
async def test_i2_all_of_them_though_processes_are_killed_between_call_and_decision(
    system: Running, client: Client, party: Party
) -> None:
    runs = [(one, await begin(client, one, SLOWLY)) for one in BEHAVIOURS.values()]
    await wait_until(lambda: _decides(client, runs[1][1], looks=2))
    async with executors_killed(system, party):
        pass
    await asyncio.gather(*(finish(client, *one) for one in runs))


async def _decides(client: Client, run: Run, looks: int) -> bool:
    """Whether so many of its calls have their results: the decision is on its way."""
    chain: ChainView = await client.chain(run.id)
    return sum(one.receipt is not None for step in chain.steps for one in step.actions) == looks
