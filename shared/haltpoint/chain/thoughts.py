"""What the planner brings besides proposals: plans, answers, and that a thought could not be had (C1)."""

from typing import Final

from haltpoint.chain.codes import Code
from haltpoint.chain.contract import PlanFault, plan_faults
from haltpoint.chain.ending import complete_chain, fail_chain, fail_step
from haltpoint.chain.scheduling import adopt, list_faults
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.thinking import receipts_as_answer, spent_too_much, think_plan
from haltpoint.chain.work import Work
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.events import AnswerDrafted, PlanDrafted, ThoughtFailed
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.thoughts import Correction, Violation

MOST_FAULTS: Final = 20
"""Faults of one plan that a model is told: a hostile plan has thousands, and the question must stay a message."""


def take_plan(work: Work, message: PlanDrafted) -> None:
    """Check the plan: carry it out, or send its faults back, so many times as the policy allows."""
    data = message.data
    if data.thought_id != work.chain.thought:
        return
    work.spend(data.usage)
    if spent_too_much(work):
        return
    faults: tuple[PlanFault, ...]
    if data.plan is None:
        faults = (PlanFault(None, data.fault or "there is no plan in the reply"),)
    else:
        faults = plan_faults(data.plan, work.world.tools, work.world.policy, literal=False)
        if not faults:
            work.thought = None
            adopt(work, _without_calls(data.plan), PlanOrigin.DRAFTED)
            return
    if len(faults) > MOST_FAULTS:
        faults = (*faults[:MOST_FAULTS], PlanFault(None, f"and {len(faults) - MOST_FAULTS} more faults of these kinds"))
    for fault in faults:
        work.tell(FactType.CONTRACT_CORRECTED, violation=Violation.BAD_PLAN.value, message=str(fault))
    if work.chain.plan_attempts >= work.world.policy.plan_attempts:
        text = f"no plan after {work.chain.plan_attempts} attempts: {list_faults(faults)}"
        fail_chain(work, Code.PLAN_NOT_FOUND, text)
    else:
        corrections = tuple(Correction(violation=Violation.BAD_PLAN, message=str(fault)) for fault in faults)
        think_plan(work, corrections, data.thought_id)


def _without_calls(plan: Plan) -> Plan:
    """A drafted plan promises tools; its calls are proposed turn by turn, where each is checked (C6)."""
    return Plan(steps=tuple(step.model_copy(update={"actions": ()}) if step.actions else step for step in plan.steps))


def end_with_answer(work: Work, message: AnswerDrafted) -> None:
    """Complete the chain: these are the words for the user."""
    if message.data.thought_id == work.chain.thought:
        work.spend(message.data.usage)
        complete_chain(work, message.data.text)


def fail_planning(work: Work, message: ThoughtFailed) -> None:
    """Fail the chain: no plan can be had."""
    if message.data.thought_id == work.chain.thought:
        fail_chain(work, message.data.code, message.data.message)


def take_failed_thought(work: Work, message: ThoughtFailed) -> None:
    """Do without the thought: fail the step that waited for it; in place of an answer the receipts stand."""
    data = message.data
    if data.thought_id == work.chain.thought:
        complete_chain(work, receipts_as_answer(work))
        return
    for index, step in enumerate(work.steps):
        run = work.run(index)
        if run.thinking and data.thought_id == thought_id(work.chain.id, step.id, run.turn + 1, run.attempt):
            fail_step(work, index, data.code, data.message)
