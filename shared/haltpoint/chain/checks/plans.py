"""What a model may call (CONTRACT C3, C15), and whether a task can be done and a plan be carried
out (C1).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

import msgspec

from haltpoint.chain.checks import built_in
from haltpoint.chain.model.references import Reference, reached, references, write_json
from haltpoint.contracts.answers import OR
from haltpoint.contracts.base import MAX_BODY, MAX_STEPS, value
from haltpoint.contracts.tools import ASK_HUMAN, BUILT_IN, CONFIRMED, END_STEP, ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan, Step, StepType
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Handed, Mode, Task

Tools = Mapping[str, ToolSpec]


_MOST_NAMES = 30  # tools that one sentence lists
_PLACEHOLDERS: dict[str, Any] = {"integer": 0, "number": 0.0, "boolean": False, "object": {}}


def with_effects(spec: ToolSpec) -> bool:
    """Whether a call may change something. The built-in tools change nothing, and nothing does an
    agent by itself.
    """
    if spec.read_only or spec.name in BUILT_IN:
        return False
    return spec.kind is not ToolKind.AGENT


def in_scope(spec: ToolSpec, task: Task) -> bool:
    """Whether the task and its agent let a model call a tool (C15). Nothing said: any. An agent may
    ask a person, and hand the task on to those that are there for it (I4).
    """
    if spec.kind is ToolKind.AGENT:
        return True
    assigned = task.handed.assigned
    own = None if assigned is None or spec.name == ASK_HUMAN else assigned.tools
    return _fits(spec.name, task.tools) and _fits(spec.name, own)


def _fits(name: str, globs: tuple[str, ...] | None) -> bool:
    return globs is None or any(fnmatchcase(name, glob) for glob in globs)


def open_to_models(spec: ToolSpec, task: Task) -> bool:
    """Whether a step of this task may have a model call the tool; one that nobody serves any more
    is not offered.
    """
    return not spec.internal and not spec.gone and in_scope(spec, task)


def may_call(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Whether a model may call this tool in this step (C3). The built-in tools it may call in any,
    unless blocked.
    """
    if spec.name == END_STEP or (spec.name == ASK_HUMAN and not spec.internal):
        return True
    return _is_offered(step, spec, mode, task)


def _is_offered(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Promised tools, and those allowed or read-only. What a step has promised may be called also
    when its worker is gone: the order waits for another one (HP-102).
    """
    if spec.name in step.promised_tools:
        return not spec.internal and in_scope(spec, task)
    allowed = spec.read_only if step.allowed_tools is None else spec.name in step.allowed_tools
    return open_to_models(spec, task) and (mode is Mode.OFF or allowed)


def callable_tools(step: Step, tools: Tools, mode: Mode, task: Task) -> tuple[str, ...]:
    """The names of the tools that a prompt for this step should offer, sorted."""
    names = [name for name, spec in tools.items() if _is_offered(step, spec, mode, task)]
    return tuple(sorted(names))


def inside(spec: ToolSpec, tools: Tools) -> tuple[str, ...]:
    """The tools that a call of a skill or an agent may call, those of its skills included."""
    of_skills = reached(_called(spec), lambda name: _called(tools.get(name)))
    return (*spec.inside, *of_skills)


def _called(spec: ToolSpec | None) -> list[str]:
    """The tools that the steps of a skill call."""
    if spec is None or spec.plan is None:
        return []
    actions = chain.from_iterable(step.actions for step in spec.plan.steps)
    return [call.tool for call in actions]


def without_confirmed(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without `confirmed`, which only the runtime sets (B7), unless it is a parameter
    for models, too.
    """
    if CONFIRMED in spec.parameters.get("properties", ()):
        return arguments
    return {name: value for name, value in arguments.items() if name != CONFIRMED}


def call_form(spec: ToolSpec) -> str:
    """The exact form of a call as JSON text, with a placeholder for each parameter."""
    properties = spec.parameters.get("properties")
    named = properties if isinstance(properties, dict) else {}
    arguments = {name: _placeholder(name, schema) for name, schema in named.items()}
    return write_json({"tool": spec.name, "arguments": arguments})


def _placeholder(name: str, schema: Any) -> Any:
    about = schema if isinstance(schema, dict) else {}
    kind = str(about.get("type"))
    text = f"<{name}>"
    if "enum" in about:
        return OR.join(map(str, about["enum"]))
    return [text] if kind == "array" else _PLACEHOLDERS.get(kind, text)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, not all of very many: what a model is told has to fit into a message."""
    return ", ".join(names[:_MOST_NAMES]) or "none"


@value
class PlanFault:
    """One thing that is wrong with a plan: in which step (None: in the plan as a whole), and
    what.
    """

    step_id: str | None
    message: str

    def __str__(self) -> str:
        if self.step_id is None:
            return self.message
        return f"step {self.step_id!r}: {self.message}"


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


def drafted_faults(plan: Plan, tools: Tools, task: Task, most: int) -> list[PlanFault]:
    """Everything that is wrong with a plan of a model, which has `most` steps (C1). It names tools
    that its task lets a model call; calls that it brings along are not looked at.
    """
    faults: list[PlanFault] = []
    for step in plan.steps:
        if step.step_type is StepType.TOOL and not step.promised:
            words = "a tool step must name the tools that it needs in required_tools or one_of"
            faults.append(PlanFault(step.id, words))
        for name in _named(step):
            fault = _tool_fault(name, tools)
            if fault is None and not open_to_models(tools[name], task):
                fault = f"{name} may not be called in this task, or no worker serves it now"
            if fault is not None:
                faults.append(PlanFault(step.id, fault))
    return faults + _shape_faults(plan, most)


def literal_faults(plan: Plan, tools: Tools) -> list[PlanFault]:
    """Everything that is wrong with a plan that brings all its calls (C1). It alone may undo
    (E7).
    """
    faults: list[PlanFault] = []
    for step in plan.steps:
        called = [call.tool for call in step.actions]
        for name in dict.fromkeys((*_named(step), *called)):
            is_undo = name in tools and tools[name].undoes
            fault = None if is_undo else _tool_fault(name, tools)
            if fault is not None:
                faults.append(PlanFault(step.id, fault))
        faults += [PlanFault(step.id, words) for words in _promise_faults(step)]
        faults += [PlanFault(step.id, words) for words in _action_faults(plan, step, tools)]
    return faults + _shape_faults(plan, MAX_STEPS)


def _named(step: Step) -> tuple[str, ...]:
    """The tools that a step promises or allows, each once."""
    names = (*step.promised_tools, *(step.allowed_tools or ()))
    return tuple(dict.fromkeys(names))


def _tool_fault(name: str, tools: Tools) -> str | None:
    """Why no plan may name a tool."""
    if name not in tools:
        return unknown(name, tools)
    return f"{name} is internal: no plan and no model may call it" if tools[name].internal else None


def unknown(name: str, tools: Tools) -> str:
    """Why a name is no tool's, with those that there are."""
    names = [known for known, spec in tools.items() if not spec.internal]
    return f"no tool is called {name!r}; there are: {listed(sorted(names))}"


def _promise_faults(step: Step) -> Iterator[str]:
    if not step.actions:
        yield "a step of a literal plan must bring its calls in actions; no model is asked"
    called = {call.tool for call in step.actions if not call.optional}
    for promise in step.promised:
        if called.isdisjoint(promise):
            yield f"{OR.join(promise)} is required, but no action of the step calls it"


def _action_faults(plan: Plan, step: Step, tools: Tools) -> Iterator[str]:
    """What is wrong with the calls of a literal step. Nothing is asked of a value that is not known
    yet.
    """
    waits = {other.id: other.dependencies for other in plan.steps}
    before: Collection[str] = ()
    for number, call in enumerate(step.actions):
        referred = references(call.arguments)
        if referred and not before:
            before = reached(step.dependencies, lambda name: waits.get(name, ()))
        for _, target in referred:
            fault = _reference_fault(target, waits, before)
            if fault:
                yield f"actions[{number}]: {fault}"
        spec = tools.get(call.tool)
        if spec is not None:
            places = [place for place, _ in referred]
            plain = without_confirmed(spec, call.arguments)
            for fault in built_in.call_faults(spec, plain, places):
                yield f"actions[{number}] {call.tool}: {fault}"
            if len(plain) < len(call.arguments):
                words = (
                    f"leave out {CONFIRMED}: it is set only when a person has approved this call"
                )
                yield f"actions[{number}] {call.tool}: {words}"


def _reference_fault(
    target: Reference | None, steps: Collection[str], before: Collection[str]
) -> str | None:
    """Why a reference does not point backwards."""
    if target is None:
        return 'a reference is {"$from": "<step id>.<name>..."} and nothing else'
    if target.step in before:
        return None
    if target.step not in steps:
        return f"{target.text!r} refers to an unknown step"
    text = f"{target.text!r} refers to step {target.step!r}, which this step does not wait for"
    return f"{text}; add it to its dependencies"


def _shape_faults(plan: Plan, most: int) -> list[PlanFault]:
    faults: list[PlanFault] = []
    if not plan.steps:
        faults.append(PlanFault(None, "the plan has no steps"))
    if len(plan.steps) > most:
        words = f"the plan has {len(plan.steps)} steps; at most {most} are allowed"
        faults.append(PlanFault(None, words))
    waits = {step.id: step.dependencies for step in plan.steps}
    times = Counter(step.id for step in plan.steps)
    twice = [name for name in times if times[name] > 1]
    faults += [PlanFault(name, "another step has the same id") for name in twice]
    for name, dependencies in waits.items():
        strange = [other for other in dependencies if other not in waits]
        faults += [
            PlanFault(name, f"depends on {other!r}, which is not a step of the plan")
            for other in strange
        ]
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as circle:
        names = ", ".join(circle.args[1][:-1])
        faults.append(PlanFault(None, f"the dependencies form a cycle: {names}"))
    return faults
