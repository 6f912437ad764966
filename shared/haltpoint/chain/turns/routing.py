"""Routing by a model (CONTRACT I2, I3): what a decision of the supervisor has to be, what it does, and who decides in
its place.

The supervisor's one step calls its tools and decides who works on the task. A proposal that names agents is a decision:
these are called, side by side as far as they may, and all other calls of it are dropped. The rounds of tools before a
decision are counted; when they are used up the model has to decide, and if it does not, a person does, or the chain
fails. At the limit of strikes a person does, too, and where the model is not sure of a decision. They choose among the
agents that the model may name, and what they choose is checked and sent as if it had.
"""

from typing import Any

import msgspec

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.agents import LONGEST_TASK, decided, progress, router
from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.contract import listed
from haltpoint.chain.checks.goal import users_goal
from haltpoint.chain.checks.judges import refusal
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.checks.reasons import form_fault
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Ask, Next, StepEnd, step_failed
from haltpoint.chain.model.state import Routing
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import question
from haltpoint.chain.turns.assigning import note_decision
from haltpoint.chain.turns.dispatching import send
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.strikes import no_decision, reset_strikes, strikes_exhausted, unread, violate
from haltpoint.chain.turns.thinking import stand_in, think_step
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.results import Option
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import Decided, OnBound, Routed, Strategy, Supervisor
from haltpoint.contracts.work.thoughts import Correction, Proposal, Violation, broken


def decision_faults(work: Work, index: int, proposal: Proposal) -> tuple[Correction, ...]:
    """What is wrong with a decision: that there is none, or one fault for each agent that cannot get the task."""
    calls = decided(work, proposal)
    if not calls:
        return unread(work, index, proposal) or (no_decision(work),)
    found = (_target_fault(work, index, call) for call in calls)
    return tuple(dict.fromkeys(fault for fault in found if fault is not None))


def _target_fault(work: Work, index: int, call: ProposedCall) -> Correction | None:
    """Why one agent cannot get the task: there is none of this name, or its call is wrong."""
    if work.world.spec(call.tool).kind is ToolKind.AGENT:
        return refusal(CheckedCall.proposed(work, index, call))
    takers = listed(_takers(work, index))
    text = f"There is no agent {call.tool!r} to hand the task on to. Agents that can take it: {takers}."
    return Correction(violation=Violation.UNKNOWN_TOOL, tool=call.tool, message=text)


def _takers(work: Work, index: int) -> list[str]:
    """The agents that may get the task: those that the model may name, and a person may choose."""
    agents = [name for name, spec in work.world.tools.items() if spec.kind is ToolKind.AGENT]
    return [name for name in agents if refusal(_handing_on(work, index, name)) is None]


def _handing_on(work: Work, index: int, name: str) -> CheckedCall:
    """The call that hands the task on to an agent, in the words that the model meant for it, or for another; without
    any in the user's own.
    """
    calls = [CheckedCall.proposed(work, index, one) for one in decided(work, work.proposals[index])]
    sound = [one for one in calls if form_fault(one) is None]
    own = (one.arguments for one in sorted(sound, key=lambda one: one.spec.name != name))
    arguments = next(own, {"task": users_goal(work)[:LONGEST_TASK]})
    return CheckedCall.proposed(work, index, ProposedCall(tool=name, arguments=arguments))


def accept(work: Work, index: int, proposal: Proposal, said: Supervisor) -> Ask | None:
    """Act on a sound decision: its agents are called next (None), or a person is asked because the model is not sure
    enough (I3).
    """
    judged = proposal.routing or Decided()
    names = tuple(dict.fromkeys(call.tool for call in decided(work, proposal)))
    work.begin_turn(index)
    if said.threshold is not None and judged.confidence < said.threshold:
        why = f": {judged.reasoning}" if judged.reasoning else ""
        words = f"The supervisor would choose {', '.join(names)}, with a confidence of {judged.confidence:g}{why}"
        drop_held(work, index)  # the decision itself is the person's now
        return _ask_who(work, index, words)
    work.fresh = index
    _note(work, index, Routed(names, Strategy.LLM, work.now, judged.reasoning, judged.confidence))
    return None


def at_bound(work: Work, index: int, faults: tuple[Correction, ...], said: Supervisor) -> Next:
    """The last reply was no decision either: a person decides, or the step fails and says what was found out (I2)."""
    violate(work, index, work.awaited(index), faults, work.proposals[index].content)
    work.begin_turn(index)
    drop_held(work, index, "" if decided(work, work.proposals[index]) else "no agent was named")
    if (end := _results_stand(work, index)) is not None:
        return end
    return _unnamed(work, index, asks=said.on_bound is OnBound.ASK)


def at_limit(work: Work, index: int, said: Supervisor, *, again: bool) -> Next:
    """The step has no turn left in which the model could decide: the same. Or its row of strikes is full: a person
    decides (D3), unless only the words for the user are missing. Then the results stand for these.
    """
    proposal = work.proposals[index]
    if again:
        work.begin_turn(index)
    work.edit(index).taken = len(proposal.calls) + 1  # its faults were told, and nothing of it is held
    if not strikes_exhausted(work, index):
        return _unnamed(work, index, asks=said.on_bound is OnBound.ASK)
    broke = f"the supervisor {broken(work.case[-1].violation, routing=True)}"
    return _results_stand(work, index) or _unnamed(work, index, broke)


def _results_stand(work: Work, index: int) -> StepEnd | None:
    """The end of a step in which only the words for the user are missing: an agent has done its work, nothing is owed,
    and the model asks for no other agent. The results stand for these words.
    """
    served = any(one.satisfies and one.told.agent for one in work.actions.values())
    others = {one.tool for one in decided(work, work.proposals[index])}.intersection(_takers(work, index))
    wants_another = work.case[-1].violation is not Violation.STUCK and bool(others)
    if not served or wants_another or missing(work, index):
        return None
    work.words = ""
    return StepEnd(index)


def _unnamed(work: Work, index: int, why: str = "", *, asks: bool = True) -> Next:
    """Ask a person who works on the task; the step fails where the file says so, or no agent may get it."""
    rounds = progress(work).rounds
    why = why or "the supervisor named no agent" + (f" after {count(rounds, 'round')} of tools" if rounds else "")
    if asks and _takers(work, index):
        return _ask_who(work, index, why[0].upper() + why[1:])
    return step_failed(index, Code.AT_BOUND, why, stand_in(work, work.phrases.no_supervisor))


def hand_to(work: Work, index: int, name: str, by: str) -> Next | None:
    """A person has chosen the agent: its call is sent. What may be chosen can have
    changed since the question; then the model decides once more.
    """
    reset_strikes(work, index)
    if name not in _takers(work, index):
        return think_step(work, index, (no_decision(work),), work.acted_on(index))
    judged = work.proposals[index].routing or Decided()
    routed = Routed((name,), Strategy.LLM, work.now, by=by)
    if name in judged.targets:
        routed = msgspec.structs.replace(routed, reasoning=judged.reasoning, confidence=judged.confidence)
    _note(work, index, routed)
    call = _handing_on(work, index, name)
    return send(work, call)


def note_round(work: Work, index: int) -> None:
    """Count a round of tools, where a call of a supervisor's model is sent, or comes back in words and is no strike. It
    is none of the step's turns: rounds have a bound of their own.
    """
    if router(work) is not None:
        done = progress(work)
        work.routing = Routing(done.rounds + 1, done.decisions)
        work.edit(index).proposals -= 1


def is_result(work: Work, index: int, fault: Correction) -> bool:
    """Whether a call that cannot be made is a result in words, and no violation: a supervisor's model may call its
    tools wrongly, and others than it has, but no tool where it has none.
    """
    others = (one for one in work.steps[index].allowed_tools or () if one != human_tool.NAME)
    has_tools = any(work.world.spec(one).kind is not ToolKind.AGENT for one in others)
    return router(work) is not None and (has_tools or fault.violation is Violation.BAD_ARGUMENTS)


def ends_routing(work: Work) -> bool:
    """Whether a supervisor's model has made its last decision: with the results of that the answer is due."""
    said = router(work)
    return said is not None and progress(work).decisions >= said.max_iterations


def _note(work: Work, index: int, routed: Routed) -> None:
    """Write a decision down. The turns of the step begin anew, since decisions are bounded."""
    note_decision(work, routed)
    work.edit(index).proposals = 0


def _ask_who(work: Work, index: int, words: str) -> Ask:
    """The question to a person who works on the task; the agents that the model has named come first."""
    judged, takers = work.proposals[index].routing or Decided(), _takers(work, index)
    agents = [one for one in work.world.agents.choices if one.name in takers]
    agents.sort(key=lambda one: one.name not in judged.targets)
    options = tuple(
        Option(id=one.name, title=one.name, subtitle=one.description, **_judged(judged, one.name)) for one in agents
    )
    ends = "" if words.endswith((".", "!", "?")) else "."
    text = f"{words}{ends} Who works on this: {users_goal(work)}"
    return question(work, RequestKind.CLARIFICATION, index, text, options=options, strikes=work.case)


def _judged(judged: Decided, name: str) -> dict[str, Any]:
    """What the model says of an agent, as fields of an option."""
    if name not in judged.targets:
        return {}
    return {"confidence": judged.confidence, "metadata": {"reasoning": judged.reasoning}}
