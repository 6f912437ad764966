"""Who works on the task of a chain: decided before anything else of it, once (CONTRACT I1)."""

from dataclasses import replace

from msgspec import structs

from haltpoint.chain.checks.agents import assigned_to, with_agents
from haltpoint.chain.checks.routing import Choice, choice_of
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.state import Routing
from haltpoint.chain.model.work import Work
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.routing import SUPERVISOR, Routed, Strategy
from haltpoint.contracts.work.tasks import Assignment


def assign(work: Work) -> None:
    """Route the task where it was left open who works on it, and no model has to be asked."""
    said = work.world.agents.supervisor
    if work.task.agent != SUPERVISOR or said is None or said.strategy is Strategy.LLM:
        return
    route(work, choice_of(said.strategy, work.task, work.world.agents, work.number), said.strategy)


def route(work: Work, choice: Choice, strategy: Strategy) -> None:
    """The task becomes that of the agent that was chosen, as if it had named this one."""
    routed = Routed(
        target_agents=() if choice.agent is None else (choice.agent,),
        strategy=strategy,
        timestamp=work.now,
        reasoning=choice.reasoning,
        confidence=choice.confidence,
        rule=choice.rule,
    )
    work.routing = Routing(decisions=1, last=routed)
    work.tell(FactType.CHAIN_ROUTED, None, **{name: one for name, one in in_full(routed).items() if one is not None})
    assigned = work.task.assigned or Assignment("")
    task = structs.replace(work.task, agent=choice.agent, assigned=None, **structs.asdict(assigned.limits))
    if choice.agent is not None:
        given = structs.replace(task, assigned=structs.replace(assigned, tools=None))
        task = assigned_to(given, work.world.agents, assigned.version)
    work.task = task
    work.deadline = min(work.deadline, deadline_of(task, work.world.policy, work.created_at))
    tools = with_agents(work.world.tools, work.world.agents, task)
    work.world = replace(work.world, tools=tools)
