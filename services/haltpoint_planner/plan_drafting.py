"""From what a model said to a plan with tidy step ids and to its bounds, or to the fault in words
(C1, C9, C12). Total, like `drafting`.

What a model says of limits, on_failure and ready calls is not taken over, since
a drafted plan may not loosen anything, and the arguments of its calls are asked for when their turn
has come.
"""

from itertools import count
from typing import Final

import msgspec

from haltpoint.contracts.base import STEP_ID, JsonObject
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.completions import (
    PARTIAL,
    UnreadableError,
    fields,
    object_in,
    words_of,
)

_RESERVED: Final = frozenset({"bounds", "plan", "answer"})
"""The places of the chain's own thoughts."""
_LEFT_OUT: Final = frozenset({"actions", "on_failure", "max_turns", "actions_per_turn"})
_TAKEN: Final = frozenset(Step.__struct_fields__) - _LEFT_OUT
"""The fields of a step that are taken over."""
_LABEL: Final = 200
_PLAN_SIZE: Final = 128 * 1024
_BOUNDS_SIZE: Final = 16 * 1024
"""Bytes: the message that carries them stays under MAX_BODY."""
_FORM: Final = 'answer with one JSON object: {"bounds": {...}, "steps": [...]}'


def draft_plan(reply: Reply) -> Plan | str:
    """The plan that the model drew up, or what is wrong with its reply, as half of a sentence for
    the model.
    """
    try:
        plan = _plan(_object_in(reply))
    except UnreadableError as error:
        return str(PARTIAL.get(reply.finish, error))
    size = len(msgspec.json.encode(plan))
    if size > _PLAN_SIZE:
        return "the plan is too long; shorten the descriptions"
    return plan


def draft_bounds(reply: Reply) -> Bounds | None:
    """What the reply reads from the goal; None when that cannot be read."""
    try:
        named = _object_in(reply)
        own = named.get("bounds", named)
        said = fields(own, {}) if isinstance(own, dict) else {}
        lists = {name: said.get(name) or () for name in Bounds.__struct_fields__}
        bounds = msgspec.convert(lists, Bounds)
    except (UnreadableError, msgspec.ValidationError):
        return None
    size = len(msgspec.json.encode(bounds))
    if size > _BOUNDS_SIZE or said.keys().isdisjoint(lists):
        return None
    return bounds


def _object_in(reply: Reply) -> JsonObject:
    block = object_in(words_of(reply))
    if block is None:
        raise UnreadableError(f"it has no JSON object; {_FORM}")
    return fields(block.value, {})


def _plan(named: JsonObject) -> Plan:
    """The plan with its steps: `steps`, or the documents' `todo_list`, alone or in a `plan`."""
    if isinstance(named.get("plan"), dict):
        named = fields(named["plan"], {})
    listed = named.get("steps", named.get("todo_list"))
    try:
        steps = msgspec.convert(listed, list[JsonObject])
    except msgspec.ValidationError as error:
        raise UnreadableError(f"it has no list of steps: {error}; {_FORM}") from error
    drafts = [fields(step, {}) for step in steps]
    given = [str(draft.get("id", "")).strip() for draft in drafts]
    # Good ids stay as they are; the others become the next free one of s1, s2, ...
    free = (f"s{number}" for number in count(1) if f"s{number}" not in given)
    tidy = [name if _is_good(name) else next(free) for name in given]
    renamed = dict(zip(given, tidy, strict=True))
    read: list[Step] = []
    for draft, name, own in zip(drafts, given, tidy, strict=True):
        # An id that is there twice is a fault of the plan: the check of the plan says so.
        draft |= {"id": own, "label": "" if own == name else name[:_LABEL]}
        read.append(_step(len(read) + 1, draft, renamed))
    return Plan(steps=tuple(read))


def _is_good(name: str) -> bool:
    return STEP_ID.fullmatch(name) is not None and name not in _RESERVED


def _step(number: int, draft: JsonObject, renamed: dict[str, str]) -> Step:
    """One step. A dependency that is no step's id stays as it is: the check of the plan says so."""
    said = {name: draft[name] for name in draft if name in _TAKEN and draft[name] is not None}
    before = said.get("dependencies")
    if isinstance(before, list):
        names = map(str, before)
        said["dependencies"] = [renamed.get(name, name) for name in names]
    try:
        return msgspec.convert(said, Step)
    except msgspec.ValidationError as error:
        raise UnreadableError(f"step {number} cannot be read: {error}") from error
