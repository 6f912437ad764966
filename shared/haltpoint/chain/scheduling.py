"""How a chain begins and which step is next (CONTRACT C1, C3).

One step is in progress at a time: the lowest of those that are ready. So when a step ends, every step that is ready
comes after it in the plan, but for those that its own end made ready; the next is found without searching the plan.
"""

import json

from haltpoint.chain.codes import Code
from haltpoint.chain.contract import open_to_models
from haltpoint.chain.delivering import deliver
from haltpoint.chain.dispatching import dispatch_literal, in_time
from haltpoint.chain.ending import complete_chain, fail_chain
from haltpoint.chain.goal import goal_of, take_up
from haltpoint.chain.graph import Graph
from haltpoint.chain.plan_check import plan_faults
from haltpoint.chain.references import read_json
from haltpoint.chain.results import succeed
from haltpoint.chain.schemas import compiled
from haltpoint.chain.state import ChainStatus, PlanOrigin, StepStatus
from haltpoint.chain.thinking import stand_in, think_answer, think_intent, think_plan, think_step
from haltpoint.chain.work import Work
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.intent import Intent
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
            begin_open(work, None)
        else:
            think_intent(work)
    else:
        think_plan(work)


def begin_open(work: Work, drafted: Intent | None) -> None:
    """Begin the one open-ended step, which may call every tool that a model may call, now that the goal was read."""
    take_up(work, drafted)
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
        work.move(index, StepStatus.PENDING if waits else StepStatus.READY)
    work.ended, work.nearest = -1, len(plan.steps)


def advance(work: Work) -> None:
    """Take receipts that are here at once, start the next step as long as one has just ended, and wind the chain up
    when there is none left.
    """
    while not work.status.final:
        if work.given is not None:
            action, work.given = work.given, None
            succeed(work, action)
        elif work.ended is not None:
            index = _next_ready(work, work.ended)
            work.ended = None
            if index is None:
                _wind_up(work)
            elif in_time(work):
                _start(work, index)
        else:
            return


def _next_ready(work: Work, after: int) -> int | None:
    """The lowest step that is ready. In a plan without circles there is one until every step is done."""
    for index in range(after + 1, work.nearest):
        if work.run(index).status is StepStatus.READY:
            return index
    return work.nearest if work.nearest < len(work.steps) else None


def _start(work: Work, index: int) -> None:
    work.move(index, StepStatus.IN_PROGRESS)
    ignored = {}
    if work.steps[index].tool_validation_mode is ValidationMode.ADVISORY and work.task.mode is Mode.STRICT:
        ignored = {"ignored": "tool_validation_mode: advisory"}  # a plan may only tighten how it is checked
    work.tell(FactType.STEP_STARTED, index, **ignored)
    if work.origin is PlanOrigin.LITERAL:
        dispatch_literal(work, index)
    else:
        think_step(work, index)


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
