"""The only place from which an action goes out (R7): budget, deadline and references are checked here."""

from dataclasses import replace
from functools import partial
from typing import Any

from haltpoint.chain import human_tool, policy
from haltpoint.chain.asking import ask_for_input, next_request
from haltpoint.chain.children import child_for
from haltpoint.chain.codes import Code
from haltpoint.chain.contract import NOT_CONFIRMED
from haltpoint.chain.ending import fail_chain, fail_step
from haltpoint.chain.held import drop_held
from haltpoint.chain.outputs import Dispatch, StartChild
from haltpoint.chain.plural import count
from haltpoint.chain.provenance import origin_actions, provenance_fault
from haltpoint.chain.references import (
    Reference,
    UnresolvedError,
    deeper_than,
    read_json,
    resolve,
    write_json,
)
from haltpoint.chain.schemas import argument_faults, compiled
from haltpoint.chain.sources import sources_for, users_words
from haltpoint.chain.state import Action, ActionStatus, PlanOrigin, StepRun, StepStatus
from haltpoint.chain.templates import calls_inside
from haltpoint.chain.work import Work
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_DEPTH, action_id, child_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Call
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import ToolSpec

IN_PROGRESS = StepRun(StepStatus.IN_PROGRESS)
FIRST_SENT = StepRun(StepStatus.IN_PROGRESS, actions=1, taken=1, in_turn=1)
"""A step that has just begun, and the same with its first call on its way: most steps of literal plans pass by here."""


def dispatch_literal(work: Work, index: int) -> None:
    """Dispatch the next call of a literal plan's step, its references replaced by the results that they point at.

    Arguments are checked against the schema again when they were put together, or when the tool is not the one that the
    plan was checked with. What cannot be put together fails the step.
    """
    step = work.steps[index]
    call = step.actions[work.run(index).taken]
    spec = work.world.tools.get(call.tool)
    if spec is None:
        fail_step(work, index, Code.TOOL_GONE, f"no worker declares {call.tool} any more")
        return
    arguments: dict[str, Any] = call.arguments
    refers = bool(work.graph.sources[index])
    if refers:
        try:
            arguments = resolve(arguments, lambda wanted: _receipt(work, wanted))
        except UnresolvedError as missing:
            fail_step(work, index, Code.NOT_RESOLVED, f"{call.tool}: {missing}")
            return
    if refers or work.digests.get(call.tool) != compiled(spec).digest:
        faults = argument_faults(spec, arguments)
        if call.tool == human_tool.NAME:
            faults = faults or human_tool.question_faults(arguments)
        if faults:
            fail_step(work, index, Code.NOT_RESOLVED, f"{call.tool}: {'; '.join(faults)}")
            return
    dispatch(work, index, call.tool, arguments, spec)


def _receipt(work: Work, wanted: Reference) -> dict[str, Any] | None:
    """The receipt of a step's last successful action as readers see it: the outcome's fields and `data`."""
    number = work.run(work.graph.index[wanted.step]).last_ok
    action = work.actions.get(action_id(work.chain.id, wanted.step, number))
    if action is None or action.outcome is None:
        return None
    data = {"data": read_json(action.data)}
    return data if wanted.path[0] == "data" else {**action.outcome.model_dump(mode="json"), **data}


def dispatch(
    work: Work,
    index: int,
    tool: str,
    arguments: dict[str, Any],
    spec: ToolSpec,
    reasons: tuple[Reason, ...] = (),
    notes: tuple[str, ...] = (),
    repeats: str = "",
    sources: dict[str, Source] | None = None,
) -> None:
    """Send a checked call to its queue as the step's next action; deadline and budget come first.

    With `reasons` a worker asks a person before it runs the call; a skill goes to a worker for that. `notes` go into
    the receipt's warnings. `repeats` is the action that had this effect before, for the log.
    """
    if not in_time(work):
        return
    inside = 0 if spec.plan is None else calls_inside(spec.plan, work.world.tools)
    if not policy.actions_left(work.chain, work.origin, work.world.policy, work.actions_used + inside):
        fail_chain(
            work,
            Code.OVER_BUDGET,
            f"the chain has used up its {count(work.actions_used, 'action')}",
            work.steps[index].id,
        )
        return
    text = write_json(arguments)
    if len(text) > MAX_ARGUMENTS:
        fail_step(work, index, Code.NOT_RESOLVED, f"{tool}: its arguments have more than {MAX_ARGUMENTS} bytes")
        return
    if deeper_than(arguments, MAX_DEPTH):
        fail_step(work, index, Code.NOT_RESOLVED, f"{tool}: its arguments are nested deeper than {MAX_DEPTH}")
        return
    run = work.run(index)
    number = run.actions + 1
    action = Action(action_id(work.chain.id, work.steps[index].id, number), index, number, tool, text)
    work.actions_used += 1 + inside
    if tool == human_tool.NAME:
        _ask_a_person(work, action, arguments)
        return
    order: Dispatch | StartChild | tuple[Code, str]
    if spec.plan is None or spec.hooks or reasons:
        order = replace(_order(work, action, spec, reasons), notes=notes, sources=sources or {})
    else:
        action = replace(action, child=child_id(action.id))
        order = child_for(work, action, spec, spec.plan, arguments)
        if not isinstance(order, StartChild):
            fail_step(work, index, *order)
            return
    work.keep(action)
    if run is IN_PROGRESS:
        work.move(index, FIRST_SENT)
    else:
        work.move(index, replace(run, actions=number, taken=run.taken + 1, in_turn=run.in_turn + 1))
    work.outputs.append(order)
    told = {"child": action.child} if action.child else {}
    if repeats:
        told["repeats"] = repeats
    work.tell_action(FactType.ACTION_DISPATCHED, action, **told)


def carry_out(work: Work, action: Action, body: str) -> bool:
    """Begin the chain of a skill whose hooks have let the call pass, with the arguments as they left them.

    False when the result is that of anything else. A value that they changed needs an origin where a model's own needs
    one (H3).
    """
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.plan is None or action.child:
        return False  # most results come by here: they are not read, and may be large
    given = read_json(body)
    arguments = given.get("arguments") if isinstance(given, dict) else None
    if not isinstance(arguments, dict):
        return False
    if not in_time(work):
        return True
    index, started = action.step, replace(action, child=child_id(action.id))
    faults = argument_faults(spec, arguments)
    strict = work.mode(index) is Mode.STRICT
    if strict and work.origin is not PlanOrigin.LITERAL and arguments != read_json(action.arguments):
        call = Call(tool=action.tool, arguments=arguments)
        fault = provenance_fault(call, spec, work.chain.task.context, work.actions, users_words(work))
        faults = faults if fault is None else (*faults, fault.message)
    order = child_for(work, started, spec, spec.plan, arguments, admitted=True)
    if faults:
        fail_step(work, index, Code.NOT_RESOLVED, f"{action.tool}: {'; '.join(faults)}")
    elif not isinstance(order, StartChild):
        fail_step(work, index, *order)
    else:
        work.keep(started)
        work.outputs.append(order)
        work.tell_action(FactType.ACTION_DISPATCHED, action, child=started.child)
    return True


def _ask_a_person(work: Work, action: Action, arguments: dict[str, Any]) -> None:
    """AskHuman goes to no worker: the calls behind it are dropped, and the chain waits for the answer (B3, I4)."""
    index, run = action.step, work.run(action.step)
    work.move(index, replace(run, actions=action.number, taken=run.taken + 1, in_turn=run.in_turn + 1))
    work.tell_action(FactType.ACTION_DISPATCHED, action)
    if work.origin is not PlanOrigin.LITERAL:
        drop_held(work, index, f"stopped by {next_request(work)}")
    ask_for_input(work, action, arguments)


def dispatch_again(work: Work, action: Action, *, approval: str | None) -> None:
    """Send an action a second time under its own id, because a person said so (B3, E5); it costs no further action.

    `approval` is the digest of the call that they approved. Whoever takes the answer has looked at the deadline before.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None:
        fail_step(work, action.step, Code.TOOL_GONE, f"no worker declares {action.tool} any more")
    else:
        again = replace(action, status=ActionStatus.DISPATCHED, attempt=action.attempt + 1, outcome=None, data="")
        work.keep(again)
        sources = sources_for(work, action.step, read_json(action.arguments), spec)
        warned = () if action.outcome is None else action.outcome.warnings
        notes = (NOT_CONFIRMED,) if NOT_CONFIRMED in warned else ()
        order = replace(_order(work, again, spec), approval=approval, again=True, notes=notes, sources=sources)
        work.outputs.append(order)
        work.tell_action(FactType.ACTION_DISPATCHED, action, attempt=again.attempt)


def _order(work: Work, action: Action, spec: ToolSpec, reasons: tuple[Reason, ...] = ()) -> Dispatch:
    """The order to a worker, and what it needs to ask once more where values come from (H3)."""
    order = partial(Dispatch, action, spec, work.chain.deadline, work.actions_used, reasons=reasons)
    if work.origin is PlanOrigin.LITERAL:
        return order(unasked=PlanOrigin.LITERAL.value)
    if not spec.provenance:
        return order()
    mode = work.mode(action.step)
    if mode is not Mode.STRICT:
        return order(unasked=mode.value)
    return order(origins=origin_actions(spec, work.actions))


def in_time(work: Work) -> bool:
    """Whether the chain may still go on; it fails here when its time is over."""
    chain = work.chain
    if work.now < chain.deadline:
        return True
    if (seconds := policy.seconds_that_bind(chain)) is None:
        fail_chain(work, Code.TOO_LATE, "the chain's deadline has passed")
    else:
        fail_chain(work, Code.OVER_BUDGET, f"the chain has used up its {seconds:g} s")
    return False
