"""Functions that a trait of a tool names, to be called with what they ask for by name: `preview`,
`reconcile` and `undo`.

`@tool(preview=f)` tells what a call would do before a person is asked about it, and changes nothing
(CONTRACT G2). It takes those of the tool's own parameters that it names, and ctx:

    def describe(page_id: str, ctx: Ctx[Deps]) -> str:
        return f"Deletes {ctx.deps.title(page_id)!r} and its {ctx.deps.count(page_id)} sections."

    @tool(destructive=True, preview=describe)
    def delete_page(page_id: str, force: bool, ctx: Ctx[Deps]) -> None: ...
"""

import inspect
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import Function, is_async, place_of


@dataclass(frozen=True, slots=True)
class Callback:
    """A function beside a tool: `takes` are the parameters that it names."""

    name: str
    function: Function
    is_async: bool
    place: str
    takes: frozenset[str]

    def taken(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `given` that it takes."""
        return {name: given[name] for name in self.takes if name in given}


def callback_of(
    trait: str, traits: Mapping[str, Any], tool: str, known: Set[str]
) -> Callback | None:
    """The function that a trait names, if the tool has it; it may take what is `known`. Raises
    DeclarationError.
    """
    if trait not in traits:
        return None
    function = traits[trait]
    may_take = ", ".join(sorted(known))
    if not callable(function) or inspect.isclass(function):
        raise DeclarationError(f"{trait}={function!r}: give a function of {may_take}")
    takes = frozenset(inspect.signature(function).parameters)
    unknown = sorted(takes - known)
    if unknown:
        raise DeclarationError(f"{trait} takes {', '.join(unknown)}; it may take: {may_take}")
    return Callback(
        f"the {trait} of {tool}", function, is_async(function), place_of(function), takes
    )
