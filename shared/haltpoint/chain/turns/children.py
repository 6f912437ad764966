"""Chains that carry out an action of another chain: skills with steps (CONTRACT A).

A child is a chain like any other: its own log, deadline, questions and one final state (R1). Its id says whose action
it carries out (`base.child_id`), so parent and child keep nothing that could disagree. Both live in one partition, and
what one says to the other is part of its own commit: the parent's dispatch begins the child, the child's end is the
receipt of the parent's action together with the message that reports it, the parent's end cancels the child. A process
that dies has said all of it or nothing.

A skill with hooks goes to a worker first, which asks them and gives the arguments back as they leave them: then its
chain begins. One without hooks needs no worker.
"""

from typing import Any, Final

import msgspec
from msgspec import structs

from haltpoint.chain.checks.intent import bounds_inside
from haltpoint.chain.checks.templates import MOST_LEVELS, fill
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import CancelChild, Report, StartChild
from haltpoint.chain.model.references import references
from haltpoint.chain.model.state import Action, ActionStatus
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import MAX_BODY, action_of, child_id, levels_of
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task

MAX_GOAL: Final = 1000
"""Characters of what a child's task says of itself: the skill and its description."""

_PASSED_ON: Final = ("conversation_id", "context", "private", "mode", "tenant", "user")


def child_for(
    work: Work, action: Action, spec: ToolSpec, plan: Plan, arguments: dict[str, Any], **said: Any
) -> StartChild | tuple[Code, str]:
    """The chain that carries the action out, for the same tenant, user and contexts; or why there can be none."""
    if levels_of(work.id) >= MOST_LEVELS:
        return Code.TOO_DEEP, f"{spec.name}: skills call skills more than {MOST_LEVELS} deep"
    if references(arguments):
        return Code.NOT_RESOLVED, f"{spec.name}: its arguments hold a $from, which would be read as one of the skill's"
    steps = fill(plan, arguments)
    if len(msgspec.json.encode(steps)) > MAX_BODY:
        return Code.NOT_RESOLVED, f"{spec.name}: its steps with these arguments have more than {MAX_BODY} bytes"
    goal = f"{spec.name}: {spec.description}"[:MAX_GOAL]
    passed_on = {name: getattr(work.task, name) for name in _PASSED_ON}
    bound = bounds_inside(work, action.step, spec.name)
    if bound.ask_before or bound.forbidden:
        passed_on["intent"] = bound
    started = structs.replace(action, child=child_id(action.id))
    return StartChild(started, Task(goal=goal, plan=steps, **passed_on), work.deadline, **said)


def advice_on(fault: ErrorInfo) -> str | None:
    """What the model alone reads about a call that a person denied or stopped (E4)."""
    return "Do not retry this call." if fault.error_type is ErrorType.DENIED else None


def cancel_children(work: Work, index: int, reason: str) -> None:
    """The step is stopped: the chains that it waits for hear of it."""
    for number in work.run[index].pending:
        action = work.actions[work.action_id(index, number)]
        if action.child and action.status is ActionStatus.DISPATCHED:
            work.outputs.append(CancelChild(action.child, f"the chain that called it was stopped: {reason}"))


def report(work: Work, fault: ErrorInfo | None = None) -> None:
    """The chain is over: when it is a child, its end is the receipt of the action that it carried out.

    The receipt has the mark of the runtime (`metadata.action_id`): nobody typed it (C6). `nested_successes` are the
    tools that succeeded.
    """
    action = action_of(work.id)
    if action is None:
        return
    metadata = Metadata(
        action_id=action,
        started_at=work.created_at,
        duration_ms=max(0, work.now - work.created_at),
        nested_successes=work.nested_successes,
        effects=work.effects,
    )
    if fault is not None:  # that the last call did nothing does not say so of those before it
        fault = structs.replace(fault, no_effect=None)
    next_action = NextAction.CONTINUE if fault is None else NextAction.ERROR
    advice = None if fault is None else advice_on(fault)
    outcome = Outcome(
        success=fault is None, next_action=next_action, error=fault, instruction_for_ai=advice, metadata=metadata
    )
    work.outputs.append(Report(action, outcome, "{}" if fault else work.answer or "{}"))
