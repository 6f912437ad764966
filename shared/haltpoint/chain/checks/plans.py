"""What a model may call (CONTRACT C3, C15), and whether a task can be done and a plan be carried
out (C1).
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, Final

import msgspec

from haltpoint.chain.model.limits import Tools
from haltpoint.chain.model.references import (
    Place,
    Reference,
    reached,
    references,
    values_at,
    write_json,
)
from haltpoint.chain.model.schemas import argument_faults, properties
from haltpoint.contracts.answers import OR
from haltpoint.contracts.base import MAX_BODY, MAX_STEPS, JsonObject, Strings, value
from haltpoint.contracts.tools import ASK_HUMAN, BUILT_IN, CONFIRMED, END_STEP, ToolKind, ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step, StepType
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.tasks import Handed, Mode, Task

_MOST_NAMES = 30  # tools that one sentence lists
_PLAIN: Final = {"array": [], "integer": 0, "number": 0, "boolean": False}


def with_effects(spec: ToolSpec) -> bool:
    """Whether a call may change something. The built-in tools change nothing, and nothing does an
    agent by itself.
    """
    return not (spec.read_only or spec.name in BUILT_IN or spec.kind is ToolKind.AGENT)


def _in_scope(spec: ToolSpec, task: Task) -> bool:
    """Whether the task and its agent let a model call a tool (C15), which is none of the internal
    ones. Nothing said: any other. An agent may ask a person, and hand the task on to those that
    are there for it (I4).
    """
    if spec.internal or spec.kind is ToolKind.AGENT:
        return not spec.internal
    assigned = task.handed.assigned
    own = None if assigned is None or spec.name == ASK_HUMAN else assigned.tools
    for globs in (task.tools, own):
        if globs is not None and not any(fnmatchcase(spec.name, glob) for glob in globs):
            return False
    return True


def open_to_models(spec: ToolSpec, task: Task) -> bool:
    """Whether a step of this task may have a model call the tool; one that no worker serves any
    more is not offered.
    """
    return not spec.gone and _in_scope(spec, task)


def may_call(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Whether a model may call this tool in this step (C3). The built-in tools it may call in any,
    unless blocked.
    """
    if spec.name == ASK_HUMAN and not spec.internal:
        return True
    return spec.name == END_STEP or _is_offered(step, spec, mode, task)


def _is_offered(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Promised tools, and those allowed or read-only. What a step has promised may be called also
    when its worker is gone: the order waits for another one (HP-102).
    """
    if spec.name in step.promised_tools:
        return _in_scope(spec, task)
    allowed = spec.read_only
    if step.allowed_tools is not None:
        allowed = spec.name in step.allowed_tools
    if mode is not Mode.OFF and not allowed:
        return False
    return open_to_models(spec, task)


def callable_tools(step: Step, tools: Tools, mode: Mode, task: Task) -> Strings:
    """The names of the tools that a prompt for this step should offer, sorted."""
    names = [name for name, spec in tools.items() if _is_offered(step, spec, mode, task)]
    return tuple(sorted(names))


def inside(spec: ToolSpec, tools: Tools) -> Strings:
    """The tools that a call of a skill or an agent may call, those of its skills included."""
    of_skills = reached(called(spec), lambda name: called(tools.get(name, ToolSpec(name))))
    return (*spec.inside, *of_skills)


def called(spec: ToolSpec) -> list[str]:
    """The tools that the steps of a skill call."""
    return [call.tool for call in calls_of(spec.plan)]


def calls_of(plan: Plan | None) -> Iterator[ProposedCall]:
    """All literal calls of a plan."""
    return chain.from_iterable(step.actions for step in (() if plan is None else plan.steps))


def without_confirmed(spec: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments without `confirmed`, which only the runtime sets (B7), unless it is a parameter
    for models, too.
    """
    if CONFIRMED in spec.parameters.get("properties", ()):
        return arguments
    return {name: value for name, value in arguments.items() if name != CONFIRMED}


def call_form(spec: ToolSpec) -> str:
    """The form of a call as JSON text, with a value for each parameter that its schema takes;
    empty where these do not follow from the schema.
    """
    whole = spec.parameters
    named = properties(whole).items()
    try:
        arguments = {name: _example(name, schema, whole) for name, schema in named}
    except RecursionError:  # a schema that needs itself
        return ""
    wrong = argument_faults(spec, arguments)
    return "" if wrong else write_json({"tool": spec.name, "arguments": arguments})


def _example(name: str, schema: Any, whole: JsonObject) -> Any:
    """A value for a schema inside of the whole."""
    match schema:
        case {"$ref": str(target)}:
            found = values_at(whole, tuple(target.split("/")[1:]))
            return _example(name, found and found[0], whole)
        case {"anyOf": choices} | {"oneOf": choices} | {"allOf": choices}:
            some = [choice for choice in choices if choice != {"type": "null"}]
            return _example(name, some and some[0], whole)
        case {"const": shown} | {"enum": [shown, *_]} | {"minimum": shown}:
            return shown
        case {"type": "object"}:
            needed = schema.get("required", ())
            members = properties(schema).items()
            inner = [(key, form) for key, form in members if key in needed]
            return {key: _example(key, form, whole) for key, form in inner}
        case {"type": "array", "items": items}:
            return [_example(name, items, whole)]
        case {"type": "array" | "integer" | "number" | "boolean" as kind}:
            return _PLAIN[kind]
        case _:
            return f"<{name}>"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, not all of very many: what a model reads has to fit into a message."""
    return ", ".join(names[:_MOST_NAMES]) or "none"


@value
class PlanFault:
    """One thing that is wrong with a plan."""

    step_id: str | None
    """In which step; None: in the plan as a whole."""
    message: str

    def __str__(self) -> str:
        if self.step_id is None:
            return self.message
        return f"step {self.step_id!r}: {self.message}"


def task_fault(task: Task) -> str | None:
    """Why a task cannot be accepted; None when it can."""
    if task.handed != Handed():
        return "Only the runtime may set `handed` of a task."
    if not task.goal.strip() and task.plan is None:
        return "The task has neither a goal nor a plan."
    if task.agent == SUPERVISOR:
        return "No agent can be called `supervisor`: the name is built in."
    if len(msgspec.json.encode(task)) > MAX_BODY:  # 1e15 is longer when it is passed on
        return f"The task has more than {MAX_BODY} bytes as it is passed on."
    return None


def drafted_faults(plan: Plan, tools: Tools, task: Task, most: int) -> Iterator[PlanFault]:
    """Everything that is wrong with a plan of a model, which has `most` steps (C1). It names tools
    that its task lets a model call; calls that it brings along are not looked at.
    """
    for step in plan.steps:
        for words in _drafted(step, tools, task):
            yield PlanFault(step.id, words)
    yield from _shape_faults(plan, most)


def literal_faults(plan: Plan, tools: Tools) -> list[PlanFault]:
    """Everything that is wrong with a plan that brings all its calls (C1). It alone may undo
    (E7).
    """
    faults = list[PlanFault]()
    for step in plan.steps:
        for words in _literal(plan, step, tools):
            faults.append(PlanFault(step.id, words))
    return [*faults, *_shape_faults(plan, MAX_STEPS)]


def _drafted(step: Step, tools: Tools, task: Task) -> Iterator[str]:
    if step.step_type is StepType.TOOL and not step.promised:
        yield "a tool step must name the tools that it needs in required_tools or one_of"
    for name in _named(step):
        if name not in tools:
            yield unknown(name, tools)
        elif not open_to_models(tools[name], task):
            yield f"{name} may not be called in this task, or no worker serves it now"


def _literal(plan: Plan, step: Step, tools: Tools) -> Iterator[str]:
    for name in _named(step, *[call.tool for call in step.actions]):
        if name not in tools:
            yield unknown(name, tools)
        elif tools[name].internal and not tools[name].undoes:
            yield f"{name} is internal: no plan and no model may call it"
    if not step.actions:
        yield "a step of a literal plan must list its calls in actions, because no model is asked"
    certain = {call.tool for call in step.actions if not call.optional}
    for promise in step.promised:
        if certain.isdisjoint(promise):
            yield f"{OR.join(promise)} is required, but no action of the step calls it"
    referred = [dict(references(call.arguments)) for call in step.actions]
    before = set[str]()
    if any(referred):
        waits = {other.id: other.dependencies for other in plan.steps}
        before = reached(step.dependencies, lambda name: waits.get(name, ()))
    for number, call in enumerate(step.actions):
        for fault in _call_faults(call, referred[number], before, tools.get(call.tool)):
            yield f"actions[{number}] {call.tool}: {fault}"


def _call_faults(
    call: ProposedCall,
    referred: dict[Place, Reference],
    before: set[str],
    spec: ToolSpec | None,
) -> Iterator[str]:
    """What is wrong with a call of a literal step: references that do not point to the steps before
    it, and arguments. Nothing is asked of a value that is not known yet.
    """
    for target in referred.values():
        if not target.path:
            yield 'a reference is {"$from": "<step id>.<name>..."} and nothing else'
        elif target.step not in before:
            yield (
                f"{target.text!r} refers to step {target.step!r}, which this step does not wait "
                "for; name a step of the plan, and add it to its dependencies"
            )
    if spec is None:
        return
    plain = without_confirmed(spec, call.arguments)
    yield from argument_faults(spec, plain, list(referred))
    if len(plain) < len(call.arguments):
        yield f"leave out {CONFIRMED}: it is set only when a person has approved this call"


def _named(step: Step, *called: str) -> Strings:
    """The tools that a step promises, allows or calls, each once."""
    names = (*step.promised_tools, *(step.allowed_tools or ()), *called)
    return tuple(dict.fromkeys(names))


def unknown(name: str, tools: Tools) -> str:
    """Why a name is no tool's, with those that there are."""
    names = [known for known, spec in tools.items() if not spec.internal]
    return f"no tool is called {name!r}; there are: {listed(sorted(names))}"


def _shape_faults(plan: Plan, most: int) -> Iterator[PlanFault]:
    count = len(plan.steps)
    if not 1 <= count <= most:
        yield PlanFault(None, f"the plan has {count} steps; 1 to {most} are allowed")
    waits: dict[str, Strings] = {}
    is_in_order = True
    for step in plan.steps:
        if step.id in waits:
            yield PlanFault(step.id, "another step has the same id")
        is_in_order &= set(step.dependencies).issubset(waits)
        waits[step.id] = step.dependencies
    if is_in_order:  # as most are: each step waits for steps before it
        return
    for step in plan.steps:
        for other in step.dependencies:
            if other not in waits:
                yield PlanFault(step.id, f"depends on {other!r}, which is not a step of the plan")
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as circle:
        names = ", ".join(circle.args[1][:-1])
        yield PlanFault(None, f"the dependencies form a cycle: {names}")
