"""The calls of a step: whether there is room and budget for one (CONTRACT C8), what becomes of
those that never run (B3, C7), and what a receipt does (B2, C3, C11): the runtime obeys the tool,
never the model.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.answer import deed_of
from haltpoint.chain.checks.calls import CheckedCall
from haltpoint.chain.checks.knowledge import SAID
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.checks.promises import missing, of_step
from haltpoint.chain.model.outputs import Record, Resolve, StepEnd, failed, step_failed
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.state import NO_STRIKES, Action, Dropped, Failure
from haltpoint.chain.model.statuses import Code
from haltpoint.chain.model.work import Work
from haltpoint.contracts.advice import FOR_MODELS
from haltpoint.contracts.base import Strings
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Outcome,
)
from haltpoint.contracts.secrets import secret_values, starred, typed_in, without_secrets
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE

ARGUMENTS_WIDTH: Final = 2000
"""Characters of a call's arguments, as JSON text, that the log keeps of one that never ran."""

MOST_DROPPED: Final = 20
"""Calls that never ran which a chain keeps for its answer, the last ones."""


def has_room(work: Work, index: int) -> bool:
    """Whether one thing more may be under way, in a step and in its chain (C8)."""
    most = work.task.parallel or work.world.policy.parallel
    own = work.steps[index].parallel or most
    if work.is_literal:  # it may say more than its task, of the same author
        most = max(most, own)
    return work.under_way() < most and len(work.run[index].pending) < own


def over_budget(
    work: Work, *parts: str, step_id: str | None = None, most: float = inf
) -> Failure | None:
    """The end of a chain that has nothing left of one of these parts of its budget. `most` is how
    much of the first one the policy lets a chain use itself.
    """
    own = getattr(work.spent, parts[0])
    for part in parts:
        limit = getattr(work.task.budget, part)
        is_used_up = limit is not None and getattr(work.spent_in_all(), part) >= limit
        if is_used_up or own >= most:
            words = f"the chain has used up its budget of {part}"
            return failed(Code.OVER_BUDGET, words, step_id)
    return None


def is_held(call: CheckedCall) -> bool:
    """Whether a call has to wait for the receipts of others (C8).

    In its step calls run one at a time, but for those that only read and ask nobody. A model's
    effect runs beside no other effect of the chain, and an agent's call counts as one: what it will
    call is not known yet, and its questions are for people, too. One agent works at a time, also in
    a literal plan.
    """
    work = call.work
    actions = work.actions.values()
    others = [action for action in actions if action.number in work.run[action.step].pending]
    if not others:
        return False
    beside = [other.tool for other in others if other.step == call.index]
    if beside and not all(map(work.world.only_reads, (call.spec.name, *beside))):
        return True
    specs = [call.spec, *(work.world.spec(other.tool) for other in others)]
    is_models = not work.is_literal
    acts = [spec.kind is ToolKind.AGENT or (is_models and not spec.read_only) for spec in specs]
    return acts[0] and any(acts[1:])


# ---- calls that never run
# --------------------------------------------------------------------------------------------


def calls_of(work: Work, index: int) -> Sequence[ProposedCall]:
    """The calls that a step makes one after the other: those of its plan, or of its proposal, where
    a decision of a supervisor comes first (I3).
    """
    if work.is_literal:
        return work.steps[index].actions
    calls = work.proposal(index).calls
    decisions = [call for call in calls if call.tool == ROUTE]
    return [*decisions, *(call for call in calls if call.tool != ROUTE)]


def drop_held(work: Work, index: int, reason: str, *, before: int | None = None) -> None:
    """Record every call of a step that was neither sent nor refused as never executed; `before`:
    those before this place.
    """
    for call in calls_of(work, index)[work.run[index].taken : before]:
        drop_next(work, index, call, reason)


def drop_next(work: Work, index: int, call: ProposedCall, reason: str) -> None:
    """Record the next call of a step as never executed. Of a literal plan it may be an optional one
    that cannot be made.
    """
    run = work.edit(index)
    spec = work.world.spec(call.tool)
    arguments = write_json(call.arguments)
    run.taken += 1
    run.dropped |= call.tool in work.steps[index].promised_tools
    if not work.is_literal and with_effects(spec):
        dropped = Dropped(call.tool, arguments, reason, index, run.actions)
        work.dropped = (*work.dropped, dropped)[-MOST_DROPPED:]
    shown = write_json(starred(call.arguments, frozenset(typed_in(spec.parameters))))
    work.tell(
        FactType.ACTION_NEVER_EXECUTED,
        index,
        tool=call.tool,
        call=run.taken,
        reason=reason,
        arguments=shown[:ARGUMENTS_WIDTH],
    )


# ---- receipts that count
# ---------------------------------------------------------------------------------------------


def record(work: Work, action: Action) -> bool:
    """Keep a receipt that counts, and note which promises of its step it keeps: that of the tool,
    when it succeeded, and those of the tools that succeeded in the chain that carried it out, which
    may have failed later. Whether it keeps any. A task was handed on also when the agent failed.
    """
    ledger.settle(work, action)
    run = work.edit(action.step)
    names = set(action.told.below.nested_successes)
    if action.satisfies or action.tool == ROUTE:
        names.add(action.tool)
    kept = 0
    for bit, tools in enumerate(of_step(work, action.step)):
        kept |= 0 if names.isdisjoint(tools) else 1 << bit
    run.receipts |= kept
    if action.satisfies and not run.status.done:
        run.last_ok = max(run.last_ok, action.number)
    work.keep(action)
    return kept > 0


def succeed(work: Work, action: Action) -> StepEnd | None:
    """A successful receipt. It ends the chain's row of violations, and the step's when the tool was
    required or none is (D2). That `complete` ends a step of a plan which has all that it promised
    (B2).
    """
    index = action.step
    outcome = action.outcome
    work.row = NO_STRIKES
    if record(work, action) or not of_step(work, index):
        work.edit(index).strikes = 0
    says_complete = outcome is not None and outcome.next_action is NextAction.COMPLETE
    if says_complete and not work.is_open and not missing(work, index):
        return StepEnd(index)
    return end_of_calls(work, index)


def end_of_calls(work: Work, index: int) -> StepEnd | None:
    """The end of a step of a plan: of a literal one when its last call has ended, of a drafted one
    when it has all that it promised, and the proposal that kept the last of it has run (C3). Where
    calls of what it promised were dropped the model is told first (C7).
    """
    step = work.steps[index]
    run = work.run[index]
    if work.is_open or run.pending:
        return None
    if run.taken < len(calls_of(work, index)):
        return None
    if work.is_literal:
        return StepEnd(index)
    is_open = not step.promised or step.each or run.dropped or missing(work, index)
    return None if is_open else StepEnd(index)


def fail_action(work: Work, action: Action) -> StepEnd | None:
    """A receipt with an error ends the turn (C7). A literal step fails with it; elsewhere the model
    reads it (C11).
    """
    index = action.step
    record(work, action)
    if is_optional(work, action):
        return end_of_calls(work, index)
    drop_held(work, index, "the call before it failed")
    if work.is_literal:
        return failed_by_tool(work, Code.TOOL_FAILED, action)
    return None


def fail_with(
    work: Work, action: Action, fault: ErrorInfo, said: str = "", by: str = ""
) -> StepEnd | None:
    """An error in place of the receipt, which no worker gave, with a person's words as typed: they
    may name a value (C6).
    """
    data = {SAID: said.strip()} if said.strip() else {}
    return fail_action(work, resolve(work, action, data, by, fault))


def is_optional(work: Work, action: Action) -> bool:
    """Whether the submitter says that this call of a literal plan may fail."""
    return work.is_literal and work.steps[action.step].actions[action.number - 1].optional


def failed_by_tool(work: Work, code: Code, action: Action) -> StepEnd:
    """The step fails because of a tool's error, by its own message and suggestion. Where chains are
    listed nobody knows the secrets of the call, so the stars are put here.
    """
    fault = action.error
    assert fault is not None  # noqa: S101 - it is why
    words = fault.message
    if fault.suggestion is not None and fault.suggestion not in FOR_MODELS:
        words = f"{words.rstrip('.')}. {fault.suggestion}"
    typed = (*typed_in(work.world.spec(action.tool).parameters),)
    given = [read_json(action.arguments), read_json(action.ran)]
    words = without_secrets(words, secret_values(given, typed))
    message = f"{action.tool} ({fault.error_type.value}): {words}"
    return step_failed(action.step, code, message, fault)


# ---- receipts that no worker gave
# ------------------------------------------------------------------------------------


def given(
    work: Work,
    action: Action,
    data: dict[str, Any],
    by: str = "",
    fault: ErrorInfo | None = None,
    warnings: Strings = (),
) -> Action:
    """The action with a receipt that no worker gave, but a person or the runtime. The arguments
    that ran are those of a worker's own.
    """
    text = write_json(data)
    spec = work.world.spec(action.tool)
    metadata = Metadata(
        tool=action.tool,
        started_at=work.now,
        by=by,
        deed=None if fault else deed_of(spec, action.ran, text),
        arguments=action.told.arguments,
    )
    outcome = replace(outcome_of(fault, metadata), warnings=warnings)
    return action.done(outcome, text)


def resolve(work: Work, action: Action, data: dict[str, Any], *about: Any) -> Action:
    """The same, of an action that was sent: it is stored beside the worker's own."""
    resolved = given(work, action, data, *about)
    work.outputs.append(Resolve(resolved))
    return resolved


def outcome_of(fault: ErrorInfo | None, metadata: Metadata) -> Outcome:
    """The receipt of a success, or of an error with what the model alone reads about a denied call
    (E4).
    """
    is_denied = fault is not None and fault.error_type is ErrorType.DENIED
    return Outcome(
        success=fault is None,
        next_action=NextAction.ERROR if fault else NextAction.CONTINUE,
        error=fault,
        instruction_for_ai="Do not retry this call." if is_denied else None,
        metadata=metadata,
    )


def write_down(work: Work, action: Action, **told: str) -> None:
    """An action that was never sent, with its receipt: it is done."""
    work.begin(action)
    work.outputs += (Record(action), Resolve(action))
    next_action = NextAction.ERROR if action.error else NextAction.CONTINUE
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=next_action.value, **told)


def give_back(work: Work, index: int, earlier: Action) -> Action:
    """Write an equal call of an answered lookup down, with that receipt (B4). It costs none of the
    budget.
    """
    outcome = earlier.outcome
    assert outcome is not None  # noqa: S101 - a person has answered it
    whole = None if outcome.metadata.whole is None else 0
    metadata = replace(outcome.metadata, repeats=earlier.id, whole=whole)
    action = work.next_action(index, earlier.tool, earlier.arguments)
    receipt = replace(outcome, metadata=metadata)
    action = action.done(receipt, earlier.data)
    write_down(work, action, repeats=earlier.id)
    return action
