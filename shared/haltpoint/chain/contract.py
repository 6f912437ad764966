"""The contract as checks (CONTRACT C1, C6, C9): plans before anything runs, proposals call by call."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from haltpoint.chain import human_tool
from haltpoint.chain.references import Reference, is_flat, references, write_json
from haltpoint.chain.schemas import SHOWN, argument_faults
from haltpoint.chain.world import Policy
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY, MAX_STEPS
from haltpoint.contracts.plans import Call, Plan, Step, StepType
from haltpoint.contracts.tasks import Mode, Task
from haltpoint.contracts.thoughts import Correction, Violation
from haltpoint.contracts.tools import CONFIRMED, ToolSpec

Tools = Mapping[str, ToolSpec]

NOT_CONFIRMED = "`confirmed` was dropped: only the runtime sets it, when a person has approved exactly this call"
"""What the receipt of a call says that brought it along."""

_MOST_NAMES = 30  # tools that one sentence lists
_ANY_FORM = '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}'
_ANY_TASK = Task()
_PLACEHOLDERS: dict[str, Any] = {"integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {}}


@dataclass(frozen=True, slots=True)
class PlanFault:
    """One thing that is wrong with a plan: in which step (None: in the plan as a whole), and what."""

    step_id: str | None
    message: str

    def __str__(self) -> str:
        return self.message if self.step_id is None else f"step {self.step_id!r}: {self.message}"


def task_fault(task: Task) -> str | None:
    """Why nothing can be done for a task, whoever brings it; None when something can."""
    if task.earlier:
        return "The task brings `earlier`, which is filled in from its conversation when it is accepted."
    if not task.goal.strip() and task.plan is None:
        return "The task has neither a goal nor a plan."
    if len(task.model_dump_json(exclude_defaults=True).encode()) > MAX_BODY:  # 1e15 is longer when it is passed on
        return f"The task has more than {MAX_BODY} bytes as it is passed on."
    return None


def plan_faults(
    plan: Plan,
    tools: Tools,
    policy: Policy,
    *,
    literal: bool,
    task: Task = _ANY_TASK,
    named: Collection[str] | None = None,
) -> tuple[PlanFault, ...]:
    """Everything that is wrong with a plan (C1); empty when it can be carried out.

    A literal plan brings all its calls, at most 500 steps. A drafted one names tools that its task lets a model call,
    and is bound by the policy's `max_steps`; calls that it brings along are not looked at, since a model proposes calls
    turn by turn. `named` are the tools that a fault may name beside those of the plan (D1); None: all.
    """
    most = MAX_STEPS if literal else policy.max_steps
    wrong = "the plan has no steps" if not plan.steps else ""
    if len(plan.steps) > most:
        wrong = f"the plan has {len(plan.steps)} steps; at most {most} are allowed"
    return (
        *((PlanFault(None, wrong),) if wrong else ()),
        *(fault for step in plan.steps for fault in _tool_faults(step, tools, tools if named is None else named)),
        *(_literal_faults(plan, tools) if literal else _drafted_faults(plan, tools, task)),
        *_graph_faults(plan),
    )


def _tool_faults(step: Step, tools: Tools, known: Collection[str]) -> Iterator[PlanFault]:
    named = (*step.promised_tools, *(step.allowed_tools or ()), *(call.tool for call in step.actions))
    for name in dict.fromkeys(named):
        spec = tools.get(name)
        if spec is None:
            yield PlanFault(step.id, _unknown(name, tools, known))
        elif spec.internal:
            yield PlanFault(step.id, f"{name} is internal: only the runtime and other tools may call it")
        elif spec.destructive:
            yield PlanFault(step.id, _destructive(name))


def _drafted_faults(plan: Plan, tools: Tools, task: Task) -> Iterator[PlanFault]:
    for step in plan.steps:
        if step.step_type is StepType.TOOL and not step.promised:
            yield PlanFault(step.id, "a tool step must name the tools that it needs in required_tools or one_of")
        for name in dict.fromkeys((*step.promised_tools, *(step.allowed_tools or ()))):
            if name in tools and (tools[name].gone or not in_scope(name, task)):
                why = "is served by no worker now" if tools[name].gone else "may not be called in this task"
                names = _listed(sorted(known for known, spec in tools.items() if open_to_models(spec, task)))
                yield PlanFault(step.id, f"{name} {why}; those that may be called: {names}")


def _literal_faults(plan: Plan, tools: Tools) -> Iterator[PlanFault]:
    ancestors: dict[str, set[str]] | None = None
    for step in plan.steps:
        if not step.actions:
            yield PlanFault(step.id, "a step of a literal plan must bring its calls in actions; no model is asked")
        called = {call.tool for call in step.actions}
        for promise in step.promised:
            if called.isdisjoint(promise):
                yield PlanFault(step.id, f"{' or '.join(promise)} is required, but no action of the step calls it")
        for number, call in enumerate(step.actions):
            found = [] if is_flat(call.arguments) else list(references(call.arguments))
            for _, target in found:
                ancestors = ancestors if ancestors is not None else _ancestors(plan)
                yield from _reference_faults(step, number, target, ancestors)
            if call.tool in tools:
                places = tuple(place for place, _ in found)
                plain = without_confirmed(call, tools)
                faults = argument_faults(tools[call.tool], plain.arguments, unknown=places)
                if plain is not call:
                    faults = (*faults, f"leave out {CONFIRMED}: it is set only when a person has approved this call")
                if call.tool == human_tool.NAME:
                    faults = (*faults, *human_tool.question_faults(call.arguments))
                for fault in faults:
                    yield PlanFault(step.id, f"actions[{number}] {call.tool}: {fault}")


def _reference_faults(
    step: Step, number: int, target: Reference | None, ancestors: dict[str, set[str]]
) -> Iterator[PlanFault]:
    if target is None:
        text = 'a reference is {"$from": "<step id>.<name>..."} and nothing else'
        yield PlanFault(step.id, f"actions[{number}]: {text}")
    elif target.step not in ancestors:
        yield PlanFault(step.id, f"actions[{number}]: {target.text!r} refers to an unknown step")
    elif target.step not in ancestors[step.id]:
        text = f"{target.text!r} refers to step {target.step!r}, which this step does not wait for"
        yield PlanFault(step.id, f"actions[{number}]: {text}; add it to its dependencies")


def _graph_faults(plan: Plan) -> Iterator[PlanFault]:
    ids: set[str] = set()
    backwards = True  # each step waits only for earlier ones: then there is no circle, and no unknown name
    for step in plan.steps:
        if step.id in ids:
            yield PlanFault(step.id, "another step has the same id")
        backwards = backwards and ids.issuperset(step.dependencies)
        ids.add(step.id)
    if backwards:
        return
    for step in plan.steps:
        for name in step.dependencies:
            if name not in ids:
                yield PlanFault(step.id, f"depends on {name!r}, which is not a step of the plan")
    reached = {step.id for step in _order(plan)}
    stuck = [step.id for step in plan.steps if step.id not in reached]
    if stuck:
        yield PlanFault(None, f"the dependencies go round in a circle: {', '.join(stuck)}")


def _order(plan: Plan) -> list[Step]:
    """The steps that can be reached, each after those that it depends on."""
    steps = {step.id: step for step in plan.steps}
    waits = {name: {other for other in step.dependencies if other in steps} for name, step in steps.items()}
    frees: dict[str, list[str]] = {name: [] for name in steps}
    for name, others in waits.items():
        for other in others:
            frees[other].append(name)
    order = [name for name in steps if not waits[name]]
    for name in order:  # grows while it is walked
        for freed in frees[name]:
            waits[freed].discard(name)
            if not waits[freed]:
                order.append(freed)
    return [steps[name] for name in order]


def _ancestors(plan: Plan) -> dict[str, set[str]]:
    """For each step all that it waits for, directly or through others; steps in a circle wait for nobody here."""
    found: dict[str, set[str]] = {step.id: set() for step in plan.steps}
    for step in _order(plan):
        for name in step.dependencies:
            if name in found:
                found[step.id].add(name)
                found[step.id] |= found[name]
    return found


# ---- what a model may call, and whether a call will do ---------------------------------------------------------------


def in_scope(name: str, task: Task) -> bool:
    """Whether the task lets a model call a tool of this name (C15). Nothing said: any."""
    return task.tools is None or any(fnmatchcase(name, glob) for glob in task.tools)


def open_to_models(spec: ToolSpec, task: Task) -> bool:
    """Whether a step of this task may have a model call the tool; one that nobody serves any more is not offered."""
    return not spec.internal and not spec.destructive and not spec.gone and in_scope(spec.name, task)


def may_call(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Whether a model may call this tool in this step (C3): promised tools, and those allowed or read-only.

    What a step has promised may be called also when its worker is gone: the order waits for another one (HP-102).
    """
    if spec.name in step.promised_tools:
        return not spec.internal and not spec.destructive and in_scope(spec.name, task)
    if not open_to_models(spec, task):
        return False
    if mode is Mode.OFF:
        return True
    return spec.read_only if step.allowed_tools is None else spec.name in step.allowed_tools


def callable_tools(step: Step, tools: Tools, mode: Mode, task: Task) -> tuple[str, ...]:
    """The names of all tools that a model may call in this step, sorted; what a prompt should offer."""
    return tuple(sorted(name for name, spec in tools.items() if may_call(step, spec, mode, task)))


def without_confirmed(call: Call, tools: Tools) -> Call:
    """The call without `confirmed` where only the runtime sets it (B7): what a model says is no approval."""
    spec = tools.get(call.tool)
    if spec is None or not spec.confirms or CONFIRMED not in call.arguments:
        return call
    return Call(tool=call.tool, arguments={key: one for key, one in call.arguments.items() if key != CONFIRMED})


def call_fault(
    call: Call, step: Step, tools: Tools, mode: Mode, task: Task, named: Callable[[], Collection[str]]
) -> Correction | None:
    """What is wrong with a proposed call apart from provenance (C6, C9); None when it will do.

    `named` gives the tools that the correction may name beside the one that was called (D1).
    """
    spec = tools.get(call.tool)
    if spec is None:
        return Correction(violation=Violation.UNKNOWN_TOOL, tool=call.tool, message=_unknown(call.tool, tools, named()))
    if spec.destructive:
        return Correction(violation=Violation.NOT_ALLOWED, tool=call.tool, message=_destructive(call.tool))
    if not may_call(step, spec, mode, task):
        known = named()
        names = _listed([name for name in callable_tools(step, tools, mode, task) if name in known])
        text = f"{call.tool} may not be called in step {step.id!r}. Tools that may be called here: {names}."
        return Correction(violation=Violation.NOT_ALLOWED, tool=call.tool, message=text)
    faults = argument_faults(spec, call.arguments)
    if spec.name == human_tool.NAME:
        faults = faults or human_tool.question_faults(call.arguments)
    if spec.plan is not None and next(references(call.arguments), None) is not None:
        faults = (*faults, "$from: only the steps of a skill itself refer to results")
    if len(write_json(call.arguments)) > MAX_ARGUMENTS:
        faults = (f"they have more than {MAX_ARGUMENTS} bytes",)
    if faults:
        text = f"The arguments of {call.tool} are wrong: {'; '.join(faults)}. The form is: {form_of(spec)}"
        return Correction(violation=Violation.BAD_ARGUMENTS, tool=call.tool, message=text)
    return None


def reading_faults(faults: Sequence[str], due: Iterable[ToolSpec]) -> tuple[Correction, ...]:
    """The correction for what could not be read of a reply (C6, D1), with the form of the tools that are due."""
    if not faults:
        return ()
    more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    forms = " ".join(map(form_of, due)) or _ANY_FORM
    text = f"Your reply could not be read: {'; '.join(faults[:SHOWN])}{more}. The form of a call is: {forms}"
    return (Correction(violation=Violation.UNREADABLE, message=text),)


def form_of(spec: ToolSpec) -> str:
    """The exact form of a call as JSON text, with a placeholder for each parameter."""
    properties = spec.parameters.get("properties")
    named: dict[str, Any] = properties if isinstance(properties, dict) else {}
    kinds = {name: str(schema.get("type")) if isinstance(schema, dict) else "" for name, schema in named.items()}
    arguments = {name: _PLACEHOLDERS.get(kind, f"<{name}>") for name, kind in kinds.items()}
    return write_json({"tool": spec.name, "arguments": arguments})


def _unknown(name: str, tools: Tools, named: Collection[str]) -> str:
    open_tools = sorted(known for known, spec in tools.items() if not spec.internal and known in named)
    near = get_close_matches(name, open_tools, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {_listed(open_tools)}"
    return f"no tool is called {name!r}; {hint}"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence, not all of very many: what a model is told has to fit into a message."""
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "none") + more


def _destructive(name: str) -> str:
    return f"{name} is destructive and may run only after a person has confirmed it, which cannot be asked for yet"
