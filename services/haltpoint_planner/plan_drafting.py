"""From what a model said to a plan with tidy step ids, or to the fault in words (C1, C9). Total,
like `drafting`.

Known fields only, in any dialect. What a model says of limits, on_failure and ready calls is not
taken over: a drafted plan may not loosen anything, and the arguments of its calls are asked for
when their turn has come. What it says of tool_validation_mode is, as its word: the chain lets it
tighten only.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import msgspec

from haltpoint.chain.turns.asking import is_question
from haltpoint.contracts.base import MAX_BODY, MAX_STEPS, STEP_ID
from haltpoint.contracts.work.plans import MOST_PARALLEL, Plan, Step, StepType, ValidationMode
from haltpoint_planner.drafting import draft_proposal, mended, take_apart
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.dialects import bare_name, fields, listed
from haltpoint_planner.parsing.json_text import without_surrogates

_RESERVED: Final = frozenset({"bounds", "plan", "answer"})  # the places of the chain's own thoughts
_DESCRIPTION: Final = 4000  # characters
_LABEL: Final = 200
_MOST_NAMES: Final = 100
_PLAN_SIZE: Final = 128 * 1024  # bytes: the message that carries the plan stays under MAX_BODY
_MODES: Final = frozenset(mode.value for mode in ValidationMode)
_STEPS: Final = ("steps", "todolist", "todos", "plan", "tasks")
_DESCRIPTIONS: Final = ("description", "task", "title", "name", "step")
_TOOLS: Final = ("requiredtools", "tools", "tool", "toolcalls")
_NO_PLAN: Final = (
    'the reply holds no plan; answer with one JSON object: {"bounds": {...}, "steps": [...]}'
)


def draft_plan(reply: Reply) -> Plan | str:
    """The plan that the model drew up, or what is wrong with its answer, as a half-sentence for the
    model.
    """
    content = without_surrogates(reply.content)
    if len(content) > MAX_BODY:
        return f"the reply has {len(content)} characters; at most {MAX_BODY} are read"
    for found in take_apart(content).values:
        if not found.repaired and (steps := _steps_in(found.value)) is not None:
            return _plan(steps)
    guess = mended(content)
    if guess is None or (steps := _steps_in(guess.value)) is None:
        return _NO_PLAN
    if reply.cut or not content.rstrip().rstrip("`").rstrip().endswith(("}", "]", "---")):
        return (
            "the JSON of the plan ends too early; send the whole plan, and keep the "
            "descriptions short"
        )
    return _plan(steps)


def asked_in_place(reply: Reply) -> str | None:
    """What a reply without a plan asks in words: its last sentence is a question (C11)."""
    words = draft_proposal(reply)
    asks = not words.calls and not words.faults and is_question(words.content)
    return words.content if asks else None


def _steps_in(value: object) -> list[Any] | None:
    """The list of steps in a JSON value: under one of its names, or the value itself."""
    if isinstance(value, list):
        return (
            value
            if any(isinstance(item, dict) and "description" in fields(item) for item in value)
            else None
        )
    named = fields(value) if isinstance(value, dict) else {}
    for name in _STEPS:
        inner = named.get(name)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, dict) and (steps := _steps_in(inner)) is not None:
            return steps
    return None


def _plan(entries: list[Any]) -> Plan | str:
    if not entries:
        return "the plan has no steps"
    if len(entries) > MAX_STEPS:
        return f"the plan has {len(entries)} steps; at most {MAX_STEPS} are allowed"
    named = [
        fields(entry) if isinstance(entry, dict) else {"description": entry} for entry in entries
    ]
    given = [_text(entry.get("id"), _DESCRIPTION) for entry in named]
    # Good ids stay as they are; the others become the next free one of s1, s2, ...
    free = (name for number in count(1) if (name := f"s{number}") not in given)
    tidy = [
        each if STEP_ID.fullmatch(each) and each not in _RESERVED else next(free) for each in given
    ]
    renamed = {old: new for old, new in zip(given, tidy, strict=True) if old}
    renamed = renamed or {str(number): each for number, each in enumerate(tidy, start=1)}
    plan = Plan(steps=tuple(_step(*each, renamed) for each in zip(named, given, tidy, strict=True)))
    fits = len(msgspec.json.encode(plan)) <= _PLAN_SIZE
    return plan if fits else "the plan is too long; shorten the descriptions"


def _step(entry: dict[str, Any], given: str, tidy: str, renamed: dict[str, str]) -> Step:
    """One step. A dependency that is no step's id stays as it is: the check of the plan says so."""
    tools = next(filter(None, (_names(entry.get(name)) for name in _TOOLS)), [])
    choice = _names(entry.get("oneof"))
    kind = _text(entry.get("steptype") or entry.get("type"), 40).lower()
    allowed = entry.get("allowedtools")
    mode = _text(entry.get("toolvalidationmode"), 40).lower()
    label = given if given != tidy else _text(entry.get("label"), _LABEL)
    description = next((entry[name] for name in _DESCRIPTIONS if entry.get(name)), "")
    parallel = entry.get("parallel")
    return Step(
        id=tidy,
        label=label[:_LABEL],
        description=_text(description, _DESCRIPTION),
        step_type=StepType.TOOL if tools or choice or kind == StepType.TOOL else StepType.REASONING,
        required_tools=tuple(tools),
        one_of=tuple(choice),
        allowed_tools=tuple(_names(allowed)) if isinstance(allowed, list) else None,
        expected_outcome=_text(entry.get("expectedoutcome"), _DESCRIPTION) or None,
        tool_validation_mode=ValidationMode(mode) if mode in _MODES else None,
        dependencies=tuple(dict.fromkeys(renamed.get(each, each) for each in _dependencies(entry))),
        optional=_is_true(entry.get("optional")),
        each=_is_true(entry.get("each")),
        may_fail=_is_true(entry.get("mayfail")),
        parallel=parallel if type(parallel) is int and 1 <= parallel <= MOST_PARALLEL else None,
    )


def _is_true(value: object) -> bool:
    return value is True or _text(value, 5).lower() == "true"


def _dependencies(entry: dict[str, Any]) -> Iterator[str]:
    given: object = next(
        (entry[key] for key in ("dependencies", "dependson") if entry.get(key) is not None), []
    )
    if isinstance(given, str):
        given = re.findall(r"[^,\s]+", given)
    for each in listed(given)[:MAX_STEPS]:
        yield _text(fields(each).get("id") if isinstance(each, dict) else each, _DESCRIPTION)


def _names(value: object) -> list[str]:
    """Names of tools: a list of texts or of objects that have a name, or one text. Without
    repeats.
    """
    names: list[str] = []
    for each in listed(value)[:_MOST_NAMES]:
        name = each
        if isinstance(each, dict):
            named = fields(each)
            name = next(
                (named[key] for key in ("toolname", "tool", "name", "function") if key in named),
                None,
            )
        if isinstance(name, str) and name.strip():
            names.append(_text(bare_name(name), 128))
    return list(dict.fromkeys(names))


def _text(value: object, limit: int) -> str:
    """A text of at most `limit` characters; numbers become their digits, anything else the empty
    text.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()[:limit]
