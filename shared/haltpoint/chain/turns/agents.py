"""Who works on a task (CONTRACT I1 to I3): found before anything else of it, or decided by a
supervisor's model.

The supervisor's one step calls its tools, and `route` when it knows who works on the task. The
rounds of tools before a decision are counted; when they are used up the model has to decide, and if
it does not, a person does. A person also does where the model is not sure of its decision.
"""

from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks.agents import (
    BY_STRATEGY,
    Choice,
    assigned_to,
    by_function,
    hand_on_fault,
    route_in,
    router,
    routes_by,
    targets_of,
    who_routes,
    with_agents,
)
from haltpoint.chain.checks.bounds import users_goal
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.judges import proposed
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.outputs import Ask, Next, Think, step_failed
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.strikes import no_call, reset_strikes, strike
from haltpoint.chain.turns.thinking import stand_in, think_step
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import ActionProposed, ThoughtFailed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import Option
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE, Routed, Strategy
from haltpoint.contracts.work.tasks import Assignment, Task
from haltpoint.contracts.work.thoughts import ThoughtKind

PLACE: Final = "route"
"""The place of the one thought for which the function is called, in its id."""

# ---- before the task begins
# ------------------------------------------------------------------------------------------


def assign(work: Work) -> Next | None:
    """Give the task to its agent, or to the supervisor, and route it where no model has to be
    asked. A task that an agent has handed on has its agent already.
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
        choice = choose(work.task, agents, work.world.counts, work.world.turn)
        _route(work, choice, strategy)
    return None


def take_choice(work: Work, reply: ActionProposed | ThoughtFailed) -> None:
    """Route the task by what its function has said."""
    work.thought = None
    _route(work, by_function(reply, work.world.agents), Strategy.FUNCTION)


def _route(work: Work, choice: Choice, strategy: Strategy) -> None:
    """The task becomes that of the agent that was chosen, as if it had named this one."""
    routed = Routed(
        target_agent=choice.agent,
        strategy=strategy,
        timestamp=work.now,
        reasoning=choice.reasoning,
        confidence=choice.confidence,
        rule=choice.rule,
    )
    _note(work, routed)
    own = work.task.handed.assigned or Assignment()
    assigned = None if choice.agent is None else structs.replace(own, tools=None)
    handed = structs.replace(work.task.handed, assigned=assigned)
    task = structs.replace(
        work.task, agent=choice.agent, handed=handed, **structs.asdict(own.limits)
    )
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


def _note(work: Work, routed: Routed) -> None:
    """Write down who works on the task; the rounds of tools begin anew."""
    decisions = work.below.decisions + 1
    work.below = structs.replace(work.below, rounds=0, decisions=decisions)
    told = {name: value for name, value in in_full(routed).items() if value is not None}
    work.tell(FactType.CHAIN_ROUTED, **told)


# ---- a supervisor's model
# --------------------------------------------------------------------------------------------


def note_round(work: Work, index: int) -> None:
    """Count a turn of a supervisor's model that was no decision. It is none of the step's turns:
    rounds have a bound of their own.
    """
    if router(work) is not None:
        work.below = structs.replace(work.below, rounds=work.below.rounds + 1)
        work.edit(index).proposals -= 1


def decide(work: Work, call: CheckedCall) -> Ask | None:
    """A supervisor's model hands the task on: it is written down (None), or a person is asked
    because the model is not sure enough (I3). An agent that hands its own on decides nothing about
    others.
    """
    supervisor = router(work)
    if supervisor is None:
        return None
    routed = _routed(work, call.arguments)
    if supervisor.threshold is not None and routed.confidence < supervisor.threshold:
        work.edit(
            call.index
        ).taken += 2  # nothing of the proposal is held: the decision is the person's now
        sure = f"with a confidence of {routed.confidence:g}"
        why = f": {routed.reasoning}" if routed.reasoning else ""
        return _ask_who(
            work, call.index, f"The supervisor would choose {routed.target_agent}, {sure}{why}"
        )
    _note_decision(work, call.index, routed)
    return None


def at_bound(work: Work, index: int) -> Next:
    """The rounds are used up, and the last reply was no decision either: a person decides who works
    on the task (I2). The step fails where no agent may get it.
    """
    strike(work, index, no_call(work, index))
    drop_held(work, index, "no agent was named")
    if _takers(work):
        return _ask_who(work, index, "The supervisor named no agent")
    words = stand_in(work, work.phrases.no_supervisor)
    return step_failed(index, Code.NOT_ROUTED, "the supervisor named no agent", words)


def hand_to(work: Work, index: int, name: str, by: str) -> Next:
    """A person has chosen the agent: it gets the words that the model meant for it. Where it may
    not get the task any more, the model decides once more.
    """
    reset_strikes(work, index)
    if name not in _takers(work):
        return think_step(work, index, (no_call(work, index),), work.acted_on(index))
    meant = _meant(work, index)
    if meant.get("target_agent") != name:
        meant = {key: value for key, value in meant.items() if key == "task"}
    chosen = ProposedCall(tool=ROUTE, arguments={"target_agent": name, **meant})
    call = proposed(work, index, chosen)
    _note_decision(work, index, _routed(work, call.arguments, by))
    return send(work, call)


def _routed(work: Work, arguments: dict[str, Any], by: str | None = None) -> Routed:
    return Routed(
        target_agent=arguments["target_agent"],
        strategy=Strategy.LLM,
        timestamp=work.now,
        reasoning=arguments.get("reasoning", ""),
        confidence=float(arguments.get("confidence", 0)),
        by=by,
    )


def _note_decision(work: Work, index: int, routed: Routed) -> None:
    """Write a decision down. The turns of the step begin anew, since decisions are bounded."""
    _note(work, routed)
    work.edit(index).proposals = 0


def _takers(work: Work) -> tuple[str, ...]:
    """The agents that may get the task."""
    spec = work.world.tools.get(ROUTE)
    if spec is None or hand_on_fault(work, ROUTE) is not None:
        return ()
    return targets_of(spec)


def _meant(work: Work, index: int) -> dict[str, Any]:
    """What the last reply says to `route`."""
    named = route_in(work.proposal(index))
    return {} if named is None else proposed(work, index, named).arguments


def _ask_who(work: Work, index: int, words: str) -> Ask:
    """The question to a person who works on the task; the agent that the model has named comes
    first.
    """
    meant, takers = _meant(work, index), _takers(work)
    agents = [agent for agent in work.world.agents.choices if agent.name in takers]
    agents.sort(key=lambda agent: agent.name != meant.get("target_agent"))
    options: list[Option] = []
    for agent in agents:
        option = Option(id=agent.name, title=agent.name, subtitle=agent.description)
        if agent.name == meant.get("target_agent"):
            why = {"reasoning": meant.get("reasoning", "")}
            option = structs.replace(option, confidence=meant.get("confidence", 0), metadata=why)
        options.append(option)
    stop = "" if words.endswith((".", "!", "?")) else "."
    text = f"{words}{stop} Who works on this: {users_goal(work)}"
    return question(
        work, RequestKind.CLARIFICATION, index, text, options=tuple(options), strikes=work.row.case
    )
