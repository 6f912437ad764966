"""Calls on their way out: put together, held against budget and deadline (R7). `scheduling` sends them.

A skill with steps is carried out by a chain of its own (CONTRACT A), with its own log, deadline, questions and one
final state (R1). Its id says whose action it carries out (`base.child_id`), so parent and child keep nothing that could
disagree. Both live in one partition, and what one says to the other is part of its own commit: the parent's dispatch
begins the child, the child's end is the receipt of the parent's action, the parent's end cancels the child. A skill
with hooks goes to a worker first, which gives the arguments back as they leave them: then its chain begins. So does an
agent (`handing_on`), whose chain has a goal in place of steps.
"""

from typing import Any, Final

from msgspec import json, structs

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.calls import AskFirst, CheckedCall, Refuse
from haltpoint.chain.checks.contract import NOT_CONFIRMED
from haltpoint.chain.checks.judges import judge
from haltpoint.chain.checks.knowledge import Known
from haltpoint.chain.checks.templates import MOST_LEVELS, calls_inside, fill
from haltpoint.chain.checks.values import rewritten, sources
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.outputs import Dispatch, Next, StartChild, StepEnd, failed, step_failed
from haltpoint.chain.model.references import (
    Reference,
    UnresolvedError,
    deeper_than,
    read_json,
    references,
    resolve,
    write_json,
)
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import ActionStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask_for_input
from haltpoint.chain.turns.gate import drop_held
from haltpoint.chain.turns.handing_on import hand_on
from haltpoint.chain.turns.receipts import record, resolve_error
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY, MAX_DEPTH, child_id, levels_of
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.phrases import count
from haltpoint.contracts.reasons import Reason, SourceKind
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Handed, Mode, Task

MAX_GOAL: Final = 1000
"""Characters of what a child's task says of itself: the skill and its description."""

_PASSED_ON: Final = ("conversation_id", "context", "private", "mode", "tenant", "user")


def literal_call(work: Work, index: int) -> CheckedCall | Failure:
    """The next call of a literal plan's step, its references replaced by the results that they point at; or why it
    cannot be made.

    Arguments are checked against the schema again: the tool may be another one by now.
    """
    call = work.steps[index].actions[work.run[index].taken]
    spec, arguments = work.world.tools.get(call.tool), call.arguments
    if spec is None:
        return failed(Code.TOOL_GONE, f"no worker declares {call.tool} any more")
    faults: tuple[str, ...] = ()
    if work.graph.sources[index]:
        try:
            arguments = resolve(arguments, lambda wanted: _receipt(work, wanted))
        except UnresolvedError as missing:
            faults = (str(missing),)
    if not faults:
        faults = human_tool.call_faults(spec, arguments)
    if faults:
        return failed(Code.NOT_RESOLVED, f"{call.tool}: {'; '.join(faults)}")
    return CheckedCall(work, index, spec, arguments)


def send_literal(work: Work, call: CheckedCall) -> Next:
    """The next call of a literal plan, unless a person's no stands against it."""
    verdict = judge(call)
    if isinstance(verdict, Refuse):
        return step_failed(call.index, Code.TOOL_FAILED, verdict.correction.message)
    reasons = verdict.reasons if isinstance(verdict, AskFirst) else ()
    return send(work, call, reasons)


def _receipt(work: Work, wanted: Reference) -> dict[str, Any] | None:
    """The receipt of a step's last successful action as readers see it: the outcome's fields and `data`."""
    index = work.graph.index[wanted.step]
    action = work.actions.get(work.action_id(index, work.run[index].last_ok))
    if action is None or action.outcome is None:
        return None
    data = {"data": read_json(action.data)}
    return data if wanted.path[0] == "data" else {**in_full(action.outcome), **data}


def send(
    work: Work,
    call: CheckedCall,
    reasons: tuple[Reason, ...] = (),
    notes: tuple[str, ...] = (),
) -> Next:
    """A checked call as the step's next action, for its queue, for a child chain or for a person; or the end, when the
    budget is used up or the call is too large.

    With `reasons` a worker asks a person before it runs the call; a skill goes to a worker for that. `notes` go into
    the receipt's warnings.
    """
    index, spec, literal = call.index, call.spec, work.origin is PlanOrigin.LITERAL
    inside = 0 if spec.plan is None else calls_inside(spec.plan, work.world.tools)
    used, budget, own = work.spent.actions + inside, work.task.budget.actions, work.world.policy.max_actions
    out = budget is not None and used + work.below.spent.actions >= budget
    if out or (not literal and used >= own):
        most = own if budget is None or not out else budget
        why = f"the chain has used up its {count(most, 'action')}"
        why = why if most else "the budget has no action for this chain"
        return failed(Code.OVER_BUDGET, why, work.steps[index].id)
    try:
        encoded, wrong = json.encode(call.arguments), ""
    except UnicodeEncodeError:  # half of a character
        encoded, wrong = write_json(call.arguments).encode(), ""
    if len(encoded) > MAX_ARGUMENTS:
        wrong = f"its arguments have more than {MAX_ARGUMENTS} bytes"
    elif (b"[" in encoded or encoded.find(b"{", 1) > 0) and deeper_than(call.arguments, MAX_DEPTH):
        wrong = f"its arguments are nested deeper than {MAX_DEPTH}"
    if wrong:
        return step_failed(index, Code.NOT_RESOLVED, f"{spec.name}: {wrong}")
    action = work.next_action(index, spec.name, encoded.decode())
    work.spent = structs.replace(work.spent, actions=used + 1)
    if spec.name == human_tool.NAME:  # it goes to no worker: the calls behind it are dropped (B3, I4)
        work.begin(action)
        work.tell_action(FactType.ACTION_DISPATCHED, action)
        if not literal:
            drop_held(work, index, "a question was open")
        return ask_for_input(work, action, call.arguments)
    if spec.plan is not None and not spec.hooks and not reasons:
        child = child_for(work, action, spec, spec.plan, call.arguments)
        return child if isinstance(child, StartChild) else StepEnd(index, child)
    if spec.kind is ToolKind.AGENT:
        handed_on = hand_on(work, action, call.arguments)
        return handed_on if isinstance(handed_on, StartChild) else StepEnd(index, handed_on)
    return _order(work, action, spec, reasons=reasons, notes=notes, sources=sources(call))


def child_for(
    work: Work, action: Action, spec: ToolSpec, plan: Plan, arguments: dict[str, Any], *, admitted: bool = False
) -> StartChild | Failure:
    """The chain that carries the action out, for the same tenant, user and contexts; or why there can be none."""
    if levels_of(work.id) >= MOST_LEVELS:
        return failed(Code.TOO_DEEP, f"{spec.name}: skills call skills more than {MOST_LEVELS} deep")
    if references(arguments):
        words = f"{spec.name}: its arguments hold a $from, which would be read as one of the skill's"
        return failed(Code.NOT_RESOLVED, words)
    steps = fill(plan, arguments)
    if len(json.encode(steps)) > MAX_BODY:
        words = f"{spec.name}: its steps with these arguments have more than {MAX_BODY} bytes"
        return failed(Code.NOT_RESOLVED, words)
    goal = f"{spec.name}: {spec.description}"[:MAX_GOAL]
    passed_on = {name: getattr(work.task, name) for name in _PASSED_ON}
    started = structs.replace(action, child=child_id(action.id))
    handed = Handed(above=work.task.path, ledger=work.ledger)
    task = Task(goal=goal, plan=steps, handed=handed, **passed_on)
    return StartChild(started, task, work.deadline, admitted=admitted)


def send_again(work: Work, action: Action, *, reconcile: bool = False, reasons: tuple[Reason, ...] = ()) -> Next:
    """An action once more under its own id and the yes that it has, because a person said so (B3, E5), its rest is over
    (E2), or its tool is to say whether it happened (`reconcile`, E5). It costs no further action. Whoever takes the
    answer has looked at the deadline before.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None:
        words = f"no worker declares {action.tool} any more"
        if action.status is ActionStatus.ASKING:  # a person has just answered, and nothing waits for it any more
            record(work, resolve_error(work, action, ErrorInfo(ErrorType.NOT_FOUND, words, recoverable=False)))
        return step_failed(action.step, Code.TOOL_GONE, words)
    again = structs.replace(action, status=ActionStatus.DISPATCHED, attempt=action.attempt + 1, outcome=None, data="")
    call, approval = CheckedCall.of(work, action), work.approvals.get(action.id)
    known = sources(call)
    if approval is not None and approval.proposed is not None:
        proposed = CheckedCall(work, call.index, spec, read_json(approval.proposed))
        known = rewritten(spec, sources(proposed), proposed.arguments, call.arguments, SourceKind.PERSON)
    rest = work.resting.get(action.id)
    warned = () if action.outcome is None else action.outcome.warnings
    notes: tuple[str, ...] = (NOT_CONFIRMED,) if NOT_CONFIRMED in warned else ()
    return _order(
        work,
        again,
        spec,
        approval=approval,
        again=True,
        sources=known,
        reconcile=reconcile,
        limited=0 if rest is None else rest.limited,
        notes=notes,
        reasons=reasons,
    )


def _order(work: Work, action: Action, spec: ToolSpec, **said: Any) -> Dispatch:
    """The order to a worker, with what it needs to ask once more where values come from."""
    origins: tuple[str, ...] | None = None
    unasked: str | None = None
    if work.origin is PlanOrigin.LITERAL:
        unasked = PlanOrigin.LITERAL
    elif (approval := work.approvals.get(action.id)) is not None and approval.proposed is not None:
        unasked = SourceKind.PERSON
    elif (mode := work.mode(action.step)) is not Mode.STRICT:
        unasked = mode.value
    elif spec.provenance:
        origins = Known.of(work).origin_actions(spec)
    return Dispatch(action, spec, work.deadline, work.spent.actions, origins=origins, unasked=unasked, **said)
