"""How a chain begins, and what is sent next (CONTRACT C1, C3, C8).

Handlers write down what has happened; only here it is decided what is sent because of it. The steps that have begun are
walked in the order of the plan, each does what it may, then the next one that is ready begins. With `parallel` 1 this
is one step at a time, and one thing at a time in it.
"""

import json

from haltpoint.chain.checked import CheckedCall
from haltpoint.chain.codes import Code
from haltpoint.chain.contract import open_to_models
from haltpoint.chain.delivering import deliver
from haltpoint.chain.dispatching import dispatch, in_time, literal_call
from haltpoint.chain.ending import complete_chain, fail_chain, fail_step, is_acting
from haltpoint.chain.gate import Gate, gate, is_held
from haltpoint.chain.goal import goal_of, take_up
from haltpoint.chain.graph import Graph
from haltpoint.chain.held import leave_out
from haltpoint.chain.plan_check import plan_faults
from haltpoint.chain.proposals import consider, continue_step
from haltpoint.chain.references import read_json
from haltpoint.chain.results import end_literal_step
from haltpoint.chain.schemas import compiled
from haltpoint.chain.state import ChainStatus, PlanOrigin, StepRun, StepStatus
from haltpoint.chain.thinking import stand_in, think_answer, think_intent, think_plan, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Plan, Step, ValidationMode
from haltpoint.contracts.tasks import Mode, Style

REACT_STEP = "react"
"""The id of the one open-ended step of a task in the style react."""


def begin(work: Work) -> None:
    """Take up the task: carry out its plan, ask for one, or make one open-ended step of it."""
    task = work.task
    drafted = PlanOrigin.REACT if task.style is Style.REACT else PlanOrigin.DRAFTED
    work.tell(FactType.CHAIN_STARTED, origin=(drafted if task.plan is None else PlanOrigin.LITERAL).value)
    work.status = ChainStatus.PLANNING
    if task.plan is not None:
        faults = plan_faults(task.plan, work.world.tools, work.world.policy, literal=True)
        if faults:
            fail_chain(work, Code.PLAN_REFUSED, "; ".join(map(str, faults)))
        else:
            adopt(work, task.plan, PlanOrigin.LITERAL)
    elif task.style is Style.REACT:
        if task.mode is Mode.OFF or task.intent is not None:
            take_up(work, None)
            begin_open(work)
        else:
            think_intent(work)
    else:
        think_plan(work)


def begin_open(work: Work) -> None:
    """Begin the one open-ended step, which may call every tool that a model may call, now that the goal was read."""
    work.thought = None
    names = (name for name, spec in work.world.tools.items() if open_to_models(spec, work.task))
    step = Step(id=REACT_STEP, description=goal_of(work), allowed_tools=tuple(sorted(names)))
    adopt(work, Plan(steps=(step,)), PlanOrigin.REACT)


def adopt(work: Work, plan: Plan, origin: PlanOrigin) -> None:
    """Take a checked plan for the chain's own, with the digests of its tools, and start its first step."""
    tools = work.world.tools
    named = {
        name
        for step in plan.steps
        for names in (step.promised_tools, step.allowed_tools or (), (call.tool for call in step.actions))
        for name in names
    }
    work.plan, work.steps, work.origin, work.graph = plan, plan.steps, origin, Graph.of(plan)
    work.digests = {name: compiled(tools[name]).digest for name in sorted(named)}
    work.status = ChainStatus.EXECUTING
    for index, waits in enumerate(work.graph.dependencies):
        work.changed[index] = StepRun(StepStatus.PENDING if waits else StepStatus.READY)
    work.ready = tuple(index for index, waits in enumerate(work.graph.dependencies) if not waits)


def advance(work: Work) -> None:
    """Send what may be sent now; wind the chain up when nothing is left, or end it when it has failed."""
    while not work.status.final and _moves(work):
        pass
    if work.status.final:
        return
    if work.failing is not None:
        if not is_acting(work):
            fail_chain(work, work.failing.error.code, work.failing.error.message)
    elif work.plan is not None and not (work.active or work.ready or work.thought or work.requests):
        _wind_up(work)


def _moves(work: Work) -> bool:
    """Let the first step that may do something do it: of those that have begun, then of those that are ready."""
    for index in work.active:
        if _continue(work, index):
            return True
    for index in work.ready:
        if gate(work, index) is not Gate.GO:
            return False
        if _begin(work, index):
            return True
    return False


def _continue(work: Work, index: int) -> bool:
    """Do what a step that has begun does next; False when it has to wait."""
    run = work.run(index)
    if run.status is not StepStatus.IN_PROGRESS:
        return False
    if work.origin is PlanOrigin.LITERAL:
        if run.taken == len(work.steps[index].actions) or gate(work, index) is not Gate.GO:
            return False
        call = literal_call(work, index)
        if isinstance(call, CheckedCall) and is_held(call):
            return False
        _send(work, index, call)
        return True
    if not run.thinking:
        return continue_step(work, index)
    if not run.here or work.thought is not None or gate(work, index) is not Gate.GO:
        return False
    consider(work, index)
    return True


def _begin(work: Work, index: int) -> bool:
    """Begin a step that is ready; False when its first call has to wait."""
    if not in_time(work):
        return True
    call = literal_call(work, index) if work.origin is PlanOrigin.LITERAL else None
    if isinstance(call, CheckedCall) and is_held(call):
        return False
    work.move(index, StepStatus.IN_PROGRESS)
    ignored = {}
    if work.steps[index].tool_validation_mode is ValidationMode.ADVISORY and work.task.mode is Mode.STRICT:
        ignored = {"ignored": "tool_validation_mode: advisory"}  # a plan may only tighten how it is checked
    work.tell(FactType.STEP_STARTED, index, **ignored)
    if call is None:
        think_step(work, index)
    else:
        _send(work, index, call)
    return True


def _send(work: Work, index: int, call: CheckedCall | tuple[Code, str]) -> None:
    """Send the next call of a literal plan's step. One that cannot be made fails the step, unless it is optional."""
    if isinstance(call, CheckedCall):
        dispatch(work, index, call.spec.name, call.arguments, call.spec)
    elif work.steps[index].actions[work.run(index).taken].optional:
        leave_out(work, index, call[1])
        end_literal_step(work, index)
    else:
        fail_step(work, index, *call)


def _wind_up(work: Work) -> None:
    """Every step is done: the answer is the last result, the words of an open-ended step, or asked for."""
    if work.origin is PlanOrigin.LITERAL:
        complete_chain(work, _last_result(work))
    elif work.origin is PlanOrigin.REACT and work.words:
        deliver(work, work.words, work.awaited(0))
    elif work.origin is PlanOrigin.REACT and work.words is not None:
        complete_chain(work, stand_in(work, "the model said nothing"))
    else:
        think_answer(work)


def _last_result(work: Work) -> str | None:
    """The data of the last successful action in the order of the plan, as compact JSON text."""
    for index in range(len(work.steps) - 1, -1, -1):
        action = work.actions.get(work.action_id(index, work.run(index).last_ok))
        if action is not None:
            return json.dumps(read_json(action.data), ensure_ascii=False, separators=(",", ":"))
    return None
