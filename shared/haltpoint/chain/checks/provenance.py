"""Where a value came from (CONTRACT C6): an id that a model passes on must have a known origin.

Which values need one a tool declares by their places in its arguments: `recipient_id`, `letters[].recipient_id`.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.places import is_default
from haltpoint.chain.model.canonical import form_of
from haltpoint.chain.model.references import Path, parse_path, read_json, values_at, walk
from haltpoint.chain.model.state import Action
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.thoughts import Correction, Violation

GOAL = "goal"
"""The origin that is the user's words."""
SAID = "said"
"""The key in the data of a receipt that a person completed: the words as they were typed."""


def provenance_fault(
    call: ProposedCall, spec: ToolSpec, context: dict[str, Any], actions: dict[str, Action], words: Sequence[str] = ()
) -> Correction | None:
    """The correction for the first argument whose value was made up; None when each has an origin."""
    found = without_origin(call, spec, context, actions, words)
    if found is None:
        return None
    text = f"The {found[0]} of {call.tool} must not be made up: it is taken from {told(found[1])}."
    if tools := tools_of(found[1]):
        text += f" Call {tools[0]} first, then {call.tool} with the value that its result holds."
    return Correction(violation=Violation.NO_PROVENANCE, tool=call.tool, message=text)


def without_origin(
    call: ProposedCall,
    spec: ToolSpec,
    context: dict[str, Any],
    actions: dict[str, Action],
    words: Sequence[str] = (),
    own: Sequence[Any] = (),
) -> tuple[str, tuple[str, ...]] | None:
    """The place of the first value that was made up, and where it has to come from; None when each has an origin.
    Origins, any of which is enough: the value at a declared path in a successful receipt of the declared tool, the id
    of an option that this tool offered and a person selected, the whole of a text that a person typed as an answer, any
    value in the task's context, and for the origin `goal` the user's `words`. Of askHuman only what was typed: its
    options, and the words of its forms, are a model's own. Of a list every element must have an origin; null, a
    declared default and the `own` values of an author need none.
    """
    for place, origins in spec.provenance.items():
        path, said = parse_path(place) or (place,), words if GOAL in origins else ()
        values = values_at(call.arguments, path)
        known = [None, *own, *(one for inside, one in walk(context) if inside)] if values else []
        known += _given(origins, actions) if values else ()
        for value in values:
            wanted = value if isinstance(value, list) and not _among(value, known) else [value]
            if all(_among(one, known) or _is_said(one, said) for one in wanted) or is_default(spec, value, path):
                continue
            return place, origins
    return None


def _among(value: Any, known: list[Any]) -> bool:
    """Equality that does not take 1 for True."""
    return any(type(value) is type(one) and value == one for one in known)


def _is_said(value: Any, words: Sequence[str]) -> bool:
    scalar = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    return scalar and any(form_of(value).found_in(text) for text in words)


def _given(origins: Sequence[str], actions: dict[str, Action]) -> Iterator[Any]:
    """The values at the origins, in receipts of their tools, and what a person picked there or typed anywhere."""
    paths = defaultdict[str, list[Path]](list)
    for tool, _, path in (origin.partition(".") for origin in origins):
        paths[tool].append(parse_path(path) or ())
    for action in actions.values():
        if _is_origin(action, paths):
            for at in (*paths[action.tool], ("selected", "id")):
                yield from _read(action.data, at)
        elif by_a_person(action) and not _read(action.data, ("selected",)):
            yield from _read(action.data, (SAID,))  # what was picked is a tool's own, whatever it is called


@lru_cache(maxsize=256)
def _read(data: str, path: Path) -> list[Any]:
    """The values at a path of a receipt: it is the same in each turn."""
    return values_at(read_json(data), path)


def origin_actions(spec: ToolSpec, actions: dict[str, Action]) -> tuple[str, ...]:
    """The actions whose receipts may be the origin of a value that this tool takes."""
    tools = {tool for origins in spec.provenance.values() for tool in tools_of(origins)}
    return tuple([one.id for one in actions.values() if _is_origin(one, tools) or by_a_person(one)])


def _is_origin(action: Action, tools: Container[str]) -> bool:
    by_tool = action.tool in tools and action.tool != human_tool.NAME
    return by_tool and action.outcome is not None and action.outcome.satisfies


def by_a_person(action: Action) -> bool:
    """Whether a person completed the receipt, and may have typed a value: it has no mark of a worker."""
    return action.outcome is not None and not action.outcome.metadata.action_id


def denied(action: Action) -> bool:
    """Whether a person denied the call, or one inside of the skill that carried it out (E4). A tool that answers DENIED
    by itself has an error like others: its receipt has the mark of a worker.
    """
    error = action.outcome.error if action.outcome is not None else None
    is_denial = error is not None and error.error_type is ErrorType.DENIED
    return is_denial and (bool(action.child) or by_a_person(action))


def told(origins: Sequence[str]) -> str:
    """Origins in words."""
    return " or ".join("the user's words" if origin == GOAL else origin for origin in origins)


def tools_of(origins: Iterable[str]) -> list[str]:
    """The tools among the origins."""
    return [origin.partition(".")[0] for origin in origins if origin != GOAL]
