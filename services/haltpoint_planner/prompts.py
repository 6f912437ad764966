"""From a context to what the model is asked: messages, tools, and how it has to answer. Pure.

Who you are, the goal and the step, each earlier call with its result, what a person chose, what was wrong with the last
reply, and what is due now. With tools the earlier calls stand there as calls; without, as text: some providers refuse
calls then, and small models that see calls go on calling. Messages of the user in a row are joined, as some templates
demand.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

from haltpoint.chain import human_tool
from haltpoint.contracts.thoughts import ThoughtKind, Violation
from haltpoint.contracts.tools import NextAction, ToolSpec
from haltpoint_planner import wording
from haltpoint_planner.context import Context, Receipt
from haltpoint_planner.results import MARK, pretty, shown

_QUOTED: Final = 600  # characters of a rejected reply that are shown to the model again
_CONTEXT: Final = 8_000  # characters of the task's context
_STEPS: Final = 20  # items of a plan that a reply may have: a small model that repeats itself comes to an end
_TOGETHER: Final = 3  # tools that a drafted step may require: small models name all that there are

_THINK: Final = "Answer in plain words now. Only if something is missing that a tool can find out, call it."
_GIVE_UP: Final = '{"next_step_decision": "fail", "content": "<what to tell the user>"}'
_SPEAK: Final = "Now tell the user in plain words what was done."

_ONLY_WORDS: Final = frozenset({Violation.NO_CALL, Violation.MISSING_TOOL, Violation.FABRICATED})
_MOST_NATIVES: Final = 4096
_natives: dict[int, tuple[ToolSpec, dict[str, Any]]] = {}

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model. `force`: it must call one of the tools (C10); `schema`: it answers JSON of this form."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    force: bool = False
    schema: dict[str, Any] | None = None


def build(context: Context) -> Prompt:
    """The prompt that fits the kind of thought and the type of the step (C5)."""
    kind = context.request.kind
    match kind:
        case ThoughtKind.PLAN:
            return Prompt(_messages(wording.PLANNER, context, _plan_task(context)), schema=plan_schema(context))
        case ThoughtKind.ACT:
            return _act(context)
        case ThoughtKind.REASON:
            return _reason(context)
        case ThoughtKind.ANSWER:
            spoken = _messages(wording.SPEAKER, replace(context, tools={}), _goal(context), _reminder(context, _SPEAK))
            return Prompt(spoken)
        case _:
            assert_never(kind)


def _reason(context: Context) -> Prompt:
    """A reasoning step, or the open-ended one of a ReAct task: answered in words; tools may be called.

    One must be called only when words came where the goal's own words require a tool (C2, C10).
    """
    system, due = (wording.AGENT, _open_end(context)) if context.open_ended else (wording.THINKER, _THINK)
    tools = tuple(_native(spec) for spec in context.tools.values())
    forced = bool(tools) and Violation.MISSING_TOOL in _violations(context)
    return Prompt(_messages(system, context, _step_task(context), _reminder(context, due)), tools, forced)


def _act(context: Context) -> Prompt:
    """A tool step. On a retry the model must call something; if only one tool can be meant, it sees only that one."""
    forced = bool(context.request.corrections)
    specs = list(context.tools.values())
    if forced and (only := _only_way(context)) is not None:
        specs = [only]
    messages = _messages(wording.ACTOR, context, _step_task(context), _reminder(context, _what_is_due(context)))
    forced = forced and bool(specs)
    return Prompt(messages, tuple(map(_native, specs)), forced, call_schema(specs) if forced else None)


def _only_way(context: Context) -> ToolSpec | None:
    """The one tool that a model should have called which called nothing, or took an id from nowhere."""
    violations, due = _violations(context), _next(context)
    if Violation.NO_CALL in violations and violations <= _ONLY_WORDS:
        return due
    made_up = violations == {Violation.NO_PROVENANCE} and due is not None and due.name not in context.missing
    return due if made_up else None


def _violations(context: Context) -> set[Violation]:
    return {correction.violation for correction in context.request.corrections}


def _next(context: Context) -> ToolSpec | None:
    """The tool that is due when only one is missing: this one, or the one that its ids come from (C6 provenance)."""
    if len(context.missing) != 1:
        return None
    spec = context.tools.get(context.missing[0])
    answered = {receipt.tool for receipt in context.receipts if receipt.outcome.satisfies}
    unasked = sorted(_origins(spec) - answered) if spec else []
    return context.tools.get(unasked[0]) if unasked else spec


def _origins(spec: ToolSpec) -> set[str]:
    """The tools that the ids of this one come from."""
    return {path.partition(".")[0] for path in spec.provenance.values()}


def plan_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of a drafted plan, in the strict subset that providers enforce; tools only by their names."""
    text = {"type": "string"}
    names = list(context.tools)
    called = {"type": "string", "enum": names} if names else text
    step = {
        "id": text,
        "description": text,
        "step_type": {"type": "string", "enum": ["tool", "reasoning"]},
        "required_tools": {"type": "array", "items": called, "maxItems": _TOGETHER},
        "dependencies": {"type": "array", "items": text, "maxItems": _STEPS},
        "expected_outcome": text,
    }
    steps = {"type": "array", "items": _strict(step), "maxItems": _STEPS}
    return _strict({"steps": steps})


def call_schema(specs: Sequence[ToolSpec]) -> dict[str, Any]:
    """The JSON Schema of one call in words, for servers that do not know a forced tool choice."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [spec.name]}, "arguments": spec.parameters},
            "required": ["name", "arguments"],
        }
        for spec in specs
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# ---- the conversation -----------------------------------------------------------------------------------------------


def _messages(system: str, context: Context, task: str, last: str = "") -> tuple[Message, ...]:
    history = [_says("user", task), *_history(context), *_corrections(context)]
    if last and len(history) > 1:
        history.append(_says("user", last))
    joined: list[Message] = [_says("system", system)]
    for message in history:
        if message["role"] == "user" and joined[-1]["role"] == "user":
            joined[-1] = _says("user", f"{joined[-1]['content']}\n\n{message['content']}")
        else:
            joined.append(message)
    return tuple(joined)


def _says(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _history(context: Context) -> Iterator[Message]:
    """Earlier calls and results as a conversation, each choice of a person said plainly where it was made (B4)."""
    for step_id, words in context.findings:
        yield _says("user", f"Found out in step {step_id}:\n{words}")
    for number, (receipt, result) in enumerate(zip(context.receipts, shown(context.receipts), strict=True), start=1):
        arguments = receipt.arguments or "{}"
        if context.tools:
            function = {"name": receipt.tool, "arguments": arguments}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": f"call_{number}", "name": receipt.tool, "content": result}
        else:
            yield _says("user", f"{receipt.tool} was called with {arguments}. Its result:\n{result}")
        if chosen := _chosen(receipt):
            so = " So this is known now and is not looked up again: go on with this id, exactly as it stands."
            yield _says(
                "user", f"A person was asked which one is meant and chose {chosen}.{so if context.tools else ''}"
            )


def _chosen(receipt: Receipt) -> str:
    """What a person chose of the things that this result offered; empty when nobody was asked.

    What they said to a question in words (B5) is the result itself, and names nothing.
    """
    if receipt.tool == human_tool.NAME or '"selected"' not in receipt.data:
        return ""
    try:
        selected = json.loads(receipt.data or "{}")["selected"]
        return pretty({"id": selected["id"], "title": selected["title"], "title_is": MARK})
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _corrections(context: Context) -> Iterator[Message]:
    """The rejected reply and what was wrong with it; the correction itself shows the exact form (C6, D1)."""
    corrections, previous = context.request.corrections, context.previous
    if not corrections:
        return
    yield _says("assistant", (previous.words if previous else "")[:_QUOTED] or "(no reply)")
    lines = [f"- {correction.message}" for correction in corrections]
    lines += [f"- {fault}" for fault in (previous.faults if previous else ())]
    if context.request.kind is ThoughtKind.PLAN:
        lines.append('Answer again with the whole plan as one JSON object: {"steps": [...]}')
    yield _says("user", "\n".join(["Your reply was not accepted:", *lines]))


# ---- the goal, the step, the tools ----------------------------------------------------------------------------------


def _goal(context: Context) -> str:
    task = context.task
    lines = [f"Goal: {task.goal}"] if task.goal else []
    if task.context:
        lines.append(f"Known about the task: {json.dumps(task.context, ensure_ascii=False)[:_CONTEXT]}")
    return "\n".join(lines)


def _plan_task(context: Context) -> str:
    """The tools before the goal: what all plans have in common a server has read already."""
    lines = ["Tools:" if context.tools else "There are no tools: plan reasoning steps only."]
    lines += [_described(spec) for spec in context.tools.values()]
    return "\n".join([*lines, "", _goal(context)])


def _described(spec: ToolSpec) -> str:
    arguments = ", ".join(spec.parameters.get("properties", {}))
    notes = [f"{name} must come from {path}" for name, path in spec.provenance.items()]
    if spec.may_clarify:
        notes.append("may stop and let a person choose")
    note = f" [{'; '.join(notes)}]" if notes else ""
    return f"- {spec.name}({arguments}): {' '.join(spec.description.split())}{note}"


def _step_task(context: Context) -> str:
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
    if step.required_tools:
        lines.append(f"The step is complete only when these tools have succeeded: {', '.join(step.required_tools)}")
        lines.append(_what_is_due(context))
    return "\n".join(lines).strip()


def _reminder(context: Context, due: str) -> str:
    """What stands last, since small models follow what they read last; the goal behind it, or they begin anew."""
    if not context.task.goal:
        return due
    use = "Fill in the other arguments from the goal" if context.missing else "The goal, once more"
    return f"{due} {use}: {context.task.goal}"


def _what_is_due(context: Context) -> str:
    missing, last = context.missing, context.receipts[-1] if context.receipts else None
    if not missing:
        return ""
    if last is not None and last.step_id == context.request.step_id and last.outcome.error is not None:
        return f"The last call failed; the same call would fail again. Call with other arguments, or answer {_GIVE_UP}."
    if (spec := _next(context)) is not None:
        ids = " Take its ids from the results." if spec.provenance else ""
        why = "" if spec.name in missing else f"{missing[0]} needs an id that only {spec.name} can find. "
        return f"{why}Call {spec.name} now, once, and nothing else.{ids}"
    return f"Still to be called: {', '.join(missing)}, one after the other. Call one tool now."


def _open_end(context: Context) -> str:
    """What is due in a step that is complete when the model says so."""
    if not context.receipts:
        return "Nothing is done yet. Call the first tool now; ids that you need are looked up first."
    if context.receipts[-1].outcome.next_action is NextAction.COMPLETE:
        return "The last call is complete. If the goal is reached, say so in one plain sentence, without JSON."
    return "If the goal is reached, tell the user so in plain words. Otherwise call the next tool."


def _native(spec: ToolSpec) -> dict[str, Any]:
    """The tool as a provider's native tools take it, remembered for the spec: prompts show fifty of them each time."""
    known = _natives.get(id(spec))
    if known is not None and known[0] is spec:
        return known[1]
    if len(_natives) >= _MOST_NATIVES:
        _natives.clear()
    native = _made_native(spec)
    _natives[id(spec)] = spec, native
    return native


def _made_native(spec: ToolSpec) -> dict[str, Any]:
    """Where a value has to come from stands with its parameter."""
    parameters = dict(spec.parameters)
    properties = parameters.get("properties")
    if isinstance(properties, dict) and spec.provenance:
        origins = ((name, path) for name, path in spec.provenance.items() if name in properties)
        described = {name: _with_origin(properties[name], path) for name, path in origins}
        parameters["properties"] = {**properties, **described}
    description = " ".join(spec.description.split())[:1000]
    return {"type": "function", "function": {"name": spec.name, "description": description, "parameters": parameters}}


def _with_origin(schema: Any, path: str) -> Any:
    """A parameter's schema, with the place that its value has to come from in words (C6 provenance)."""
    if not isinstance(schema, dict):
        return schema
    tool, _, inner = path.partition(".")
    origin = f"copied from {inner} in the data of a result of {tool}"
    return {**schema, "description": f"{schema.get('description', '')} {origin}".strip()}
