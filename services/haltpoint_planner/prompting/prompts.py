"""From a context to what the model is asked: messages, tools, and how it has to answer. Pure.

Who you are, the goal and the step, the conversation so far, and what is due now.
"""

import json
from dataclasses import replace
from typing import Any, Final, assert_never

from haltpoint.chain.checks.knowledge import GOAL, tools_of
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model.references import path_of
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ValidationMode
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint_planner.exchange import Prompt
from haltpoint_planner.prompting import wording
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.conversation import messages
from haltpoint_planner.prompting.tool_forms import (
    bounds_schema,
    call_schema,
    described,
    native,
    plan_schema,
)

_CONTEXT: Final = 8_000  # characters of the task's context

_THINK: Final = (
    "Answer in plain words. Only if something is missing that a tool can find out, call it."
)
_NO_TOOLS: Final = "Answer in plain words: no tool can be called any more."
_DECIDE: Final = (
    f"Decide now who works on it, and call {ROUTE}. Only if something is "
    "missing for that, call another tool."
)
_DECIDE_NOW: Final = f"Decide now who works on it, and call {ROUTE}. No other tool can be called."
_ANSWER_OR_DECIDE: Final = (
    "If the goal is reached, tell the user so in plain words, "
    f"without JSON. Otherwise call {ROUTE} for the rest."
)
_SPEAK: Final = "Now tell the user in plain words what was done."


def build(context: Context) -> Prompt:
    """The prompt that fits the kind of thought and the type of the step (C5), behind the own one of
    an agent (I). What the runtime wants to know of the goal is no agent's business.
    """
    prompt, agent = _built(context), context.agent
    if agent is None or not agent.prompt or context.request.kind is ThoughtKind.BOUNDS:
        return prompt
    system, *rest = prompt.messages
    return replace(
        prompt, messages=({**system, "content": f"{agent.prompt}\n\n{system['content']}"}, *rest)
    )


def _built(context: Context) -> Prompt:
    kind = context.request.kind
    match kind:
        case ThoughtKind.BOUNDS:
            bare = replace(context, receipts=(), findings=())  # no data of any tool may speak here
            said = messages(wording.READER, bare, _bounds_task(bare))
            return Prompt(said, schema=bounds_schema(list(context.tools)))
        case ThoughtKind.PLAN:
            return Prompt(
                messages(wording.PLANNER, context, _plan_task(context)), schema=plan_schema(context)
            )
        case ThoughtKind.ACT | ThoughtKind.REASON | ThoughtKind.ROUTE:
            return _step(context)
        case ThoughtKind.ANSWER:
            bare = replace(context, tools={})
            return Prompt(
                messages(wording.SPEAKER, bare, _goal(context), _reminder(context, _SPEAK))
            )
        case _:
            assert_never(kind)


def _step(context: Context) -> Prompt:
    """A turn of a step: of a supervisor, of a step that owes something, of any other."""
    if context.task.agent == SUPERVISOR:
        return _route(context)
    return _act(context) if context.request.kind is ThoughtKind.ACT else _reason(context)


def _reason(context: Context) -> Prompt:
    """A step that owes nothing: answered in words; tools may be called, but for the last turn
    (D2).
    """
    system, due = (
        (wording.AGENT, _open_end(context)) if context.open_ended else (wording.THINKER, _THINK)
    )
    task = _step_task(context)
    if context.request.in_words:
        task, due = f"{task}\n{_NO_TOOLS}", _NO_TOOLS
    tools = tuple(native(spec) for spec in context.tools.values())
    return Prompt(messages(system, context, task, _reminder(context, due)), tools)


def _act(context: Context) -> Prompt:
    """A tool step: something is due. The strict form is asked for each time (C9), which `end_step`
    fits, too, where it is offered (C11). In no other mode is a call forced.
    """
    specs, due = offered(context), _what_is_due(context)
    system = wording.AGENT if context.open_ended else wording.ACTOR
    said = messages(system, context, _step_task(context, due), _reminder(context, due))
    forced = bool(specs) and _is_strict(context)
    return Prompt(said, tuple(map(native, specs)), forced, call_schema(specs) if forced else None)


def _is_strict(context: Context) -> bool:
    mode = None if context.step is None else context.step.tool_validation_mode
    return context.task.mode is Mode.STRICT or mode is ValidationMode.STRICT


def offered(context: Context) -> list[ToolSpec]:
    """The tools that the prompt of a thought shows."""
    return list(context.tools.values())


def _route(context: Context) -> Prompt:
    """A supervisor's turn (I2): a call of its own tools or of `route`, or, when nothing is due, the
    answer.
    """
    specs = [
        spec for name, spec in context.tools.items() if name == ROUTE or not context.request.forced
    ]
    said = messages(
        wording.ROUTER, context, _goal(context), _reminder(context, _decision_due(context))
    )
    forced = bool(context.request.due) and _is_strict(context)
    return Prompt(said, tuple(map(native, specs)), forced, call_schema(specs) if forced else None)


def _decision_due(context: Context) -> str:
    """What a supervisor's model has to do now."""
    request = context.request
    if not request.due:
        return _ANSWER_OR_DECIDE
    if ROUTE not in context.missing:
        return f"{_named(request.due)} is still to be called by an agent: call {ROUTE}."
    return _DECIDE_NOW if request.forced else _DECIDE


def _next(context: Context) -> ToolSpec | None:
    """The tool that is due when only one is missing: this one, or the one that its ids come from
    (C6 provenance).
    """
    if len(context.missing) != 1:
        return None
    spec = context.tools.get(context.missing[0])
    answered = {receipt.tool for receipt in context.receipts if receipt.outcome.satisfies}
    origins = _origins(spec, context.task.context) if spec else []
    unasked = sorted(tools[0] for tools in origins if answered.isdisjoint(tools))
    return context.tools.get(unasked[0]) if unasked else spec


def _origins(spec: ToolSpec, known: dict[str, Any]) -> list[list[str]]:
    """The tools that each id of this tool may come from, but for those that the task or the user's
    words may hold.
    """
    paths = [(path_of(place), origins) for place, origins in spec.provenance.items()]
    needed = spec.parameters.get("required", [path[0] for path, _ in paths])
    return [
        tools_of(origins)
        for path, origins in paths
        if path[0] in needed
        and GOAL not in origins
        and known.keys().isdisjoint((path[-1], *(origin.rpartition(".")[2] for origin in origins)))
    ]


def _goal(context: Context) -> str:
    """What is asked for, behind the earlier tasks of the conversation with their answers (C15)."""
    task = context.task
    lines = [wording.EARLIER] if task.handed.earlier else []
    for one in task.handed.earlier:
        who = "The user" if one.user == task.user else "Another user"
        lines.append(f"- {who}: {' '.join(one.goal.split())}")
        lines.append(f"  Answer: {' '.join(one.answer.split()) or '(none)'}")
        lines += [f"  Done: {line}" for line in context.done_before.get(one.chain_id, ())]
    if task.asked:
        lines.append(f"The user's own words, of which the goal is a part: {task.asked}")
    if task.goal:
        lines.append(f"Goal: {task.goal}")
    if task.context:
        lines.append(
            f"Known about the task: {json.dumps(task.context, ensure_ascii=False)[:_CONTEXT]}"
        )
    return "\n".join(lines)


def _bounds_task(context: Context) -> str:
    """The goal and tools by their names and descriptions, behind this user's earlier goals: no data
    of any tool, and not what the task knows besides.
    """
    told = (
        f"- {spec.name}: {' '.join(spec.description.split())}" for spec in context.tools.values()
    )
    own = [
        f"- {' '.join(one.goal.split())}"
        for one in context.task.handed.earlier
        if one.user == context.task.user
    ]
    before = [wording.EARLIER_GOALS, *own] if own else []
    goal = context.task.goal if context.task.asked is None else context.task.asked
    return "\n".join(["Tools:", *told, "", *before, f"Goal: {goal}"])


def _plan_task(context: Context) -> str:
    """The tools before the goal: what all plans have in common a server has read already."""
    lines = ["Tools:" if context.tools else "There are no tools: plan reasoning steps only."]
    lines += [described(spec) for spec in context.tools.values()]
    inside = sorted(
        {name for spec in context.tools.values() for name in spec.inside} - context.tools.keys()
    )
    if changing := [spec for name in inside if with_effects(spec := context.known[name])]:
        lines += [
            "",
            "For the bounds only, the tools of the agents: no step names these.",
            *map(described, changing),
        ]
    lines += ["", _goal(context)]
    return "\n".join(lines)


def _step_task(context: Context, due: str = "") -> str:
    lines = [_goal(context)]
    step, plan = context.step, context.plan
    if step is None:
        return lines[0]
    if plan and len(plan.steps) > 1:
        lines += ["", "The plan:", *(f"{each.id}: {each.description}" for each in plan.steps)]
    if context.open_ended:
        lines += [] if context.receipts else [_open_end(context)]
    else:
        lines += ["", f"Your step is {step.id}: {step.description}"]
    if step.expected_outcome:
        lines.append(f"Expected of it: {step.expected_outcome}")
    if step.promised:
        lines.append(
            f"The step is complete only when these tools have succeeded: {_named(step.promised)}"
        )
        lines.append(due)
    return "\n".join(lines).strip()


def _reminder(context: Context, due: str) -> str:
    """The last part of the prompt: small models follow it. The goal comes after it, or they start
    over.
    """
    if not context.task.goal:
        return due
    use = "Fill in the other arguments from the goal" if context.missing else "The goal, once more"
    return f"{due} {use}: {context.task.goal}"


def _what_is_due(context: Context) -> str:
    """What the step still needs, with the other way out where there is one: neither is pressed
    (C10).
    """
    missing, last = context.missing, context.receipts[-1] if context.receipts else None
    if not missing:
        return ""
    ends = " If it cannot or need not be done, call end_step." if context.request.may_end else ""
    if (
        last is not None
        and last.step_id == context.request.step_id
        and last.outcome.error is not None
    ):
        return (
            "The last call failed; the same call would fail again. Call with other "
            f"arguments.{ends}"
        )
    spec = _next(context)
    if spec is None:
        return f"Still to be called: {_named(context.request.due)}.{ends}"
    ids = " Take its ids from the results." if spec.provenance else ""
    why = (
        "" if spec.name in missing else f"{missing[0]} needs an id that only {spec.name} can find. "
    )
    return f"{why}The next call is one of {spec.name}.{ids}{ends}"


def _named(promises: tuple[tuple[str, ...], ...]) -> str:
    return ", ".join(" or ".join(promise) for promise in promises)


def _open_end(context: Context) -> str:
    if not context.receipts:
        return (
            "Nothing is done yet. Begin with the first tool; ids that you need are looked up first."
        )
    if context.receipts[-1].outcome.next_action is NextAction.COMPLETE:
        return (
            "The last call is complete. If the goal is reached, say so in one plain "
            "sentence, without JSON."
        )
    return "If the goal is reached, tell the user so in plain words. Otherwise call the next tool."
