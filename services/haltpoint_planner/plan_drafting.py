"""From what a model said to a plan with tidy step ids and to its bounds, or to the fault in words
(C1, C9, C12). Total, like `drafting`.

Known fields only: what a model says of limits, on_failure and ready calls is not taken over, since
a drafted plan may not loosen anything, and the arguments of its calls are asked for when their turn
has come.
"""

from collections.abc import Iterable
from itertools import count
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from haltpoint.chain.turns.asking import is_question
from haltpoint.contracts.base import MAX_STEPS, STEP_ID
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Parallel, Plan, Step, StepType, ValidationMode
from haltpoint_planner.drafting import in_place_of_plan
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.objects import UnreadableError, fields, object_in, words_of
from haltpoint_planner.parsing.reading import CUT

_RESERVED: Final = frozenset({"bounds", "plan", "answer"})
"""The places of the chain's own thoughts."""
_LABEL: Final = 200
_PLAN_SIZE: Final = 128 * 1024
_BOUNDS_SIZE: Final = 16 * 1024
"""Bytes: the message that carries them stays under MAX_BODY."""
_FORM: Final = 'answer with one JSON object: {"bounds": {...}, "steps": [...]}'

Name = Annotated[str, Meta(max_length=128)]
Id = str | int


class _Drafted(Struct, frozen=True):
    """A step as a model writes it."""

    description: Annotated[str, Meta(max_length=4000)] = ""
    id: Id = ""
    label: str = ""
    step_type: StepType = StepType.REASONING
    required_tools: tuple[Name, ...] = ()
    one_of: tuple[Name, ...] = ()
    allowed_tools: tuple[Name, ...] | None = None
    expected_outcome: str | None = None
    tool_validation_mode: ValidationMode | None = None
    dependencies: tuple[Id, ...] = ()
    optional: bool = False
    each: bool = False
    may_fail: bool = False
    parallel: Parallel | None = None


def draft_plan(reply: Reply) -> Plan | str:
    """The plan that the model drew up, or what is wrong with its reply, as half of a sentence for
    the model.
    """
    try:
        plan = _plan(_steps_in(_object_in(reply)))
    except UnreadableError as error:
        return CUT if reply.cut else str(error)
    fits = len(msgspec.json.encode(plan)) <= _PLAN_SIZE
    return plan if fits else "the plan is too long; shorten the descriptions"


def draft_bounds(reply: Reply) -> Bounds | None:
    """What the reply reads from the goal; None when that cannot be read."""
    try:
        named = _object_in(reply)
        if "bounds" in named:
            named = _fields(named["bounds"])
        lists = {name: named.get(name) or () for name in Bounds.__struct_fields__}
        bounds = msgspec.convert(lists, Bounds)
    except (UnreadableError, msgspec.ValidationError):
        return None
    if named.keys().isdisjoint(lists) or len(msgspec.json.encode(bounds)) > _BOUNDS_SIZE:
        return None
    return bounds


def asked_in_place(reply: Reply) -> str | None:
    """The words of a reply without a plan, when their last sentence is a question (C11)."""
    words = in_place_of_plan(reply)
    return words if is_question(words) else None


def _object_in(reply: Reply) -> dict[str, Any]:
    block = object_in(words_of(reply))
    if block is None:
        raise UnreadableError(f"it has no JSON object; {_FORM}")
    return fields(block.value)


def _fields(value: object) -> dict[str, Any]:
    return fields(value) if isinstance(value, dict) else {}


def _steps_in(named: dict[str, Any]) -> list[Any]:
    """The list of steps: `steps`, or the documents' `todo_list`, alone or in a `plan`."""
    if isinstance(named.get("plan"), dict):
        named = fields(named["plan"])
    steps = named.get("steps", named.get("todo_list"))
    if not isinstance(steps, list):
        raise UnreadableError(f"it has no list of steps; {_FORM}")
    if not steps:
        raise UnreadableError("the plan has no steps")
    if len(steps) > MAX_STEPS:
        raise UnreadableError(f"the plan has {len(steps)} steps; at most {MAX_STEPS} are allowed")
    return steps


def _plan(entries: list[Any]) -> Plan:
    drafted = [_drafted(number, entry) for number, entry in enumerate(entries, start=1)]
    given = [str(step.id).strip() for step in drafted]
    # Good ids stay as they are; the others become the next free one of s1, s2, ...
    free = (name for number in count(1) if (name := f"s{number}") not in given)
    tidy = [name if _is_good(name) else next(free) for name in given]
    renamed = dict(zip(given, tidy, strict=True))
    named = zip(drafted, given, tidy, strict=True)
    steps = [_step(step, old, new, renamed) for step, old, new in named]
    return Plan(steps=tuple(steps))


def _is_good(name: str) -> bool:
    return STEP_ID.fullmatch(name) is not None and name not in _RESERVED


def _drafted(number: int, entry: object) -> _Drafted:
    if not isinstance(entry, dict):
        raise UnreadableError(f"step {number} is no JSON object")
    named = {name: value for name, value in fields(entry).items() if value is not None}
    try:
        return msgspec.convert(named, _Drafted)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"step {number} cannot be read: {error}") from error


def _step(drafted: _Drafted, given: str, tidy: str, renamed: dict[str, str]) -> Step:
    """One step. A dependency that is no step's id stays as it is: the check of the plan says so."""
    names = [renamed.get(str(name), str(name)) for name in drafted.dependencies]
    label = drafted.label if given == tidy else given
    own = msgspec.structs.asdict(drafted)
    own |= {"id": tidy, "label": label[:_LABEL], "dependencies": _once(names)}
    own |= {name: _once(own[name]) for name in ("required_tools", "one_of")}
    return Step(**own)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
