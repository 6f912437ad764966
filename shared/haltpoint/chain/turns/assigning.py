"""Who works on the task of a chain: decided before anything else of it, once (CONTRACT I1)."""

from dataclasses import replace
from typing import Final

from msgspec import structs

from haltpoint.chain.checks.agents import assigned_to, progress, with_agents
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.outputs import Next, Think, failed
from haltpoint.chain.model.state import Failure, Queued, Routing
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.routing import Choice, by_function, choice_of, rooms, routes_by
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.routing import Routed, Strategy
from haltpoint.contracts.work.tasks import Assignment
from haltpoint.contracts.work.thoughts import ThoughtKind

SOONEST, LATEST = 500, 10_000
"""Between two looks for room (ms): the longer it has waited, the more, so that its log stays short."""

PLACE: Final = "route"
"""The place of the one thought for which the function is called, in its id."""


def assign(work: Work) -> Next | None:
    """Route the task where it was left open who works on it, and no model has to be asked; `load` as soon as an agent
    has room.
    """
    agents = work.world.agents
    strategy = routes_by(work.task, agents)
    if strategy is Strategy.FUNCTION:
        return Think(thought_id(work.id, PLACE, 0, 1), ThoughtKind.ROUTE, None, 1, 1)
    choice = choice_of(work.task, agents, work.number, work.world.place)
    if strategy is not None and choice is not None:
        route(work, choice, strategy)
    return None


def waits_for_room(work: Work) -> bool:
    """Whether the chain may not begin yet, as its agent works on as many chains as it may; it looks again later."""
    names = [one.name for one in rooms(work, work.world)]
    if not names or (work.world.place is not None and work.world.place.agent in names):
        work.queued = None
        return False
    apart = min(max((work.now - work.created_at) // 4, SOONEST), LATEST)
    work.queued = Queued(work.now + apart, f"no room for one more chain of {', '.join(names)}")
    return True


def version_gone(work: Work) -> Failure | None:
    """The end of a chain whose version of the agents file cannot be read any more: its agents, their models and their
    prompts are not known.
    """
    assigned = work.task.assigned
    if assigned is None or not assigned.version or work.world.agents.agents:
        return None
    words = f"the version {assigned.version} of the agents file, with which the chain began, is gone"
    return failed(Code.AGENT_GONE, words)


def take_choice(work: Work, reply: ActionProposed | ThoughtFailed) -> Failure | None:
    """Route the task by what its function has said; the end of the chain where nothing is left to choose from."""
    work.thought = None
    if (gone := version_gone(work)) is None:
        route(work, by_function(reply, work.world.agents), Strategy.FUNCTION)
    return gone


def note_decision(work: Work, routed: Routed) -> None:
    """Write down who works on the task; the rounds of tools begin anew."""
    work.routing = Routing(0, progress(work).decisions + 1)
    work.tell(FactType.CHAIN_ROUTED, **{name: one for name, one in in_full(routed).items() if one is not None})


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
    note_decision(work, routed)
    assigned = work.task.assigned or Assignment("")
    task = structs.replace(work.task, agent=choice.agent, assigned=None, **structs.asdict(assigned.limits))
    if choice.agent is not None:
        given = structs.replace(task, assigned=structs.replace(assigned, tools=None))
        task = assigned_to(given, work.world.agents, assigned.version)
    work.task = task
    work.deadline = min(work.deadline, deadline_of(task, work.world.policy, work.created_at))
    tools = with_agents(work.world.tools, work.world.agents, task)
    work.world = replace(work.world, tools=tools)
