"""How a chain begins, and how it gets its plan (CONTRACT C1, C12)."""

from haltpoint.chain.checks.contract import open_to_models
from haltpoint.chain.checks.goal import goal_of, take_up
from haltpoint.chain.checks.plan_check import plan_faults
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.graph import Graph
from haltpoint.chain.model.next import Next, failed
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.state import ChainStatus, PlanOrigin, StepRun, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.thinking import think_intent, think_plan
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Mode, Style

REACT_STEP = "react"
"""The id of the one open-ended step of a task in the style react."""


def begin(work: Work, _: TaskSubmitted) -> Next | None:
    """Take up the task: carry out its plan, ask for one, or make one open-ended step of it."""
    task = work.task
    drafted = PlanOrigin.REACT if task.style is Style.REACT else PlanOrigin.DRAFTED
    work.tell(FactType.CHAIN_STARTED, origin=(drafted if task.plan is None else PlanOrigin.LITERAL).value)
    work.status = ChainStatus.PLANNING
    if task.plan is not None:
        faults = plan_faults(task.plan, work.world.tools, work.world.policy, literal=True)
        if faults:
            return failed(Code.PLAN_REFUSED, "; ".join(map(str, faults)))
        adopt(work, task.plan, PlanOrigin.LITERAL)
        return None
    if task.style is Style.PLAN:
        return think_plan(work)
    if task.mode is not Mode.OFF and task.intent is None:
        return think_intent(work)
    take_up(work, None)
    begin_open(work)
    return None


def begin_open(work: Work) -> None:
    """Begin the one open-ended step, which may call every tool that a model may call, now that the goal was read."""
    work.thought = None
    names = (name for name, spec in work.world.tools.items() if open_to_models(spec, work.task))
    step = Step(id=REACT_STEP, description=goal_of(work), allowed_tools=tuple(sorted(names)))
    adopt(work, Plan(steps=(step,)), PlanOrigin.REACT)


def adopt(work: Work, plan: Plan, origin: PlanOrigin) -> None:
    """Take a checked plan for the chain's own, with the digests of its tools, and start its first step."""
    tools = work.world.tools
    named = set[str]()
    for step in plan.steps:
        named.update(step.promised_tools, step.allowed_tools or (), [call.tool for call in step.actions])
    work.plan, work.steps, work.origin, work.graph = plan, plan.steps, origin, Graph.of(plan)
    work.digests = {name: compiled(tools[name]).digest for name in sorted(named)}
    work.status = ChainStatus.EXECUTING
    work.run = [StepRun(StepStatus.PENDING if waits else StepStatus.READY) for waits in work.graph.dependencies]
    work.changed.update(range(len(work.run)))
    work.ready = tuple(index for index, waits in enumerate(work.graph.dependencies) if not waits)
