"""What a model may call, and whether a call will do, call by call (CONTRACT C3, C6, C9)."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.references import references, write_json
from haltpoint.chain.model.schemas import SHOWN
from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.tools import CONFIRMED, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall, Step
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint.contracts.work.thoughts import Correction, Violation

Tools = Mapping[str, ToolSpec]

NOT_CONFIRMED = "`confirmed` was dropped: only the runtime sets it, when a person has approved exactly this call"

_MOST_NAMES = 30  # tools that one sentence lists
_ANY_FORM = '{"tool": "<name>", "arguments": {"<parameter>": "<value>"}}'
_PLACEHOLDERS: dict[str, Any] = {"integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {}}


def in_scope(name: str, task: Task) -> bool:
    """Whether the task lets a model call a tool of this name (C15). Nothing said: any."""
    return task.tools is None or any(fnmatchcase(name, glob) for glob in task.tools)


def open_to_models(spec: ToolSpec, task: Task) -> bool:
    """Whether a step of this task may have a model call the tool; one that nobody serves any more is not offered."""
    return not spec.internal and not spec.gone and in_scope(spec.name, task)


def may_call(step: Step, spec: ToolSpec, mode: Mode, task: Task) -> bool:
    """Whether a model may call this tool in this step (C3): promised tools, and those allowed or read-only. What a step
    has promised may be called also when its worker is gone: the order waits for another one (HP-102).
    """
    if spec.name in step.promised_tools:
        return not spec.internal and in_scope(spec.name, task)
    allowed = spec.read_only if step.allowed_tools is None else spec.name in step.allowed_tools
    return open_to_models(spec, task) and (mode is Mode.OFF or allowed)


def callable_tools(step: Step, tools: Tools, mode: Mode, task: Task) -> tuple[str, ...]:
    """The names of all tools that a model may call in this step, sorted; what a prompt should offer."""
    return tuple(sorted(name for name, spec in tools.items() if may_call(step, spec, mode, task)))


def without_confirmed(call: ProposedCall, tools: Tools) -> ProposedCall:
    """The call without `confirmed` where only the runtime sets it (B7): what a model says is no approval."""
    spec = tools.get(call.tool)
    if spec is None or not spec.confirms or CONFIRMED not in call.arguments:
        return call
    return ProposedCall(tool=call.tool, arguments={key: one for key, one in call.arguments.items() if key != CONFIRMED})


def call_fault(
    call: ProposedCall, step: Step, tools: Tools, mode: Mode, task: Task, named: Callable[[], Collection[str]]
) -> Correction | None:
    """What is wrong with a proposed call apart from provenance (C6, C9); None when it will do. `named` gives the tools
    that the correction may show: it names no other but the one that was called (D1).
    """
    spec = tools.get(call.tool)
    if spec is None:
        violation, text = Violation.UNKNOWN_TOOL, unknown(call.tool, tools, named())
    elif not may_call(step, spec, mode, task):
        known = named()
        names = listed([name for name in callable_tools(step, tools, mode, task) if name in known])
        text = f"{call.tool} may not be called in step {step.id!r}. Tools that may be called here: {names}."
        violation = Violation.NOT_ALLOWED
    elif faults := _argument_faults(spec, call.arguments):
        text = f"The arguments of {call.tool} are wrong: {'; '.join(faults)}."
        text += f" The form is: {form_of(spec)}" if call.tool in named() else ""
        violation = Violation.BAD_ARGUMENTS
    else:
        return None
    return Correction(violation=violation, tool=call.tool, message=text)


def _argument_faults(spec: ToolSpec, arguments: dict[str, Any]) -> tuple[str, ...]:
    if len(write_json(arguments)) > MAX_ARGUMENTS:
        return (f"they have more than {MAX_ARGUMENTS} bytes",)
    faults = human_tool.call_faults(spec, arguments)
    if spec.plan is not None and references(arguments):
        faults = (*faults, "$from: only the steps of a skill itself refer to results")
    return faults


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
