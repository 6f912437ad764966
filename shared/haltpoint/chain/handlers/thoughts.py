"""What the planner brings besides proposals: plans, answers, and a thought that failed (C1)."""

from typing import Final

import msgspec

from haltpoint.chain.checks.citations import false_marks
from haltpoint.chain.checks.goal import ask_again, note_look, take_up
from haltpoint.chain.checks.intent import forbidden, left_out, plan_pattern_faults, remind, tellable
from haltpoint.chain.checks.plan_check import PlanFault, plan_faults
from haltpoint.chain.handlers.beginning import adopt, begin_open
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.needs import reads_goal
from haltpoint.chain.model.next import Completed, Next, failed, step_failed
from haltpoint.chain.model.schemas import SHOWN
from haltpoint.chain.model.state import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.delivering import deliver, take_findings
from haltpoint.chain.turns.exits import ask_while_planning
from haltpoint.chain.turns.strikes import escalate, strikes_exhausted, violate
from haltpoint.chain.turns.thinking import overspent, stand_in, think_answer, think_intent, think_plan
from haltpoint.contracts.events import AnswerDrafted, IntentDrafted, PlanDrafted, ThoughtFailed
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_FAULTS: Final = 20
"""Faults of one plan that a model gets: a hostile plan has thousands, and the question must stay a message."""

MOST_NAMED: Final = 300
"""Characters of the names of tools that an answer called, as the model gets them."""

_NO_INTENT: Final = "The reply holds no intent. Answer with the one JSON object that was asked for."
_IN_WORDS: Final = "Answer the user in plain words, without JSON."


def take_plan(work: Work, message: PlanDrafted) -> Next | None:
    """Check the plan: carry it out, or return its problems to the model; at the limit of strikes a person decides."""
    data, mode = message.data, work.mode(None)
    if data.thought_id != work.thought or reads_goal(work):
        return None
    work.spend(data.usage)
    if (spent := overspent(work)) is not None:
        return spent
    if data.question is not None and (asked := ask_while_planning(work, data.question)) is not None:
        return asked
    misquoted = take_up(work, data.intent)
    faults, missing = _faults(work, data.plan, data.fault)
    corrections = (*faults, *(() if mode is Mode.OFF else missing))
    if corrections:
        violate(work, None, data.thought_id, corrections, "", place="plan")
    elif mode is not Mode.OFF and (better := ask_again(work, _amiss(work, data, misquoted))):
        return think_plan(work, better, data.thought_id)
    if data.plan is not None and not faults and not (missing and mode is Mode.STRICT):
        work.thought = None
        adopt(work, _without_calls(data.plan), PlanOrigin.DRAFTED)
        return None
    if not strikes_exhausted(work, None) and (mode is not Mode.OFF or work.plan_attempts < work.world.policy.strikes):
        return think_plan(work, corrections, data.thought_id)
    if mode is Mode.STRICT:
        work.thought = None
        return escalate(work, None, f"no valid plan after {count(work.strikes, 'attempt')}")
    told = "; ".join(correction.message for correction in corrections)
    return failed(Code.PLAN_NOT_FOUND, f"no plan after {count(work.plan_attempts, 'attempt')}: {told}")


def _faults(work: Work, plan: Plan | None, fault: str | None) -> tuple[tuple[Correction, ...], tuple[Correction, ...]]:
    """What makes the plan impossible (C1), and what the user's words miss in it (C2)."""
    if plan is None:
        found, missing = [fault or "the reply has no plan"], tuple[Correction, ...]()
    else:
        named, mode = tellable(work, None), work.mode(None)
        wrong = plan_faults(plan, work.world.tools, work.world.policy, literal=False, task=work.task, named=named)
        limits = ((step.id, forbidden(work, mode, name)) for step in plan.steps for name in step.required_tools)
        wrong = (*wrong, *(PlanFault(step_id, limit.message) for step_id, limit in limits if limit is not None))
        found, missing = [str(one) for one in wrong], plan_pattern_faults(work, plan)
    if len(found) > MOST_FAULTS:
        found[MOST_FAULTS:] = [f"and {len(found) - MOST_FAULTS} more faults of these kinds"]
    return tuple(Correction(violation=Violation.BAD_PLAN, message=text) for text in found), missing


def _amiss(work: Work, data: PlanDrafted.Data, misquoted: tuple[str, ...]) -> tuple[str, ...]:
    """What a plan with an intent is sent back for once, without a strike (C12)."""
    read = data.intent is not None or work.task.intent is not None
    return (*misquoted, *left_out(work, data.plan)) if data.plan is not None and read else ()


def _without_calls(plan: Plan) -> Plan:
    """A drafted plan promises tools; its calls are proposed turn by turn, where each is checked (C6)."""
    return Plan(steps=tuple(msgspec.structs.replace(step, actions=()) if step.actions else step for step in plan.steps))


def end_with_answer(work: Work, message: AnswerDrafted) -> Next | None:
    """Complete the chain: these are the words for the user, unless they call a tool or cannot be read (C6).

    Such an answer is asked for again, and one that cites a result that does not exist (F2); after the strikes its words
    are delivered, or the results where it has none.
    """
    data = message.data
    if data.thought_id != work.thought or reads_goal(work):
        return None
    work.spend(data.usage)
    if data.findings is not None:
        return take_findings(work, data)
    if overspent(work):  # the work is done: a reply that cost too much is not acted on
        return Completed(stand_in(work, "the model used more tokens than budgeted"))
    no_words = _no_words(data)
    corrections = tuple(no_words) or false_marks(work, None, data.text)
    if corrections:
        violate(work, None, data.thought_id, corrections, data.text, place="answer")
        if work.mode(None) is Mode.STRICT and not strikes_exhausted(work, None):
            return think_answer(work, corrections, data.thought_id, "" if no_words else data.text)
    words = "" if data.faults else data.text
    if not corrections and (owed := remind(work)):
        return think_answer(work, owed, data.thought_id, words)
    if words:
        return deliver(work, words, data.thought_id)
    if data.faults:
        return Completed(stand_in(work, "the model's reply could not be read"))
    said = "called a tool instead of answering" if data.called else "said nothing"
    return Completed(stand_in(work, f"the model {said}"))


def _no_words(data: AnswerDrafted.Data) -> list[Correction]:
    """What an answer holds that is no words for the user: calls, and what could not be read."""
    faults: list[Correction] = []
    if data.called:
        names = ", ".join(dict.fromkeys(data.called))[:MOST_NAMED]
        text = f"{names} cannot be called now: the work is over. {_IN_WORDS}"
        faults.append(Correction(violation=Violation.NOT_ALLOWED, message=text, tool=data.called[0]))
    if data.faults:
        text = f"Your reply could not be read: {'; '.join(data.faults[:SHOWN])}. {_IN_WORDS}"
        faults.append(Correction(violation=Violation.UNREADABLE, message=text))
    return faults


def take_intent(work: Work, message: IntentDrafted) -> Next | None:
    """Continue with what the goal asks for: begin the open-ended step, or act on the proposal that waits for it."""
    data = message.data
    if data.thought_id != work.thought or not reads_goal(work):
        return None
    work.spend(data.usage)
    return overspent(work) or _read_goal(work, data.intent)


def _read_goal(work: Work, drafted: Intent | None) -> Next | None:
    """A model that gives no usable intent leaves what patterns find: the task continues (C12)."""
    if work.plan is not None:
        note_look(work, drafted or Intent())
        work.thought = None
        return None
    wrong = take_up(work, drafted)
    if better := ask_again(work, (_NO_INTENT,) if drafted is None else wrong):
        return think_intent(work, better, work.thought)
    begin_open(work)
    return None


def take_failed_thought(work: Work, message: ThoughtFailed) -> Next | None:
    """Do without the thought: fail the step that waited for it; in place of an answer show the results."""
    data = message.data
    if data.thought_id != work.thought:
        waits = (index for index in work.active if work.awaits(index, data.thought_id))
        index = next(waits, None)
        return None if index is None else step_failed(index, data.code, data.message)
    if reads_goal(work):
        return _read_goal(work, None)
    if work.plan is None:
        return failed(data.code, data.message)
    return Completed(stand_in(work, f"{data.message.rstrip('.')} ({data.code})"))
