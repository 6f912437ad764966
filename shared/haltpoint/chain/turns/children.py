"""Chains that carry a call out: those of skills with steps, and of agents (CONTRACT A, I1).

Such a chain has its own log, deadline, questions and one final state (R1). Its id says whose action
it carries out (`base.child_id`), so parent and child keep nothing that could disagree. Both live in
one partition, and what one says to the other is part of its own commit: the parent's dispatch
begins the child, the child's end is the receipt of the parent's action, the parent's end cancels
the child.

The chain of a skill has the skill's steps. That of an agent has a goal in its caller's words, and
the user's own goes beside it: only that counts for what may be done (C12) and for where values come
from (C13). Its budget is what its caller has left, or less if its own says so. What was done and
what is known goes down with the task, and comes back with the end (C14).
"""

from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks import knowledge, ledger
from haltpoint.chain.checks.agents import LONGEST_TASK, assigned_to, hand_on_fault
from haltpoint.chain.checks.knowledge import users_goal
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.checks.templates import fill
from haltpoint.chain.model.limits import added, deadline_of
from haltpoint.chain.model.outputs import StartChild, failed
from haltpoint.chain.model.references import references
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.gate import over_budget
from haltpoint.contracts.base import child_id
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.bounds import ChainBounds
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Assignment, Budget, Handed, Task

MAX_GOAL: Final = 1000
"""Characters of what a skill's task says of itself: the skill and its description."""

_SKILLS: Final = ("conversation_id", "context", "private", "mode", "tenant", "user")
_LIMITS: Final = ("turns", "actions", "tokens", "cost")


def child_for(
    work: Work,
    action: Action,
    spec: ToolSpec,
    plan: Plan,
    arguments: dict[str, Any],
    *,
    again: bool = False,
) -> StartChild:
    """The chain of a skill, for the same tenant, user and contexts. `chain_faults` says before
    whether there can be one.
    """
    task = Task(
        goal=f"{spec.name}: {spec.description}"[:MAX_GOAL],
        plan=fill(plan, arguments),
        handed=Handed(
            above=work.task.path,
            ledger=work.ledger,
            submitted_by=work.task.handed.submitted_by,
        ),
        **{name: getattr(work.task, name) for name in _SKILLS},
    )
    started = replace(action, child=child_id(action.id))
    return StartChild(started, task, work.deadline, again=again)


def hand_on(work: Work, action: Action, arguments: dict[str, Any]) -> StartChild | Failure:
    """The chain of an agent; or why there can be none. The call is one of the chain's actions
    already.
    """
    fault = hand_on_fault(work, action.tool)
    if fault is not None:
        return failed(Code.OVER_BUDGET, fault)
    step_id = work.steps[action.step].id
    spent = over_budget(work, "turns", "tokens", "cost", step_id=step_id)
    if spent is not None:  # without actions an agent may still answer
        return spent
    task = replace(
        work.task,
        goal=str(arguments.get("task", "")).strip() or users_goal(work)[:LONGEST_TASK],
        agent=arguments.get("target_agent", action.tool),
        handed=_handed(work, action),
        budget=_left(work),
        mode=work.mode(action.step),
        plan=None,
        bounds=None,
        deadline=None,
    )
    task = assigned_to(task, work.world.agents)
    deadline = deadline_of(task, work.world.policy, work.now)
    started = replace(action, child=child_id(action.id))
    return StartChild(started, task, min(work.deadline, deadline))


def take_back(work: Work, data: ToolCompleted.Data) -> None:
    """A child has ended: what it has added, used and left out is the chain's, and what persons have
    said to it was said here (C6, C11, C14, I1).
    """
    told = data.outcome.metadata.below
    ledger.add(work, told.ledger)
    knowledge.hear(work, data.known)
    work.left_out += told.left_out
    corrected = told.corrected if told.agent else work.people.corrected
    work.hear(told.heard, told.granted, corrected=corrected)
    spent = added(work.below.spent, told.spent)
    if told.agent:
        spent = replace(spent, chains=spent.chains + 1)
    work.below = replace(work.below, spent=spent)


def _handed(work: Work, action: Action) -> Handed:
    own = work.task.handed.assigned or Assignment()
    assigned = Assignment(
        chains=own.chains - work.below.spent.chains - 1,
        goal=_users_own(work, action),
        bounds=_bounds(work),
        heard=work.people.heard,
        corrected=work.people.corrected,
        granted=work.people.granted,
    )
    return Handed(
        earlier=work.task.handed.earlier,
        assigned=assigned,
        above=work.task.path,
        ledger=work.ledger,
        known=knowledge.for_below(work),
        submitted_by=work.task.handed.submitted_by,
    )


def _left(work: Work) -> Budget:
    """What is left of the budget, as far as it is limited."""
    spent = work.spent_in_all()
    left = dict[str, Any]()
    for name in _LIMITS:
        limit = getattr(work.task.budget, name)
        if limit is not None:
            left[name] = limit - getattr(spent, name)
    return Budget(**left)


def _bounds(work: Work) -> ChainBounds | None:
    """The bounds of the user's goal, with the promises that are still due."""
    if work.bounds is None:
        return None
    due = {tools for index in range(len(work.run)) for tools in missing(work, index)}
    required = [bound for bound in work.bounds.required_tools if bound.tools in due]
    return replace(work.bounds, required_tools=tuple(required))


def _users_own(work: Work, action: Action) -> str | None:
    """The user's own goal; None where the call itself is in the user's words: those of a
    submitter's literal plan.
    """
    if work.is_literal:
        call = work.steps[action.step].actions[action.number - 1]
        if not any(references(call.arguments)):
            return None
    return users_goal(work)
