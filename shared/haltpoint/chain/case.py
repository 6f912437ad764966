"""How an escalated case is settled (CONTRACT D3): new words, a result given by hand, or another try."""

from dataclasses import replace

from haltpoint.chain.ending import complete_step
from haltpoint.chain.references import write_json
from haltpoint.chain.results import succeed
from haltpoint.chain.schemas import result_faults
from haltpoint.chain.state import Action, ActionStatus, OpenRequest, PlanOrigin, Record, Settle
from haltpoint.chain.strikes import escalate, forgive
from haltpoint.chain.thinking import think_plan, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_id
from haltpoint.contracts.events import HumanAnswer
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import Choice
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.tools import Metadata, NextAction, Outcome


def settle_case(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """Go on as the person says; the row of violations is over. What was recorded before counts on."""
    answer, index = data.answer, request.step
    if answer.decision is Choice.MANUAL:
        _by_hand(work, request, data)
        return
    if answer.decision is Choice.RETRY:
        work.other_model = True
    else:
        _rephrase(work, index, answer.text.strip())
    if index >= 0:
        forgive(work, index)
        think_step(work, index, again=True)
    else:
        work.strikes, work.case = 0, ()
        think_plan(work)


def _rephrase(work: Work, index: int, words: str) -> None:
    """New words for the step; for the whole task where it has no plan of several steps yet."""
    if index < 0 or work.origin is PlanOrigin.REACT:
        work.goal = words
    if index >= 0:
        steps = list(work.steps)
        steps[index] = steps[index].model_copy(update={"description": words})
        work.plan = Plan.model_construct(steps=tuple(steps))
        work.steps = work.plan.steps


def _by_hand(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """The person gives the result of the missing tool, or the words of a reasoning step; it counts and is marked."""
    answer, index = data.answer, request.step
    if not request.tool:
        work.words = answer.text or write_json(answer.value)
        forgive(work, index)
        complete_step(work, index)
        return
    spec, value = work.world.tools.get(request.tool), answer.value or {}
    faults = () if spec is None else result_faults(spec, value)
    if faults:
        escalate(work, index, f"the result given by hand is not one of {request.tool}: {'; '.join(faults)}")
        return
    forgive(work, index)
    run, step_id = work.run(index), work.steps[index].id
    number = run.actions + 1
    metadata = Metadata(tool=request.tool, by=data.by)
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)
    name = action_id(work.chain.id, step_id, number)
    action = Action(name, index, number, request.tool, "{}", ActionStatus.DONE, 1, outcome, write_json(value))
    work.move(index, replace(run, actions=number, turn=run.turn + 1))  # a turn of their own
    work.outputs += [Record(action), Settle(action)]
    work.tell(
        FactType.ACTION_COMPLETED,
        step_id=step_id,
        action_id=name,
        n=number,
        tool=request.tool,
        next_action=outcome.next_action.value,
        by=data.by,
    )
    succeed(work, action)
