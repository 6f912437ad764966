"""How an escalated case is settled (CONTRACT D3): new words, a result given by hand, or another try."""

from dataclasses import replace
from typing import Any

from haltpoint.chain import human_tool
from haltpoint.chain.deeds import deed_of
from haltpoint.chain.ending import complete_step
from haltpoint.chain.intent import take_up
from haltpoint.chain.outputs import Record, Settle
from haltpoint.chain.provenance import SAID
from haltpoint.chain.references import write_json
from haltpoint.chain.results import succeed
from haltpoint.chain.schemas import result_faults
from haltpoint.chain.state import Action, ActionStatus, OpenRequest, PlanOrigin
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
        work.intent = None  # other words are read anew, tool by tool
        take_up(work, None)
    if index >= 0:
        steps = list(work.steps)
        steps[index] = steps[index].model_copy(update={"description": words})
        work.plan = Plan.model_construct(steps=tuple(steps))
        work.steps = work.plan.steps


def _by_hand(work: Work, request: OpenRequest, data: HumanAnswer) -> None:
    """The person gives the result of the missing tool, or the words of a reasoning step; it counts and is marked."""
    answer, index = data.answer, request.step
    if not request.tool:
        words = answer.text.strip()
        value = {"answer": answer.value} if answer.value is not None else {"answer": words, SAID: words}
        _record(work, index, human_tool.NAME, value, data.by)
        work.words = answer.text or write_json(answer.value)
        complete_step(work, index)
        return
    faults = _faults(work, request.tool, answer.value)
    if faults:
        escalate(work, index, f"the result given by hand is not one of {request.tool}: {'; '.join(faults)}")
        return
    succeed(work, _record(work, index, request.tool, answer.value or {}, data.by))


def _faults(work: Work, tool: str, value: dict[str, Any] | None) -> tuple[str, ...]:
    if value is None:
        return ("it has no value",)
    spec = work.world.tools.get(tool)
    return () if spec is None else result_faults(spec, value)


def _record(work: Work, index: int, tool: str, value: dict[str, Any], by: str) -> Action:
    """The receipt that a person gave, as an action in a turn of its own: no thought and no worker has a part in it."""
    forgive(work, index)
    run, step_id = work.run(index), work.steps[index].id
    number = run.actions + 1
    text = write_json(value)
    metadata = Metadata(tool=tool, by=by, deed=deed_of(work.world.tools.get(tool), tool, "{}", text))
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=metadata)
    name = action_id(work.chain.id, step_id, number)
    action = Action(name, index, number, tool, "{}", ActionStatus.DONE, 1, outcome, text)
    work.keep(action)
    work.move(index, replace(run, actions=number, turn=run.turn + 1))
    work.outputs += [Record(action), Settle(action)]
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, by=by)
    return action
