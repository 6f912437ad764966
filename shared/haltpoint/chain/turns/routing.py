"""Routing by a model (CONTRACT I2, I3): what a decision of the supervisor does, and who decides in its place.

The supervisor's one step calls its tools, and `route` when it knows who works on the task. The rounds of tools before a
decision are counted; when they are used up the model has to decide, and if it does not, a person does. At the limit of
strikes a person does, too, and where the model is not sure of its decision.
"""

from typing import Any

from msgspec import structs

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.agents import hand_on_fault, route_in, router, targets_of
from haltpoint.chain.checks.bounds import users_goal
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.judges import proposed
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Ask, Next, StepEnd, step_failed
from haltpoint.chain.model.schemas import form_value_faults
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.assigning import note_decision
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.strikes import no_call, reset_strikes, strikes_exhausted, violate
from haltpoint.chain.turns.thinking import stand_in, think_step
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.results import Option
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE, Routed, Strategy
from haltpoint.contracts.work.thoughts import Correction, Violation, broken


def decide(work: Work, call: CheckedCall) -> Ask | None:
    """A supervisor's model hands the task on: it is written down (None), or a person is asked because the model is not
    sure enough (I3). An agent that hands its own on decides nothing about others.
    """
    supervisor = router(work)
    if supervisor is None or call.spec.name != ROUTE:
        return None
    routed = _routed(work, call.arguments)
    if supervisor.threshold is not None and routed.confidence < supervisor.threshold:
        why = f": {routed.reasoning}" if routed.reasoning else ""
        sure = f"with a confidence of {routed.confidence:g}"
        drop_held(work, call.index)  # the decision itself is the person's now
        return _ask_who(work, call.index, f"The supervisor would choose {routed.target_agent}, {sure}{why}")
    _note(work, call.index, routed)
    return None


def at_bound(work: Work, index: int) -> Next:
    """The rounds are used up, and the last reply was no decision either: a person decides (I2)."""
    violate(work, index, work.awaited(index), (no_call(work, index),), work.proposal(index).content)
    work.begin_turn(index)
    drop_held(work, index, "no agent was named")
    return _results_stand(work, index) or _unnamed(work, index)


def at_limit(work: Work, index: int, *, again: bool) -> Next:
    """The step has no turn left in which the model could decide, or its row of strikes is full: a person decides (D3),
    unless only the words for the user are missing. Then the results stand for these.
    """
    proposal = work.proposal(index)
    if again:
        work.begin_turn(index)
    work.edit(index).taken = len(proposal.calls) + 1  # its faults were told, and nothing of it is held
    if not strikes_exhausted(work, index):
        return _unnamed(work, index)
    broke = f"the supervisor {broken(work.row.case[-1].violation, routing=True)}"
    return _results_stand(work, index) or _unnamed(work, index, broke)


def _results_stand(work: Work, index: int) -> StepEnd | None:
    """The end of a step in which only the words for the user are missing: an agent has done its work, and nothing is
    owed.
    """
    served = any(action.satisfies and action.told.below.agent for action in work.actions.values())
    if not served or missing(work, index):
        return None
    work.words = ""
    return StepEnd(index)


def _unnamed(work: Work, index: int, why: str = "") -> Next:
    """Ask a person who works on the task; the step fails where no agent may get it."""
    rounds = work.below.rounds
    why = why or "the supervisor named no agent" + (f" after {count(rounds, 'round')} of tools" if rounds else "")
    if _takers(work):
        return _ask_who(work, index, why[0].upper() + why[1:])
    return step_failed(index, Code.NOT_ROUTED, why, stand_in(work, work.phrases.no_supervisor))


def hand_to(work: Work, index: int, name: str, by: str) -> Next:
    """A person has chosen the agent: it gets the words that the model meant for it. Where it may not get the task any
    more, the model decides once more.
    """
    reset_strikes(work, index)
    if name not in _takers(work):
        return think_step(work, index, (no_call(work, index),), work.acted_on(index))
    meant = _meant(work, index)
    if meant.get("target_agent") != name:
        meant = {key: value for key, value in meant.items() if key == "task"}
    chosen = ProposedCall(tool=ROUTE, arguments={"target_agent": name, **meant})
    call = proposed(work, index, chosen)
    _note(work, index, _routed(work, call.arguments, by))
    return send(work, call)


def note_round(work: Work, index: int) -> None:
    """Count a round of tools, where a call of a supervisor's model is sent, or comes back in words and is no strike. It
    is none of the step's turns: rounds have a bound of their own.
    """
    if router(work) is not None:
        work.below = structs.replace(work.below, rounds=work.below.rounds + 1)
        work.edit(index).proposals -= 1


def is_result(work: Work, index: int, fault: Correction) -> bool:
    """Whether a call that cannot be made is a result in words, and no violation: a supervisor's model may call its
    tools wrongly, and others than it has, but no tool where it has none. Whom it names is a decision, and judged.
    """
    if router(work) is None or fault.tool == ROUTE:
        return False
    others = set(work.steps[index].allowed_tools or ()).difference((human_tool.NAME, ROUTE))
    return bool(others) or fault.violation is Violation.BAD_ARGUMENTS


def _meant(work: Work, index: int) -> dict[str, Any]:
    """What the last reply says to `route`, as far as it fits."""
    named, spec = route_in(work.proposal(index)), work.world.tools.get(ROUTE)
    if named is None or spec is None:
        return {}
    forms = spec.parameters["properties"]
    said = {name: value for name, value in named.arguments.items() if name in forms}
    return {name: value for name, value in said.items() if not form_value_faults(forms[name], value)}


def _routed(work: Work, arguments: dict[str, Any], by: str | None = None) -> Routed:
    return Routed(
        target_agent=arguments["target_agent"],
        strategy=Strategy.LLM,
        timestamp=work.now,
        reasoning=arguments.get("reasoning", ""),
        confidence=float(arguments.get("confidence", 0)),
        by=by,
    )


def _note(work: Work, index: int, routed: Routed) -> None:
    """Write a decision down. The turns of the step begin anew, since decisions are bounded."""
    note_decision(work, routed)
    work.edit(index).proposals = 0


def _takers(work: Work) -> tuple[str, ...]:
    """The agents that may get the task."""
    spec = work.world.tools.get(ROUTE)
    if spec is None or hand_on_fault(work, ROUTE) is not None:
        return ()
    return targets_of(spec)


def _ask_who(work: Work, index: int, words: str) -> Ask:
    """The question to a person who works on the task; the agent that the model has named comes first."""
    meant, takers = _meant(work, index), _takers(work)
    agents = [agent for agent in work.world.agents.choices if agent.name in takers]
    agents.sort(key=lambda agent: agent.name != meant.get("target_agent"))
    options = tuple(
        Option(id=agent.name, title=agent.name, subtitle=agent.description, **_judged(meant, agent.name))
        for agent in agents
    )
    ends = "" if words.endswith((".", "!", "?")) else "."
    text = f"{words}{ends} Who works on this: {users_goal(work)}"
    return question(work, RequestKind.CLARIFICATION, index, text, options=options, strikes=work.row.case)


def _judged(meant: dict[str, Any], name: str) -> dict[str, Any]:
    """What the model says of an agent, as fields of an option."""
    if meant.get("target_agent") != name:
        return {}
    return {"confidence": meant.get("confidence", 0), "metadata": {"reasoning": meant.get("reasoning", "")}}
