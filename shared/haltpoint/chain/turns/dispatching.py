"""Calls on their way out: put together, held against budget and deadline (R7). `scheduling` sends
them.

A plain tool gets an order in its queue, askHuman a question, a skill with steps and an agent a
chain of their own (CONTRACT A, I1). A skill with hooks goes to a worker first, which gives the
arguments back as they leave them: then its chain begins.

Such a chain has its own log, deadline, questions and one final state (R1). Its id says whose action
it carries out (`base.child_id`), so parent and child keep nothing that could disagree. Both live in
one partition, and what one says to the other is part of its own commit: the parent's dispatch
begins the child, the child's end is the receipt of the parent's action, the parent's end cancels
the child. The chain of a skill has the skill's steps. That of an agent has a goal in its caller's
words, and the user's own goes beside it: only that counts for what may be done (C12) and for where
values come from (C13). Its budget is what its caller has left, or less if its own says so. What was
done and what is known goes down with the task, and comes back with the end (C14).
"""

from dataclasses import replace
from itertools import chain
from math import inf
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks import knowledge
from haltpoint.chain.checks.agents import LONGEST_TASK, assigned_to, hand_on_fault
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Refuse, Verdict
from haltpoint.chain.checks.core_tools import fill
from haltpoint.chain.checks.judges import judge
from haltpoint.chain.checks.knowledge import origin_tools, users_goal
from haltpoint.chain.checks.promises import of_no_step
from haltpoint.chain.checks.values import rewritten, sources
from haltpoint.chain.model.limits import deadline_of
from haltpoint.chain.model.outputs import Dispatch, Next, StartChild, StepEnd, step_failed
from haltpoint.chain.model.references import (
    Reference,
    read_json,
    references,
    replaced_at,
    values_at,
    walk,
)
from haltpoint.chain.model.schemas import text_of
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus, Code
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_human
from haltpoint.chain.turns.calling import is_held, over_budget, record, resolve
from haltpoint.contracts.base import MAX_DEPTH, child_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ASK_HUMAN, ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Assignment, Budget, Handed, Mode, Task
from haltpoint.contracts.work.thoughts import Violation

MAX_GOAL: Final = 1000
"""Characters of what a skill's task says of itself: the skill and its description."""

_SKILLS: Final = ("conversation_id", "context", "private", "mode", "tenant", "user")
_LIMITS: Final = ("turns", "actions", "tokens", "cost")

# ---- calls of a literal plan
# -----------------------------------------------------------------------------------------


def send_literal(work: Work, index: int) -> Next | None:
    """The next call of a literal plan's step, its references replaced by the results that they
    point at; or the end of the step, when it cannot be made. None: it has to wait.
    """
    call = work.steps[index].actions[work.run[index].taken]
    arguments = call.arguments
    wanted = references(arguments) if work.graph.sources[index] else []
    for place, target in wanted:
        values = values_at(_receipt(work, target), target.path)
        if not values:
            words = f"points at nothing in a result of step {target.step!r}"
            return step_failed(index, Code.NOT_RESOLVED, f"{call.tool}: {target.text!r} {words}")
        arguments = replaced_at(arguments, place, values)
    if wanted and any(len(place) >= MAX_DEPTH for place, _ in walk(arguments)):
        words = f"{call.tool}: its arguments are nested deeper than {MAX_DEPTH}"
        return step_failed(index, Code.NOT_RESOLVED, words)
    spec = work.world.tools.get(call.tool)
    if spec is None:
        return step_failed(index, Code.TOOL_GONE, f"no worker serves {call.tool} any more")
    checked = CheckedCall(work, index, spec, arguments, work.mode(index))
    if is_held(checked):
        return None
    verdict = judge(checked)
    if not isinstance(verdict, Refuse):
        return send(work, checked, verdict)
    words = verdict.correction.message
    if verdict.correction.violation is Violation.BAD_ARGUMENTS:
        return step_failed(index, Code.NOT_RESOLVED, words)
    return step_failed(index, Code.TOOL_FAILED, words, ErrorInfo(ErrorType.DENIED, words))


def _receipt(work: Work, wanted: Reference) -> dict[str, Any] | None:
    """The receipt of a step's last successful action as readers see it: the outcome's fields and
    `data`.
    """
    index = work.graph.index[wanted.step]
    action = work.actions.get(work.action_id(index, work.run[index].last_ok))
    if action is None or action.outcome is None:
        return None
    data = {"data": read_json(action.data)}
    return data if wanted.path[0] == "data" else {**in_full(action.outcome), **data}


# ---- all calls
# --------------------------------------------------------------------------------------------------


def send(work: Work, call: CheckedCall, verdict: Verdict = GO) -> Next:
    """A checked call as the step's next action, for its queue, for a child chain or for a person;
    or the end, when the budget is used up.

    Where its verdict is to ask first, a worker does that; a skill goes to a worker for it.
    """
    index = call.index
    spec = call.spec
    arguments = call.arguments
    reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
    most = inf if work.is_literal else work.world.policy.max_actions
    spent = over_budget(work, "actions", step_id=work.steps[index].id, most=most)
    if spent is not None:
        return spent
    action = work.next_action(index, spec.name, text_of(arguments))
    work.spent = structs.replace(work.spent, actions=work.spent.actions + 1)
    if spec.name == ASK_HUMAN:
        return ask_human(work, action, arguments)
    if spec.kind is ToolKind.AGENT:
        return hand_on(work, action, arguments)
    if spec.plan is not None and not spec.hooks and not reasons:
        return child_for(work, action, spec, spec.plan, arguments)
    return _order(work, action, spec, reasons=reasons, sources=sources(call))


def send_again(work: Work, action: Action, *, reconcile: bool = False) -> Next:
    """An action once more under its own id and the yes that it has, because a person said so (B3,
    E5), its rest is over (E2), or its tool is to say whether it happened (`reconcile`, E5). It
    costs no further action. Whoever takes the answer has looked at the deadline before.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None:
        words = f"no worker serves {action.tool} any more"
        if action.status is ActionStatus.ASKING:
            # a person has just answered, and nothing waits for it any more
            fault = ErrorInfo(ErrorType.NOT_FOUND, words, recoverable=False)
            record(work, resolve(work, work.actions[action.id], {}, "", fault))
        return step_failed(action.step, Code.TOOL_GONE, words)
    mode = work.mode(action.step)
    call = CheckedCall(work, action.step, spec, read_json(action.arguments), mode)
    found = sources(call)
    approval = work.approvals.get(action.id)
    if approval is not None and approval.proposed is not None:  # a person has edited it since
        before = replace(call, arguments=read_json(approval.proposed))
        by = SourceKind.PERSON
        found = rewritten(spec, sources(before), before.arguments, call.arguments, by)
    rest = work.resting.get(action.id)
    again = structs.replace(
        action, status=ActionStatus.DISPATCHED, attempt=action.attempt + 1, outcome=None, data=""
    )
    return _order(
        work,
        again,
        spec,
        approval=approval,
        again=True,
        sources=found,
        reconcile=reconcile,
        limited=0 if rest is None else rest.limited,
    )


def _order(work: Work, action: Action, spec: ToolSpec, **about: Any) -> Dispatch:
    """The order to a worker. It names the receipts in which the worker looks for origins (H3)."""
    approval = work.approvals.get(action.id)
    is_edited = approval is not None and approval.proposed is not None
    is_models = not work.is_literal and not is_edited
    origins = None
    if spec.provenance and is_models and work.mode(action.step) is Mode.STRICT:
        tools = origin_tools(chain.from_iterable(spec.provenance.values()))
        receipts = work.receipts.values()
        origins = tuple(
            [action.id for action in receipts if action.by_a_person or action.tool in tools]
        )
    return Dispatch(action, spec, work.deadline, work.spent.actions, origins=origins, **about)


# ---- chains that carry a call out
# --------------------------------------------------------------------------------------------------


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
    started = structs.replace(action, child=child_id(action.id))
    return StartChild(started, task, work.deadline, again=again)


def hand_on(work: Work, action: Action, arguments: dict[str, Any]) -> StartChild | StepEnd:
    """The chain of an agent; or why there can be none. The call is one of the chain's actions
    already.
    """
    fault = hand_on_fault(work, action.tool)
    if fault is not None:
        return step_failed(action.step, Code.OVER_BUDGET, fault)
    step_id = work.steps[action.step].id
    spent = over_budget(work, "turns", "tokens", "cost", step_id=step_id)
    if spent is not None:  # without actions an agent may still answer
        return StepEnd(action.step, spent)
    used = work.spent_in_all()
    left = {name: getattr(work.task.budget, name) for name in _LIMITS}
    for name in [name for name in _LIMITS if left[name] is not None]:
        left[name] -= getattr(used, name)
    task = structs.replace(
        work.task,
        goal=str(arguments.get("task", "")).strip() or users_goal(work)[:LONGEST_TASK],
        agent=arguments.get("target_agent", action.tool),
        handed=_handed(work, action),
        budget=Budget(**left),
        mode=work.mode(action.step),
        plan=None,
        bounds=None,
        deadline=None,
    )
    task = assigned_to(task, work.world.agents)
    deadline = deadline_of(task, work.world.policy, work.now)
    started = structs.replace(action, child=child_id(action.id))
    return StartChild(started, task, min(work.deadline, deadline))


def _handed(work: Work, action: Action) -> Handed:
    """What goes down with the task of an agent: the user's own goal, unless the call itself is in
    their words; the bounds, by which what is due no more may still be called; what was done, said
    and is known.
    """
    own = work.task.handed.assigned or Assignment()
    goal: str | None = users_goal(work)
    bounds = work.bounds
    if work.is_literal:
        call = work.steps[action.step].actions[action.number - 1]
        goal = goal if references(call.arguments) else None
    if bounds is not None:
        due = of_no_step(work, action.step)
        named = [bound for bound in bounds.required_tools if bound not in due]
        optional = (*bounds.optional_tools, *named)
        bounds = structs.replace(bounds, required_tools=tuple(due), optional_tools=optional)
    assigned = Assignment(
        chains=own.chains - work.below.spent.chains - 1,
        goal=goal,
        bounds=bounds,
        heard=work.people.heard,
        corrected=work.people.corrected,
        granted=work.people.granted,
    )
    return Handed(
        earlier=work.task.handed.earlier,
        assigned=assigned,
        above=work.task.path,
        ledger=work.ledger,
        known=knowledge.made_known(work, *work.task.handed.known),
        submitted_by=work.task.handed.submitted_by,
    )
