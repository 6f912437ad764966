"""Who works on a task (CONTRACT I1 to I3): found before anything else of it, or decided by a
supervisor's model.

The supervisor's one step calls its tools, and `route` when it knows who works on the task. The
rounds of tools before a decision are counted; when they are used up the model has to decide, and if
it does not, a person does. A person also does where the model is not sure of its decision.
"""

from dataclasses import asdict, replace
from typing import Any

from msgspec import structs

from haltpoint.chain.checks.agents import (
    BY_STRATEGY,
    Choice,
    assigned_to,
    by_function,
    must_route,
    route_in,
    router,
    strategy_for,
    with_agents,
)
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.judges import proposed
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.outputs import Next
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_who, takers
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.thinking import escalate, no_call, strike, think_step, thought
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Strategy
from haltpoint.contracts.work.thoughts import ThoughtKind

# ---- before the task begins
# ------------------------------------------------------------------------------------------


def assign(work: Work) -> Next | None:
    """Give the task to its agent, or to the supervisor, and route it where no model has to be
    asked. A task that an agent has handed on has its agent already.
    """
    agents = work.world.agents
    task = work.task
    strategy = strategy_for(work, agents)
    if strategy is Strategy.FUNCTION:
        return thought(work, ThoughtKind.ROUTE, 1)
    if strategy is Strategy.LLM:
        _give_to(work, SUPERVISOR)
    elif strategy is not None:
        choose = BY_STRATEGY[strategy]
        _route(work, choose(task, agents, work.world.counts, work.world.turn), strategy)
    elif task.agent is not None and task.handed.assigned is None:
        _give_to(work, task.agent)
    return None


def take_choice(work: Work, reply: ActionProposed | ThoughtFailed) -> None:
    """Route the task by what its function has said."""
    work.thought = None
    _route(work, by_function(reply, work.world.agents), Strategy.FUNCTION)


def _route(work: Work, choice: Choice, strategy: Strategy) -> None:
    """The task becomes that of the agent that was chosen, as if it had named this one."""
    _note(work, choice, strategy)
    if choice.target_agent is not None:
        _give_to(work, choice.target_agent)


def _give_to(work: Work, name: str) -> None:
    """The task is this agent's from now on, within its limits."""
    agents = work.world.agents
    task = structs.replace(work.task, agent=name)
    work.task = assigned_to(task, agents)
    deadline = deadline_of(work.task, work.world.policy, work.created_at)
    work.deadline = min(work.deadline, deadline)
    tools = with_agents(work.world.tools, agents, work.task)
    work.world = replace(work.world, tools=tools)


def _note(work: Work, choice: Choice, strategy: Strategy, by: str | None = None) -> None:
    """Write down who works on the task; the rounds of tools begin anew."""
    decisions = work.below.decisions + 1
    work.below = structs.replace(work.below, rounds=0, decisions=decisions)
    about: dict[str, Any] = {**asdict(choice), "strategy": strategy.value, "by": by}
    work.tell(FactType.CHAIN_ROUTED, timestamp=work.now, **about)


# ---- a supervisor's model
# --------------------------------------------------------------------------------------------


def note_round(work: Work, index: int) -> None:
    """Count a turn of a supervisor's model that was no decision. It is none of the step's turns:
    rounds have a bound of their own.
    """
    if router(work) is not None:
        work.below = structs.replace(work.below, rounds=work.below.rounds + 1)
        work.edit(index).proposals -= 1


def decide(work: Work, call: CheckedCall) -> Question | None:
    """A supervisor's model hands the task on: it is written down (None), or a person is asked
    because the model is not sure enough (I3). An agent that hands its own on decides nothing about
    others.
    """
    supervisor = router(work)
    if supervisor is None:
        return None
    said = call.arguments
    confidence = float(said.get("confidence", 0))
    choice = Choice(said["target_agent"], said.get("reasoning", ""), confidence)
    if supervisor.threshold is None or confidence >= supervisor.threshold:
        _note(work, choice, Strategy.LLM)
        work.edit(call.index).proposals = 0  # its turns begin anew: decisions are bounded
        return None
    work.edit(call.index).taken += 1  # the decision is the person's now
    words = (
        f"The supervisor would choose {choice.target_agent}, with a confidence of {confidence:g}"
    )
    return ask_who(work, call.index, f"{words}: {choice.reasoning or 'it gives no reason'}")


def at_bound(work: Work, index: int) -> Next | None:
    """The rounds are used up, and the reply is neither a decision nor, once an agent has ended, an
    answer: a person decides who works on the task (I2). The step fails where no agent may get it.
    """
    proposal = work.proposal(index)
    if not must_route(work) or route_in(proposal) is not None:
        return None
    is_due = (ROUTE,) in missing(work, index)
    if not (is_due or proposal.calls or proposal.faults):
        return None
    strike(work, index, no_call(work, index))
    return escalate(work, index, "it named no agent")


def hand_to(work: Work, index: int, name: str, by: str) -> Next:
    """A person has chosen the agent: it gets the task in the words of the model, where that wrote
    any. Where it may not get the task any more, the model decides once more.
    """
    if name not in takers(work):
        return think_step(work, index, (no_call(work, index),))
    meant = route_in(work.proposal(index))
    task = None if meant is None else meant.arguments.get("task")
    arguments = {"target_agent": name, "task": task}
    _note(work, Choice(name, "", 0.0), Strategy.LLM, by)
    work.edit(index).proposals = 0
    return send(work, proposed(work, index, ProposedCall(tool=ROUTE, arguments=arguments)))
