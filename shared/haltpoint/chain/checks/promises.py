"""What is due in a step (CONTRACT C3): sets of tools, each kept by one successful receipt of one of its tools.

A step of a plan promises what the plan says. The one step of an open-ended task carries the promises of the task: those
of the goal, of patterns and of the submitter. A drafted plan has to promise a tool of each of these in a step.
"""

from collections.abc import Iterator

from haltpoint.chain.checks.bounds import whose
from haltpoint.chain.checks.contract import inside, listed, with_effects
from haltpoint.chain.checks.deeds import deed_line
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.contracts.answers import OR, NotDone, WhyNot
from haltpoint.contracts.work.bounds import Bound, ChainBounds, LeftOut
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import ROUTE

Promise = tuple[str, ...]


def of_task(work: Work) -> tuple[Bound, ...]:
    """The promises of the task, whoever added them."""
    return (work.bounds or ChainBounds()).required_tools


def of_step(work: Work, index: int) -> tuple[Promise, ...]:
    """All that a step promises, in a fixed order."""
    own = work.graph.promises[index]
    return own if work.origin is not PlanOrigin.REACT else (*own, *(bound.tools for bound in of_task(work)))


def missing(work: Work, index: int) -> tuple[Promise, ...]:
    """What is due in a step: its promises without a receipt, but for those that an agent has left out."""
    kept = work.run[index].receipts
    gone = {entry.tools for entry in work.left_out} if work.origin is PlanOrigin.REACT else set()
    promised = enumerate(of_step(work, index))
    return tuple(tools for bit, tools in promised if not kept >> bit & 1 and tools not in gone)


def missing_tools(work: Work, index: int | None) -> tuple[str, ...]:
    """The tools of the promises that are due in a step."""
    due = () if index is None else missing(work, index)
    return tuple(dict.fromkeys(name for tools in due for name in tools))


def in_words(promises: tuple[Promise, ...]) -> str:
    """Promises as a sentence names them."""
    return ", ".join(OR.join(tools) for tools in promises)


def keep(work: Work, action: Action) -> bool:
    """Note which promises of its step a receipt keeps: that of the tool, when it succeeded, and those of the tools that
    succeeded in the chain that carried it out. Whether it keeps any. A task was handed on also when the agent failed.
    """
    names = set(action.told.below.nested_successes)
    if action.satisfies or action.tool == ROUTE:
        names.add(action.tool)
    kept = 0
    for bit, tools in enumerate(of_step(work, action.step)):
        if not names.isdisjoint(tools):
            kept |= 1 << bit
    if kept:
        work.edit(action.step).receipts |= kept
    return bool(kept)


def recount(work: Work, index: int) -> None:
    """Note anew which promises of the step of an open-ended task are kept, when these have changed."""
    work.edit(index).receipts = 0
    for action in work.actions.values():
        keep(work, action)


def leave_out(work: Work, index: int, reason: str) -> None:
    """A step ends without what is due in it: keep why."""
    work.left_out += tuple(LeftOut(tools=tools, reason=reason) for tools in missing(work, index))


def not_done(work: Work) -> tuple[NotDone, ...]:
    """What was due and has no receipt when the chain ends, but for what an action tells: what was left out first."""
    left = [_line(work, entry.tools, WhyNot.LEFT_OUT, entry.reason) for entry in _left(work)]
    if work.origin is PlanOrigin.LITERAL:
        return (*left, *_not_reached(work))
    begun = {(action.step, action.tool) for action in work.actions.values()}
    told = {entry.tools for entry in work.left_out}
    for index, run in enumerate(work.run):
        for tools in missing(work, index):
            silent = begun.isdisjoint((index, name) for name in tools)
            if silent and not (run.status is StepStatus.SKIPPED and tools in told):
                left.append(_line(work, tools, WhyNot.NOT_CALLED, work.phrases.not_called))
    return tuple(left)


def is_unfinished(work: Work) -> bool:
    """Whether a promise was left out, or a step of a literal plan."""
    if work.origin is PlanOrigin.LITERAL:
        return any(run.status is not StepStatus.COMPLETED for run in work.run)
    return bool(_left(work)) or any(missing(work, index) for index in range(len(work.run)))


def _left(work: Work) -> list[LeftOut]:
    """What was left out and not done since: an agent leaves out what another one may do."""
    if work.origin is not PlanOrigin.REACT:
        return list(work.left_out)
    kept = work.run[0].receipts if work.run else 0
    done = {tools for bit, tools in enumerate(of_step(work, 0)) if kept >> bit & 1}
    return [entry for entry in work.left_out if entry.tools not in done]


def _not_reached(work: Work) -> Iterator[NotDone]:
    """The calls of a literal plan that were not made."""
    for step, run in zip(work.steps, work.run, strict=True):
        for call in step.actions[run.taken :]:
            if with_effects(work.world.spec(call.tool)):
                arguments, reason = write_json(call.arguments), work.phrases.not_reached
                yield _line(work, (call.tool,), WhyNot.NEVER_EXECUTED, reason, arguments)


def _line(work: Work, tools: Promise, why: WhyNot, reason: str, arguments: str = "{}") -> NotDone:
    says = OR.join(deed_line(work.world.spec(tool), arguments, "{}") for tool in tools)
    return NotDone(tool=OR.join(tools), says=says, why=why, message=reason)


def dropped(work: Work, bounds: ChainBounds, plan: Plan) -> tuple[str, ...]:
    """The promises of the task that no step of a drafted plan makes, in words for the model."""
    faults: list[str] = []
    for bound in bounds.required_tools:
        wanted = set(bound.tools)
        if not any(_promises(work, step, wanted) for step in plan.steps):
            asked = f"No step promises {OR.join(bound.tools)}, which {whose(bound)} requires."
            faults.append(f"{asked} Add a step with {listed(bound.tools)} in required_tools or one_of.")
    return tuple(faults)


def _promises(work: Work, step: Step, wanted: set[str]) -> bool:
    """Whether a step promises a tool of these: each tool that keeps a promise of it is one, or calls one inside."""
    tools = work.world.tools
    inner = {name: {name, *inside(work.world.spec(name), tools)} for name in step.promised_tools}
    return any(all(inner[name] & wanted for name in promise) for promise in step.promised)
