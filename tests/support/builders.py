"""Small values in the words of the domain; everything that a test does not care about has a
default.
"""

from typing import Any

from msgspec.structs import replace

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.results import (
    Clarification,
    Confirmation,
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Option,
    Outcome,
    Target,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Style, Task

ALL_LISTS = Bounds(required_tools=(), optional_tools=(), ask_before=(), forbidden=(), conditions=())
"""The bounds of a submitter who leaves nothing for a model to read."""

OK = Outcome(success=True, next_action=NextAction.CONTINUE)
COMPLETE = replace(OK, next_action=NextAction.COMPLETE)


def spec(name: str = "note", **declared: Any) -> ToolSpec:
    """A tool; read-only unless something else is said."""
    return ToolSpec(name=name, **({"read_only": True} | declared))


def writing(name: str, **declared: Any) -> ToolSpec:
    """A tool with effects."""
    return ToolSpec(name=name, **declared)


def specs(*tools: ToolSpec) -> dict[str, ToolSpec]:
    return {tool.name: tool for tool in tools}


def call(tool: str = "note", **arguments: Any) -> ProposedCall:
    return ProposedCall(tool=tool, arguments=arguments)


def tool_step(step_id: str, *calls: ProposedCall, after: tuple[str, ...] = (), **more: Any) -> Step:
    """A literal tool step that requires the tools that it calls."""
    calls = calls or (call(),)
    tools = tuple(dict.fromkeys(each.tool for each in calls))
    return Step(id=step_id, required_tools=tools, actions=calls, dependencies=after, **more)


def owing(step_id: str, *tools: str, **more: Any) -> Step:
    """A step that owes a successful call of each of these tools."""
    return Step(id=step_id, required_tools=tools, **more)


def open_task(goal: str, **more: Any) -> Task:
    """An open-ended task: the model has a goal and no plan."""
    return Task(goal=goal, style=Style.REACT, **more)


def plan(*steps: Step) -> Plan:
    return Plan(steps=steps)


def line_plan(length: int, tool: str = "note", **arguments: Any) -> Plan:
    """Steps s1, s2 ... of one call each, each after the one before it."""
    return plan(
        *(
            tool_step(f"s{n}", call(tool, **arguments), after=(f"s{n - 1}",) if n > 1 else ())
            for n in range(1, length + 1)
        )
    )


def literal_task(length: int = 1, tool: str = "note", **arguments: Any) -> Task:
    return Task(goal="do it", plan=line_plan(length, tool, **arguments))


def bounds(**lists: tuple[str, ...]) -> Bounds:
    """A submitter's bounds, whole."""
    return replace(ALL_LISTS, **lists)


def failed(kind: ErrorType = ErrorType.SERVER, message: str = "it broke", **about: Any) -> Outcome:
    return fails_with(ErrorInfo(kind, message, **about))


def worked(**metadata: Any) -> Outcome:
    """A success, with what its worker says of it."""
    return replace(OK, metadata=Metadata(**metadata))


def fails_with(fault: ErrorInfo, **metadata: Any) -> Outcome:
    return Outcome(
        success=False,
        next_action=NextAction.ERROR,
        error=fault,
        metadata=Metadata(**metadata),
    )


def asks(*options: str | Option, question: str = "Which one?") -> Outcome:
    """A result that needs a person to choose one of these, of which some have only a name."""
    made = tuple(
        Option(id=one, title=one.title(), value={"id": one}) if isinstance(one, str) else one
        for one in options or ("a", "b")
    )
    return Outcome(
        success=True,
        next_action=NextAction.CLARIFICATION_NEEDED,
        clarification=Clarification(type="selection", question=question, options=made),
    )


def confirms(action: str = "send", **asked: Any) -> Outcome:
    """A result that needs a person's yes."""
    about: JsonObject = {"target": Target(id=action), "message": "Sure?"} | asked
    return Outcome(
        success=True,
        next_action=NextAction.CONFIRMATION_NEEDED,
        confirmation=Confirmation(action=action, **about),
    )


SURE = confirms()
