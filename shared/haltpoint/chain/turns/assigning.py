"""Who works on the task of a chain: decided before anything else of it, once (CONTRACT I1, I3)."""

from dataclasses import replace
from typing import Final

from msgspec import structs

from haltpoint.chain.checks.agents import assigned_to, who_routes, with_agents
from haltpoint.chain.checks.strategies import BY_STRATEGY, Choice, by_function, routes_by
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.outputs import Next, Think
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.routing import Routed, Strategy
from haltpoint.contracts.work.tasks import Assignment, Task
from haltpoint.contracts.work.thoughts import ThoughtKind

PLACE: Final = "route"
"""The place of the one thought for which the function is called, in its id."""


def assign(work: Work) -> Next | None:
    """Give the task to its agent, or to the supervisor, and route it where no model has to be asked. A task that an
    agent has handed on has its agent already.
    """
    agents = work.world.agents
    name = work.task.agent or who_routes(work, agents)
    if name is not None and work.task.handed.assigned is None:
        _give(work, structs.replace(work.task, agent=name))
    strategy = routes_by(work.task, agents)
    if strategy is Strategy.FUNCTION:
        return Think(thought_id(work.id, PLACE, 0, 1), ThoughtKind.ROUTE, None, 1, 1)
    if strategy is not None:
        choose = BY_STRATEGY[strategy]
        route(work, choose(work.task, agents, work.world.counts, work.world.turn), strategy)
    return None


def take_choice(work: Work, reply: ActionProposed | ThoughtFailed) -> None:
    """Route the task by what its function has said."""
    work.thought = None
    route(work, by_function(reply, work.world.agents), Strategy.FUNCTION)


def note_decision(work: Work, routed: Routed) -> None:
    """Write down who works on the task; the rounds of tools begin anew."""
    work.below = structs.replace(work.below, rounds=0, decisions=work.below.decisions + 1)
    work.tell(FactType.CHAIN_ROUTED, **{name: one for name, one in in_full(routed).items() if one is not None})


def route(work: Work, choice: Choice, strategy: Strategy) -> None:
    """The task becomes that of the agent that was chosen, as if it had named this one."""
    routed = Routed(
        target_agent=choice.agent,
        strategy=strategy,
        timestamp=work.now,
        reasoning=choice.reasoning,
        confidence=choice.confidence,
        rule=choice.rule,
    )
    note_decision(work, routed)
    own = work.task.handed.assigned or Assignment()
    task = structs.replace(work.task, agent=choice.agent, **structs.asdict(own.limits))
    assigned = None if choice.agent is None else structs.replace(own, tools=None)
    task = structs.replace(task, handed=structs.replace(task.handed, assigned=assigned))
    if choice.agent is None:
        work.task = task
    else:
        _give(work, task)


def _give(work: Work, task: Task) -> None:
    """The task is its agent's from now on, within the limits of this one."""
    agents = work.world.agents
    work.task = assigned_to(task, agents)
    deadline = deadline_of(work.task, work.world.policy, work.created_at)
    work.deadline = min(work.deadline, deadline)
    tools = with_agents(work.world.tools, agents, work.task)
    work.world = replace(work.world, tools=tools)
