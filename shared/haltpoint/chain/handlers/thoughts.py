"""How a chain begins (C1, C12), and what the planner brings: plans, answers, thoughts that
failed.
"""

from typing import Final

import msgspec

from haltpoint.chain.checks.bounds import (
    merged,
    nameable,
    served,
    tools_of,
)
from haltpoint.chain.checks.ledger import has_acted
from haltpoint.chain.checks.plans import drafted_faults, literal_faults, open_to_models
from haltpoint.chain.checks.promises import dropped
from haltpoint.chain.model.needs import reads_goal
from haltpoint.chain.model.outputs import Completed, Next, failed, step_failed
from haltpoint.chain.model.references import Graph
from haltpoint.chain.model.state import OpenProposal, StepRun, goal_of
from haltpoint.chain.model.statuses import ChainStatus, Code, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.agents import assign, take_choice
from haltpoint.chain.turns.thinking import (
    Corrections,
    escalate,
    stand_in,
    strikes_exhausted,
    think_ahead,
    think_answer,
    violate,
)
from haltpoint.contracts.answers import OR
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    PlanDrafted,
    TaskSubmitted,
    ThoughtFailed,
)
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.work.bounds import Bounds, ChainBounds
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import DOES_NOT_FIT, Correction, ThoughtKind, Violation

REACT_STEP = "react"
"""The id of the one open-ended step of a task in the style react."""

MOST_FAULTS: Final = 20
"""Faults of one plan that a model gets: a hostile plan has thousands, and the question must stay a
message.
"""

_NOT_READ: Final = Correction(
    Violation.UNREADABLE,
    "The reply could not be read. Answer with the one JSON object that was asked for.",
)
_IN_WORDS: Final = "Answer the user in plain words, without JSON."

# ---- the beginning
# --------------------------------------------------------------------------------------------------


def begin(work: Work, _: TaskSubmitted) -> Next | None:
    """Take up the task: find who works on it, then carry out its plan, ask for one, or make one
    open-ended step.
    """
    work.status = ChainStatus.PLANNING
    work.ledger = work.task.handed.ledger
    return assign(work) or begin_assigned(work)


def begin_assigned(work: Work) -> Next | None:
    """Begin the task for the agent that works on it. The goal of a root is read once, for the
    chains below, too (I1).
    """
    task = work.task
    tools = work.world.tools
    known = work.world.agents.named(task.agent)
    agent = None if known is None else known.name
    by_model = PlanOrigin.REACT if task.open_ended else PlanOrigin.DRAFTED
    origin = PlanOrigin.LITERAL if task.plan else by_model
    work.tell(FactType.CHAIN_STARTED, origin=origin.value, agent=agent)
    if task.agent is not None and known is None:
        words = f"there is no agent {task.agent!r}; there are: {work.world.agents.names}"
        return failed(Code.AGENT_GONE, words)
    if task.plan is not None:
        faults = literal_faults(task.plan, tools)
        if faults:
            return failed(Code.PLAN_REFUSED, "; ".join(map(str, faults)))
        adopt(work, task.plan, PlanOrigin.LITERAL)
        return None
    above = task.handed.assigned
    if task.asked is not None and above is not None:
        work.hear(above.heard, above.granted, corrected=above.corrected)
        take_bounds(work, None)
    if not task.open_ended:
        return think_ahead(work, ThoughtKind.PLAN)
    is_given = None not in msgspec.structs.astuple(task.bounds or Bounds())
    is_read = task.mode is Mode.OFF or task.asked is not None or is_given
    if not is_read and nameable(tools, task):
        return think_ahead(work, ThoughtKind.BOUNDS)
    begin_open(work, None)
    return None


def take_bounds(work: Work, reading: Bounds | None) -> None:
    """Keep what holds, with what a model has read: the first that can be read. Where another agent
    has written the goal it was read above: the chain promises of that what it can call (I1).
    """
    if work.bounds is not None:
        return
    assigned = work.task.handed.assigned
    given = None if assigned is None or work.task.asked is None else assigned.bounds
    if given is None:
        work.bounds = merged(work, reading)
        return
    names = set(served(work.world.tools, work.task))
    own = [bound for bound in given.required_tools if not names.isdisjoint(bound.tools)]
    work.bounds = msgspec.structs.replace(given, required_tools=tuple(own))


def begin_open(work: Work, reading: Bounds | None) -> None:
    """Begin the one open-ended step, which may call every tool that a model may call, now that the
    goal was read.
    """
    take_bounds(work, reading)
    tools = work.world.tools.items()
    is_supervisors = work.task.agent == SUPERVISOR
    step = Step(
        id=ROUTE if is_supervisors else REACT_STEP,
        description=goal_of(work),
        allowed_tools=tuple(
            sorted(name for name, spec in tools if open_to_models(spec, work.task))
        ),
        required_tools=(ROUTE,) if is_supervisors else (),
    )
    adopt(work, Plan(steps=(step,)), PlanOrigin.REACT)


def adopt(work: Work, plan: Plan, origin: PlanOrigin) -> None:
    """Take a checked plan for the chain's own. The steps that wait for no other are ready."""
    work.plan = plan
    work.steps = plan.steps
    work.origin = origin
    work.is_literal = origin is PlanOrigin.LITERAL
    work.is_open = origin is PlanOrigin.REACT
    work.graph = Graph.of(plan)
    work.status = ChainStatus.EXECUTING
    work.thought = None
    work.run = [StepRun() for _ in plan.steps]
    for index, waits in enumerate(work.graph.dependencies):
        work.move(index, StepStatus.PENDING if waits else StepStatus.READY)


# ---- a plan
# --------------------------------------------------------------------------------------------------


def take_plan(work: Work, message: PlanDrafted) -> Next | None:
    """Check the plan: carry it out, or return its problems to the model; at the limit of strikes a
    person decides, or where nobody is held to anything the chain fails.
    """
    data = message.data
    mode = work.mode(None)
    if data.thought_id != work.thought:
        return None
    work.spend(data.usage)
    if data.bounds is not None:
        take_bounds(work, data.bounds)
    bounds = work.bounds or merged(work, None)
    faults = _faults(work, data, bounds)
    broken = Corrections()
    if data.plan is not None and mode is not Mode.OFF:
        broken = tuple(map(_bad_plan, dropped(work, bounds, data.plan)))
    if faults or broken:
        violate(work, None, data.thought_id, (*faults, *broken), "")
    is_bad = faults or (broken and mode is Mode.STRICT)
    if data.plan is not None and not is_bad:
        take_bounds(work, None)
        # it promises tools; its calls are proposed turn by turn, where each is checked (C6)
        steps = [msgspec.structs.replace(step, actions=()) for step in data.plan.steps]
        adopt(work, Plan(steps=tuple(steps)), PlanOrigin.DRAFTED)
        return None
    words = f"no valid plan after {count(work.attempts, 'attempt')}"
    if strikes_exhausted(work, None):
        work.thought = None
        return escalate(work, None, words)
    if mode is Mode.STRICT or work.attempts < work.world.policy.strikes:
        return think_ahead(work, ThoughtKind.PLAN, (*faults, *broken))
    told = "; ".join(correction.message for correction in (*faults, *broken))
    return failed(Code.PLAN_NOT_FOUND, f"{words}: {told}")


def _faults(work: Work, data: PlanDrafted.Data, bounds: ChainBounds) -> Corrections:
    """What makes the plan impossible (C1)."""
    if data.plan is None:
        return (_bad_plan(data.fault or "the reply has no plan"),)
    faults = drafted_faults(data.plan, work.world.tools, work.task, work.world.policy.max_steps)
    texts = [str(fault) for fault in faults]
    barred = set() if work.mode(None) is Mode.OFF else tools_of(bounds.forbidden)
    for step in data.plan.steps:
        idle = [OR.join(promise) for promise in step.promised if barred.issuperset(promise)]
        words = "may not be called: the goal forbids it"
        texts += [f"step {step.id!r}: {names} {words}" for names in idle]
    more = len(texts) - MOST_FAULTS
    if more > 0:
        texts[MOST_FAULTS:] = [f"and {more} more faults of these kinds"]
    return tuple(map(_bad_plan, texts))


def _bad_plan(text: str) -> Correction:
    return Correction(Violation.BAD_PLAN, text)


# ---- other thoughts
# --------------------------------------------------------------------------------------------------


def take_drafted_bounds(work: Work, message: BoundsDrafted) -> Next | None:
    """Begin the open-ended step: what the goal asks of tools was read."""
    data = message.data
    if data.thought_id != work.thought or not reads_goal(work):
        return None
    work.spend(data.usage)
    return _read_goal(work, data.bounds)


def _read_goal(work: Work, reading: Bounds | None) -> Next | None:
    """A reading that cannot be used is asked for once more; then the task continues without one
    (C12).
    """
    if reading is None and work.attempts == 1:
        return think_ahead(work, ThoughtKind.BOUNDS, (_NOT_READ,))
    begin_open(work, reading)
    return None


def take_proposed(work: Work, message: ActionProposed) -> Next | None:
    """Keep what the model proposes for a step, which acts on it when it may; without a plan it is
    whom the supervisor's function chose.
    """
    data = message.data
    if work.plan is None and data.thought_id == work.thought:
        take_choice(work, message)
        return begin_assigned(work)
    index = work.graph.index.get(data.step_id)
    if index is None or not work.awaits(index, data.thought_id):
        return None
    work.spend(data.usage)
    work.proposals = {**work.proposals, index: OpenProposal(data.proposal)}
    work.edit(index).here = True
    return None


def end_with_answer(work: Work, message: AnswerDrafted) -> Next | None:
    """Complete the chain: these are the words for the user, unless they call a tool (C6).

    Such an answer is asked for again; after the strikes its words are delivered, or the results
    where it has none.
    """
    data = message.data
    if data.thought_id != work.thought:
        return None
    work.spend(data.usage)
    if data.called:
        tool = data.called[0]
        words = f"{tool} cannot be called now: the work is over. {_IN_WORDS}"
        correction = Correction(Violation.NOT_ALLOWED, words, tool)
        violate(work, None, data.thought_id, (correction,), data.text)
        if work.mode(None) is Mode.STRICT and not strikes_exhausted(work, None):
            return think_answer(work, (correction,))
    return Completed(data.text or stand_in(work, work.phrases.said_nothing))


def take_failed_thought(work: Work, message: ThoughtFailed) -> Next | None:
    """Do without the thought: fail the step that waited for it; in place of an answer show the
    results. When a step's prompt has become too long behind an effect, a person decides.
    """
    data = message.data
    waiting = [index for index in work.active if work.awaits(index, data.thought_id)]
    is_too_long = data.code == DOES_NOT_FIT and work.failing is None
    if waiting:
        index = waiting[0]
        if is_too_long and has_acted(work):
            work.edit(index).turn += 1  # the place of its thought is used up
            return escalate(work, index, data.message)
        return step_failed(index, data.code, data.message)
    if data.thought_id != work.thought:
        return None
    if reads_goal(work):
        return _read_goal(work, None)
    if data.kind is ThoughtKind.ROUTE:
        take_choice(work, message)
        return begin_assigned(work)
    if work.plan is None:
        return failed(data.code, data.message)
    return Completed(stand_in(work, f"{data.message.rstrip('.')} ({data.code})"))
