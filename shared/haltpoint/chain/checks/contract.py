"""What a model may call (CONTRACT C3, C15), and whether a task can be done and a plan be carried out (C1)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import Reference, references, write_json
from haltpoint.contracts.answers import OR
from haltpoint.contracts.base import MAX_BODY, MAX_STEPS
from haltpoint.contracts.tools import ASK_HUMAN, BUILT_IN, CONFIRMED, END_STEP, ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step, StepType
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Handed, Mode, Task

Tools = Mapping[str, ToolSpec]

NOT_CONFIRMED = "`confirmed` was dropped: only the runtime sets it, when a person has approved exactly this call"

_MOST_NAMES = 30  # tools that one sentence lists
_PLACEHOLDERS: dict[str, Any] = {"integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {}}


_ANY_TASK = Task()


def with_effects(spec: ToolSpec) -> bool:
    """Whether a call may change something. The built-in tools change nothing, and nothing does an agent by itself."""
    return not spec.read_only and spec.name not in BUILT_IN and spec.kind is not ToolKind.AGENT


def in_scope(spec: ToolSpec, task: Task) -> bool:
    """Whether the task and its agent let a model call a tool (C15). Nothing said: any. An agent may ask a person, and
    hand the task on to those that are there for it (I4).
    """
    if spec.kind is ToolKind.AGENT:
        return True
    own = None if task.handed.assigned is None or spec.name == human_tool.NAME else task.handed.assigned.tools
    return _fits(spec.name, task.tools) and _fits(spec.name, own)


def _fits(name: str, globs: tuple[str, ...] | None) -> bool:
    return globs is None or any(fnmatchcase(name, glob) for glob in globs)


def open_to_models(spec: ToolSpec, task: Task) -> bool:
    """Whether a step of this task may have a model call the tool; one that nobody serves any more is not offered."""
    return not spec.internal and not spec.gone and in_scope(spec, task)


def may_call(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Whether a model may call this tool in this step (C3). The built-in tools it may call in any, unless blocked."""
    if spec.name == END_STEP or (spec.name == ASK_HUMAN and not spec.internal):
        return True
    return _is_offered(step, spec, mode, task)


def _is_offered(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Promised tools, and those allowed or read-only. What a step has promised may be called also when its worker is
    gone: the order waits for another one (HP-102).
    """
    if spec.name in step.promised_tools:
        return not spec.internal and in_scope(spec, task)
    allowed = spec.read_only if step.allowed_tools is None else spec.name in step.allowed_tools
    return open_to_models(spec, task) and (mode is Mode.OFF or allowed)


def callable_tools(step: Step, tools: Tools, mode: Mode, task: Task) -> tuple[str, ...]:
    """The names of the tools that a prompt for this step should offer, sorted."""
    return tuple(sorted(name for name, spec in tools.items() if _is_offered(step, spec, mode, task)))


def without_confirmed(call: ProposedCall, tools: Tools) -> ProposedCall:
    """The call without `confirmed` where only the runtime sets it (B7): what a model says is no approval."""
    spec = tools.get(call.tool)
    if spec is None or not spec.confirms or CONFIRMED not in call.arguments:
        return call
    return ProposedCall(tool=call.tool, arguments={key: one for key, one in call.arguments.items() if key != CONFIRMED})


def call_form(spec: ToolSpec) -> str:
    """The exact form of a call as JSON text, with a placeholder for each parameter."""
    properties = spec.parameters.get("properties")
    named: dict[str, Any] = properties if isinstance(properties, dict) else {}
    arguments = {name: _placeholder(name, schema) for name, schema in named.items()}
    return write_json({"tool": spec.name, "arguments": arguments})


def _placeholder(name: str, schema: Any) -> Any:
    about = schema if isinstance(schema, dict) else {}
    kind, least = str(about.get("type")), about.get("minItems")
    if choices := about.get("enum"):
        return OR.join(map(str, choices[:_MOST_NAMES]))
    return [f"<{name}>"] if kind == "array" and least else _PLACEHOLDERS.get(kind, f"<{name}>")


def unknown(name: str, tools: Tools, named: Collection[str]) -> str:
    """Why a name is no tool's, with one that is meant, or with all that may be named."""
    open_tools = sorted(known for known, spec in tools.items() if not spec.internal and known in named)
    near = get_close_matches(name, open_tools, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {listed(open_tools)}"
    return f"no tool is called {name!r}; {hint}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, not all of very many: what a model is told has to fit into a message."""
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "none") + more


@dataclass(frozen=True, slots=True)
class PlanFault:
    """One thing that is wrong with a plan: in which step (None: in the plan as a whole), and what."""

    step_id: str | None
    message: str

    def __str__(self) -> str:
        return self.message if self.step_id is None else f"step {self.step_id!r}: {self.message}"


def task_fault(task: Task) -> str | None:
    """Why a task cannot be accepted; None when it can."""
    if task.handed != Handed():
        return "Only the runtime fills in `handed` of a task."
    if not task.goal.strip() and task.plan is None:
        return "The task has neither a goal nor a plan."
    if task.agent == SUPERVISOR:
        return "No agent is called `supervisor`: the name is built in."
    if len(msgspec.json.encode(task)) > MAX_BODY:  # 1e15 is longer when it is passed on
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
    """Everything that is wrong with a plan (C1); empty when it can be carried out. A literal plan brings all its calls.
    A drafted one names tools that its task lets a model call, and calls that it brings along are not looked at. `named`
    are the tools that a fault may name beside those of the plan (D1).
    """
    return (
        *_tool_faults(plan, tools, None if literal else task, tools if named is None else named),
        *(_literal_faults(plan, tools) if literal else ()),
        *_shape_faults(plan, MAX_STEPS if literal else policy.max_steps),
    )


def _tool_faults(plan: Plan, tools: Tools, task: Task | None, named: Collection[str]) -> Iterator[PlanFault]:
    """What is wrong with the tools that the steps name. A model calls those of a drafted plan, as its task allows; only
    a literal one, without `task`, may undo (E7).
    """
    for step in plan.steps:
        if task is not None and step.step_type is StepType.TOOL and not step.promised:
            yield PlanFault(step.id, "a tool step must name the tools that it needs in required_tools or one_of")
        called = [call.tool for call in step.actions] if task is None else []
        for name in dict.fromkeys((*step.promised_tools, *(step.allowed_tools or ()), *called)):
            spec = tools.get(name)
            if spec is None:
                yield PlanFault(step.id, unknown(name, tools, named))
            elif spec.internal and not (task is None and spec.undoes):
                yield PlanFault(step.id, f"{name} is internal: no plan and no model may call it")
            elif task is not None and not open_to_models(spec, task):
                why = "is not served by any worker now" if spec.gone else "may not be called in this task"
                names = listed(sorted(known for known, spec in tools.items() if open_to_models(spec, task)))
                yield PlanFault(step.id, f"{name} {why}; those that may be called: {names}")


def _literal_faults(plan: Plan, tools: Tools) -> Iterator[PlanFault]:
    waits = {step.id: step.dependencies for step in plan.steps}
    before: dict[str, set[str]] = {}  # most plans refer to direct dependencies only, and never ask
    for step in plan.steps:
        if not step.actions:
            yield PlanFault(step.id, "a step of a literal plan must bring its calls in actions; no model is asked")
        called = {call.tool for call in step.actions if not call.optional}
        for promise in step.promised:
            if called.isdisjoint(promise):
                yield PlanFault(step.id, f"{' or '.join(promise)} is required, but no action of the step calls it")
        for number, call in enumerate(step.actions):
            found = references(call.arguments)
            for _, target in found:
                if fault := _reference_fault(step, target, before, waits):
                    yield PlanFault(step.id, f"actions[{number}]: {fault}")
            if (spec := tools.get(call.tool)) is not None:
                plain = without_confirmed(call, tools)
                faults = [*human_tool.call_faults(spec, plain.arguments, [place for place, _ in found])]
                if plain is not call:
                    faults.append(f"leave out {CONFIRMED}: it is set only when a person has approved this call")
                for fault in faults:
                    yield PlanFault(step.id, f"actions[{number}] {call.tool}: {fault}")


def _reference_fault(
    step: Step, target: Reference | None, before: dict[str, set[str]], waits: Mapping[str, tuple[str, ...]]
) -> str | None:
    if target is None:
        return 'a reference is {"$from": "<step id>.<name>..."} and nothing else'
    if target.step in step.dependencies:
        return None
    if target.step in (before.get(step.id) or before.setdefault(step.id, _ancestors(waits, step.id))):
        return None
    if target.step not in waits:
        return f"{target.text!r} refers to an unknown step"
    text = f"{target.text!r} refers to step {target.step!r}, which this step does not wait for"
    return f"{text}; add it to its dependencies"


def _ancestors(waits: Mapping[str, tuple[str, ...]], step: str) -> set[str]:
    """All that a step waits for, directly or through others; also where they go round in a circle."""
    found, waiting = set[str](), list(waits[step])
    for name in waiting:  # grows while it is walked
        if name not in found:
            found.add(name)
            waiting += waits.get(name, ())
    return found


def _shape_faults(plan: Plan, most: int) -> Iterator[PlanFault]:
    if not plan.steps:
        yield PlanFault(None, "the plan has no steps")
    if len(plan.steps) > most:
        yield PlanFault(None, f"the plan has {len(plan.steps)} steps; at most {most} are allowed")
    waits: dict[str, tuple[str, ...]] = {}
    in_order = True  # each step waits for earlier ones: then there is no circle, and no unknown name
    for step in plan.steps:
        if step.id in waits:
            yield PlanFault(step.id, "another step has the same id")
        in_order = in_order and waits.keys() >= {*step.dependencies}
        waits[step.id] = step.dependencies
    if in_order:
        return
    for step in plan.steps:
        for name in step.dependencies:
            if name not in waits:
                yield PlanFault(step.id, f"depends on {name!r}, which is not a step of the plan")
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as circle:
        yield PlanFault(None, f"the dependencies form a cycle: {', '.join(circle.args[1][:-1])}")
